/**
 * The freeze of a root principal, where its agents are shown.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { Me } from '../../../protocol/console/views.ts';
import { personOf } from '../../parts/name.tsx';
import { Shown } from '../../parts/shown.tsx';
import { FreezeDialog, LiftDialog } from '../operations/freezing.tsx';

interface PersonFreezeOf {
  readonly person: Me;
  readonly root: string;
  readonly isFrozen: boolean;
  onDone(words: string): void;
}

/** A person who cannot lift a freeze reads who can. */
export function PersonFreeze({ person, root, isFrozen, onDone }: PersonFreezeOf) {
  const isFreezing = useSignal(false);
  const isLifting = useSignal(false);
  const target = { what: 'root_principal', target: root, root_principal: null } as const;
  const mayFreeze = person.operates.includes('freeze');
  const mayLift = person.operates.includes('unfreeze');
  const open = (dialog: { value: boolean }, isOpen: boolean) => () => {
    dialog.value = isOpen;
  };
  return (
    <>
      {isFrozen ? (
        <div class="notice bad">
          <p>
            <b>Frozen.</b> The service refuses new calls and new tokens of{' '}
            <Shown text={personOf(root)} />. {mayLift ? null : 'An operator can lift the freeze.'}
          </p>
          {mayLift ? (
            <button type="button" onClick={open(isLifting, true)}>
              Lift the freeze…
            </button>
          ) : null}
        </div>
      ) : null}
      {mayFreeze && !isFrozen ? (
        <button type="button" class="danger" onClick={open(isFreezing, true)}>
          Freeze <Shown text={personOf(root)} />…
        </button>
      ) : null}
      <FreezeDialog
        fixed={target}
        open={isFreezing.value}
        onClose={open(isFreezing, false)}
        onDone={onDone}
      />
      <LiftDialog
        of={isLifting.value ? target : undefined}
        onClose={open(isLifting, false)}
        onDone={onDone}
      />
    </>
  );
}
