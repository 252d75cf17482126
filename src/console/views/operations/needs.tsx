/**
 * What needs an operator, each with what to do, and the sentence that says whether anything does.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Failed } from '../../parts/loaded.tsx';
import { Row } from '../../parts/panels.tsx';
import { type Answers, lastOf, type Part } from './answers.ts';
import { FreezeRow } from './freezes.tsx';
import { Calls, type Found, ReconcileDialog } from './indeterminate.tsx';
import { SealNow } from './log.tsx';

/** How many things need somebody; a part that did not load adds nothing. */
function needsIn(answers: Answers): number {
  const state = lastOf(answers.state);
  return (
    (state?.unready.length ?? 0) +
    (state && state.log.refused !== null ? 1 : 0) +
    (lastOf(answers.unknown)?.indeterminate.length ?? 0) +
    serviceFreezes(answers).length +
    (failedIn(answers) > 0 ? 1 : 0)
  );
}

function serviceFreezes(answers: Answers) {
  return (lastOf(answers.frozen)?.frozen ?? []).filter(({ what }) => what === 'service');
}

function failedIn(answers: Answers): number {
  const deliveries = lastOf(answers.deliveries)?.deliveries ?? [];
  return deliveries.filter(({ state }) => state === 'failed').length;
}

/** The parts that the sentence rests on, as their failures name them. */
const JUDGED = [
  ['state', 'The state of the service'],
  ['unknown', 'The list of calls of unknown outcome'],
  ['frozen', 'The list of freezes'],
  ['deliveries', 'The list of notifications'],
] as const;

interface StateProps extends Part {
  /** Whether the person may see every part. */
  readonly isWhole: boolean;
}

export function State({ answers, isWhole }: StateProps) {
  const judged = JUDGED.map(([name, what]) => ({ what, answer: answers[name] }));
  const failed = judged.filter(({ answer }) => answer.state === 'failed');
  const isLoading = judged.some(({ answer }) => answer.state === 'loading');
  const state = lastOf(answers.state);
  const { icon, look, words } = verdictOf(answers, failed.length > 0);
  return (
    <>
      <div class="panel" aria-busy={isLoading}>
        <p class="state">
          {isLoading ? null : <Icon name={icon} class={look} />}{' '}
          <span>
            <b>{isLoading ? 'Loading the state of the service…' : words}</b>
            <br />
            <span class="small muted">
              {state
                ? `Writ ${state.version} ${state.unready.length === 0 ? 'takes' : 'does not take'} calls.`
                : 'You may not read whether the service takes calls.'}{' '}
              {isWhole ? null : 'Some parts are not shown to you: they are named below.'}
            </span>
          </span>
        </p>
      </div>
      {failed.map(({ what, answer }) =>
        answer.state === 'failed' ? (
          <Failed key={what} what={what} why={answer.why} again={answer.again} />
        ) : null,
      )}
    </>
  );
}

function verdictOf(answers: Answers, isPartial: boolean) {
  const needs = needsIn(answers);
  const things = needs === 1 ? '1 thing needs you' : `${needs} things need you`;
  const isUnready = (lastOf(answers.state)?.unready.length ?? 0) > 0;
  if (isUnready) return { icon: 'cross', look: 'bad', words: `Not ready, ${things}.` } as const;
  if (needs > 0) return { icon: 'warning', look: 'warn', words: `Ready, ${things}.` } as const;
  if (isPartial) {
    return { icon: 'warning', look: 'warn', words: 'A part of the state is not known.' } as const;
  }
  return { icon: 'check', look: 'good', words: 'All is well.' } as const;
}

export function Needs(part: Part) {
  const { answers, may, finish } = part;
  const [found, find] = useState<Found>();
  const count = needsIn(answers);
  const calls = lastOf(answers.unknown)?.indeterminate ?? [];
  return (
    <>
      {count === 0 ? null : (
        <section aria-labelledby="h-need">
          <div class="head">
            <h2 id="h-need" class="bad">
              Needs you
            </h2>{' '}
            <small>{count}</small>
          </div>
          {count > calls.length ? <Troubles {...part} /> : null}
          {calls.length > 0 ? (
            <Calls of={calls} onFound={may('reconcile') ? find : undefined} />
          ) : null}
        </section>
      )}
      <ReconcileDialog
        of={found}
        onClose={() => find(undefined)}
        onDone={(words) => finish({ words })}
      />
    </>
  );
}

function Troubles(part: Part) {
  const { answers, may, lift } = part;
  const state = lastOf(answers.state);
  const failed = failedIn(answers);
  return (
    <ul class="list">
      {state?.unready.map((reason) => (
        <Row key={reason} icon="cross" isFinal title="The service takes no calls">
          <p>
            <Shown text={reason} />. It takes calls again once this is mended; its log says more.
          </p>
        </Row>
      ))}
      {state && state.log.refused !== null ? (
        <Row
          icon="chain"
          isFinal
          title="The service seals no checkpoint"
          side={may('checkpoints') ? <SealNow {...part} /> : null}
        >
          <p>
            <Shown text={state.log.refused} />. Mend it, then seal a checkpoint.
          </p>
        </Row>
      ) : null}
      {serviceFreezes(answers).map((freeze) => (
        <FreezeRow key="service" of={freeze} onLift={may('unfreeze') ? lift : undefined} isFinal />
      ))}
      {failed > 0 ? (
        <Row
          icon="mail"
          isFinal
          title={failed === 1 ? '1 notification failed' : `${failed} notifications failed`}
        >
          <p>
            The service tries no more. Mend the receiver; each reason stands under Notifications.
          </p>
        </Row>
      ) : null}
    </ul>
  );
}
