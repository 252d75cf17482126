/**
 * The freeze of a root principal, where its agents are shown.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { personOf } from '../../../domain/decision/values.ts';
import type { Me } from '../../../protocol/console/views.ts';
import { Shown } from '../../parts/foreign-text.tsx';
import { FreezeDialog, LiftDialog } from '../operations/freezing.tsx';

interface FreezeProps {
  readonly person: Me;
  readonly root: string;
  onDone(words: string): void;
}

/** A person who cannot lift a freeze reads who can. */
export function FrozenNotice({ person, root, onDone }: FreezeProps) {
  const isLifting = useSignal(false);
  const mayLift = person.operates.includes('unfreeze');
  return (
    <div class="notice bad">
      <p>
        <b>Frozen.</b> The service refuses new calls and new tokens of{' '}
        <Shown text={personOf(root)} />. {mayLift ? null : 'An operator can lift the freeze.'}
      </p>
      {mayLift ? (
        <button
          type="button"
          onClick={() => {
            isLifting.value = true;
          }}
        >
          Lift the freeze…
        </button>
      ) : null}
      <LiftDialog
        of={isLifting.value ? targetOf(root) : undefined}
        onClose={() => {
          isLifting.value = false;
        }}
        onDone={onDone}
      />
    </div>
  );
}

/** For operators who may freeze. */
export function FreezeSection({ person, root, onDone }: FreezeProps) {
  const isFreezing = useSignal(false);
  if (!person.operates.includes('freeze')) return null;
  return (
    <section aria-labelledby="h-freeze">
      <h2 id="h-freeze">Freeze</h2>
      <p>
        A freeze stops all agents of <Shown text={personOf(root)} /> and can be lifted. An agent
        that ended does not come back.
      </p>
      <button
        type="button"
        class="danger"
        onClick={() => {
          isFreezing.value = true;
        }}
      >
        Freeze <Shown text={personOf(root)} />…
      </button>
      <FreezeDialog
        fixed={targetOf(root)}
        open={isFreezing.value}
        onClose={() => {
          isFreezing.value = false;
        }}
        onDone={onDone}
      />
    </section>
  );
}

function targetOf(root: string) {
  return { what: 'root_principal', target: root, root_principal: null } as const;
}
