/**
 * The log: its length, its last checkpoint, what waits to be sealed, and why sealing is refused.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { Me, Operations } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Shown } from '../../parts/foreign-text.tsx';
import { whyOf } from '../../parts/loaded.tsx';
import { Ago } from '../../parts/time.tsx';
import { hrefOf } from '../../router.ts';
import { type Done, Outcome } from '../outcome.tsx';

interface LogProps {
  readonly of: Operations['log'];
  readonly person: Me;
  /** Loads the state again. */
  onSealed(): void;
}

export function Log({ of, person, onSealed }: LogProps) {
  const { entries, waiting, is_anchored, refused, checkpoint, witnesses } = of;
  return (
    <>
      {refused === null ? null : (
        <div class="notice bad" role="status">
          <h3>The service seals no checkpoint</h3>
          <p>
            <Shown text={refused} />
          </p>
        </div>
      )}
      <dl class="facts small">
        <dt>Entries</dt>
        <dd>
          {entries.toLocaleString('en')}
          {waiting === 0
            ? ''
            : `, and ${waiting.toLocaleString('en')} that wait for their place in the tree`}
        </dd>
        <dt>Sealed</dt>
        <dd>
          <Sealed isAnchored={is_anchored} checkpoint={checkpoint} />
        </dd>
        <dt>Witnesses</dt>
        <dd>
          {witnesses.length === 0
            ? 'None. An operator names them in the settings of the service.'
            : witnesses.map((witness) => <p key={witness}>{witness}</p>)}
        </dd>
      </dl>
      {is_anchored && person.operates.includes('checkpoints') ? (
        <SealNow onSealed={onSealed} />
      ) : null}
    </>
  );
}

function Sealed({
  isAnchored,
  checkpoint,
}: {
  readonly isAnchored: boolean;
  readonly checkpoint: Operations['log']['checkpoint'];
}) {
  if (!isAnchored) return <>This service does not seal its log.</>;
  if (!checkpoint) return <>No checkpoint yet</>;
  return (
    <>
      <a href={hrefOf('trust')}>Checkpoint {checkpoint.sequence}</a>{' '}
      <Ago at={checkpoint.created_at} />
    </>
  );
}

function SealNow({ onSealed }: Pick<LogProps, 'onSealed'>) {
  const isBusy = useSignal(false);
  const done = useSignal<Done | undefined>(undefined);
  const seal = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      const { checkpoint } = await ask('operator.checkpoints', {});
      const count = checkpoint.entry_count.toLocaleString('en');
      done.value = { words: `Checkpoint ${checkpoint.sequence} covers ${count} entries.` };
      onSealed();
    } catch (error) {
      done.value = { words: whyOf(error), isPartial: true };
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <button type="button" aria-disabled={isBusy.value} onClick={() => void seal()}>
        Seal a checkpoint now
      </button>
      <Outcome of={done.value} />
    </>
  );
}
