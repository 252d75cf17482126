/**
 * Freezes: what is frozen, by whom and why, page by page.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { Me } from '../../../protocol/console/views.ts';
import type { Freeze } from '../../../protocol/operator.ts';
import { ask } from '../../api.ts';
import { Shown } from '../../parts/foreign-text.tsx';
import { Empty, useLoaded } from '../../parts/loaded.tsx';
import { Person } from '../../parts/name.tsx';
import { Ago, Left } from '../../parts/time.tsx';
import { growth } from '../growth.ts';
import { type Done, Outcome } from '../outcome.tsx';
import { Ready } from '../ready.tsx';
import { FreezeDialog, FrozenTarget, LiftDialog } from './freezing.tsx';
import { Turning } from './turning.tsx';

const PAGE = 20;

export function Freezes({ person }: { readonly person: Me }) {
  const cursors = useSignal<readonly string[]>([]);
  const cursor = cursors.value.at(-1);
  const lifting = useSignal<Freeze | undefined>(undefined);
  const isFreezing = useSignal(false);
  const done = useSignal<Done | undefined>(undefined);
  const loaded = useLoaded(
    () => ask('operator.frozen', { limit: PAGE, cursor }),
    [cursor, growth.value],
  );
  const mayLift = person.operates.includes('unfreeze');
  const finish = (words: string) => {
    done.value = { words };
    loaded.again();
  };
  return (
    <>
      {person.operates.includes('freeze') ? (
        <button type="button" class="danger" onClick={() => set(isFreezing, true)}>
          Freeze…
        </button>
      ) : null}
      <Outcome of={done.value} />
      <Ready of={loaded} what="The list of freezes">
        {({ frozen, next_cursor }) => (
          <>
            <FreezeList of={frozen} onLift={mayLift ? (each) => set(lifting, each) : undefined} />
            <Turning what="freezes" cursors={cursors} next={next_cursor ?? null} />
          </>
        )}
      </Ready>
      <FreezeDialog
        open={isFreezing.value}
        onClose={() => set(isFreezing, false)}
        onDone={finish}
      />
      <LiftDialog of={lifting.value} onClose={() => set(lifting, undefined)} onDone={finish} />
    </>
  );
}

function FreezeList({
  of,
  onLift,
}: {
  readonly of: readonly Freeze[];
  readonly onLift: ((freeze: Freeze) => void) | undefined;
}) {
  if (of.length === 0) return <Empty>Nothing is frozen.</Empty>;
  return (
    <ul>
      {of.map((freeze) => (
        <li key={`${freeze.what} ${freeze.target} ${freeze.root_principal}`} class="node">
          <div>
            <h3>
              <FrozenTarget of={freeze} />
            </h3>
            <p class="small">
              <Shown text={freeze.reason} />
            </p>
          </div>
          <p class="small">
            By <Person of={freeze.frozen_by} />{' '}
            <span class="unit">
              <Ago at={freeze.frozen_at} />
            </span>
          </p>
          <p class="small">
            {freeze.until === null ? 'Until it is lifted' : <Left until={freeze.until} />}
          </p>
          <div class="acts">
            {onLift ? (
              <button type="button" onClick={() => onLift(freeze)}>
                Lift…
              </button>
            ) : null}
          </div>
        </li>
      ))}
    </ul>
  );
}

function set<T>(signal: { value: T }, value: T): void {
  signal.value = value;
}
