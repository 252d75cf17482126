/**
 * Calls of unknown outcome: an operator finds out what happened, and records it once.
 *
 * @module
 */

import { plain } from '../../../domain/decision/values.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { IndeterminateInvocation } from '../../../protocol/operator.ts';
import { ask } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Ago, Amount, Chain } from '../../parts/elements.tsx';
import { Row } from '../../parts/panels.tsx';
import { hrefOf } from '../../router.ts';
import { ReasonField, reasonIn } from './freezing.tsx';
import { Paged } from './turning.tsx';

/** What an operator found out about a call. */
export interface Found {
  readonly call: IndeterminateInvocation;
  readonly outcome: 'executed' | 'not_executed';
}

interface CallsProps {
  readonly of: readonly IndeterminateInvocation[];
  readonly onFound: ((found: Found) => void) | undefined;
}

export function Calls({ of, onFound }: CallsProps) {
  return (
    <Paged what="calls" items={of}>
      {(page) => (
        <ul class="list">
          {page.map((call) => (
            <Row
              key={call.invocation_id}
              icon="irreversible"
              isFinal
              title={
                <>
                  Did this happen?{' '}
                  <a href={hrefOf('activity', call.invocation_id)}>{titleOf(call.capability)}</a>{' '}
                  {call.charged ? <Amount of={call.charged} /> : null}
                </>
              }
              side={onFound ? <Answers of={call} onFound={onFound} /> : null}
            >
              <p>
                <Chain of={[call.subject, call.root_principal]} /> · <Ago at={call.admitted_at} /> ·{' '}
                {call.charged ? (
                  <>
                    <Amount of={call.charged} /> stay held
                  </>
                ) : (
                  'nothing is held'
                )}
              </p>
              <p>Look into the system that it changes, then record what you found.</p>
            </Row>
          ))}
        </ul>
      )}
    </Paged>
  );
}

/** No outcome is preset: a wrong one charges or refunds for good. */
function Answers({
  of: call,
  onFound,
}: {
  readonly of: IndeterminateInvocation;
  onFound(found: Found): void;
}) {
  return (
    <>
      <button
        type="button"
        class="little"
        onClick={() => onFound({ call, outcome: 'not_executed' })}
      >
        It did not…
      </button>{' '}
      <button
        type="button"
        class="little act"
        onClick={() => onFound({ call, outcome: 'executed' })}
      >
        It happened…
      </button>
    </>
  );
}

interface ReconcileDialogProps {
  readonly of: Found | undefined;
  onClose(): void;
  onDone(words: string): void;
}

export function ReconcileDialog({ of, onClose, onDone }: ReconcileDialogProps) {
  const reconcile = async (form: FormData) => {
    if (!of) return;
    const answer = await ask('operator.reconcile', {
      invocation_id: of.call.invocation_id,
      outcome: of.outcome,
      reason: reasonIn(form),
    });
    const money = answer.refunded ? ` ${plain(answer.refunded)} was refunded.` : '';
    onDone(`${titleOf(of.call.capability)} is recorded as ${WORDS[of.outcome].done}.${money}`);
  };
  return (
    <Confirm
      open={of !== undefined}
      onClose={onClose}
      title={of ? `${titleOf(of.call.capability)} ${WORDS[of.outcome].title}` : ''}
      back="Leave it open"
      confirm={of ? WORDS[of.outcome].confirm : ''}
      look="final"
      onConfirm={reconcile}
    >
      {of ? <Consequence of={of} /> : null}
      <ReasonField hint="How you found out. The log keeps it." />
    </Confirm>
  );
}

const WORDS = {
  executed: { title: 'happened', confirm: 'Record that it happened', done: 'executed' },
  not_executed: {
    title: 'did not happen',
    confirm: 'Record that it did not happen',
    done: 'not executed',
  },
} as const;

function Consequence({ of: { call, outcome } }: { readonly of: Found }) {
  const money = call.charged ? plain(call.charged) : undefined;
  const stays = money ? `The charge of ${money} stays.` : 'Nothing changes.';
  const goes = money
    ? `${money} go back to every budget that was charged.`
    : 'There is nothing to refund.';
  return (
    <>
      <p>
        <Chain of={[call.subject, call.root_principal]} />, <Ago at={call.admitted_at} />
      </p>
      <p>{outcome === 'executed' ? stays : goes} It can be recorded once.</p>
    </>
  );
}
