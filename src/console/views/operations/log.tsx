/**
 * The log: its length, its last checkpoint, what waits for the tree, its witnesses, and the button that seals.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { Operations } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Ago, Fact } from '../../parts/elements.tsx';
import { Ready, whyOf } from '../../parts/loaded.tsx';
import { Fold } from '../../parts/panels.tsx';
import { hrefOf } from '../../router.ts';
import { lastOf, type Part } from './answers.ts';

export function Log(part: Part) {
  const { answers, may } = part;
  const last = lastOf(answers.state)?.log;
  const length = last && `${last.entries.toLocaleString('en')} entries`;
  return (
    <Fold title="Log" icon="chain" state={length}>
      <Ready of={answers.state} what="The state of the log">
        {(state) =>
          state ? (
            <>
              <Facts of={state.log} />
              {state.log.is_anchored && may('checkpoints') ? <SealNow {...part} /> : null}
            </>
          ) : null
        }
      </Ready>
    </Fold>
  );
}

function Facts({ of }: { readonly of: Operations['log'] }) {
  const { entries, waiting, is_anchored, checkpoint, witnesses } = of;
  return (
    <dl class="facts">
      <Fact term="Entries">
        {entries.toLocaleString('en')}
        {waiting === 0
          ? ''
          : `, and ${waiting.toLocaleString('en')} that wait for their place in the tree`}
      </Fact>
      <Fact term="Sealed">
        {is_anchored ? null : 'This service does not seal its log.'}
        {is_anchored && !checkpoint ? 'No checkpoint yet' : null}
        {checkpoint ? (
          <>
            <a href={hrefOf('trust')}>Checkpoint {checkpoint.sequence}</a>{' '}
            <Ago at={checkpoint.created_at} />
          </>
        ) : null}
      </Fact>
      <Fact term="Witnesses">
        {witnesses.length === 0
          ? 'None. An operator names them in the settings of the service.'
          : witnesses.map((witness) => <p key={witness}>{witness}</p>)}
      </Fact>
    </dl>
  );
}

export function SealNow({ finish }: Pick<Part, 'finish'>) {
  const isBusy = useSignal(false);
  const seal = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      const { checkpoint } = await ask('operator.checkpoints', {});
      const count = checkpoint.entry_count.toLocaleString('en');
      finish({ words: `Checkpoint ${checkpoint.sequence} covers ${count} entries.` });
    } catch (error) {
      finish({ words: whyOf(error), isPartial: true });
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <button type="button" class="little" aria-disabled={isBusy.value} onClick={() => void seal()}>
      Seal a checkpoint now
    </button>
  );
}
