/**
 * Freezes: what is frozen, by whom and why, page by page.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { Me } from '../../../protocol/console/views.ts';
import type { Freeze } from '../../../protocol/operator.ts';
import { ask } from '../../api.ts';
import { Ago, Left, Person, Shown } from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { growth } from '../growth.ts';
import { type Done, Outcome } from '../outcome.tsx';
import { FreezeDialog, FrozenTarget, LiftDialog } from './freezing.tsx';
import { Turning } from './turning.tsx';

const PAGE = 20;

export function Freezes({ person }: { readonly person: Me }) {
  const cursors = useSignal<readonly string[]>([]);
  const cursor = cursors.value.at(-1);
  const [lifting, setLifting] = useState<Freeze>();
  const [isFreezing, setFreezing] = useState(false);
  const [done, setDone] = useState<Done>();
  const loaded = useLoaded(
    () => ask('operator.frozen', { limit: PAGE, cursor }),
    [cursor, growth.value],
  );
  const mayLift = person.operates.includes('unfreeze');
  const finish = (words: string) => {
    setDone({ words });
    loaded.again();
  };
  return (
    <>
      {person.operates.includes('freeze') ? (
        <button type="button" class="danger" onClick={() => setFreezing(true)}>
          Freeze…
        </button>
      ) : null}
      <Outcome of={done} />
      <Ready of={loaded} what="The list of freezes">
        {({ frozen, next_cursor }) => (
          <>
            <FreezeList of={frozen} onLift={mayLift ? setLifting : undefined} />
            <Turning what="freezes" cursors={cursors} next={next_cursor ?? null} />
          </>
        )}
      </Ready>
      <FreezeDialog open={isFreezing} onClose={() => setFreezing(false)} onDone={finish} />
      <LiftDialog of={lifting} onClose={() => setLifting(undefined)} onDone={finish} />
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
