/**
 * Calls of unknown outcome: an operator finds out what happened, and records it once.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { plain } from '../../../domain/decision/values.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { Me } from '../../../protocol/console/views.ts';
import type { IndeterminateInvocation } from '../../../protocol/operator.ts';
import { ask } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Ago, Amount, Person } from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { hrefOf } from '../../router.ts';
import { growth } from '../growth.ts';
import { type Done, Outcome } from '../outcome.tsx';
import { ReasonField, reasonIn } from './freezing.tsx';
import { Paged } from './turning.tsx';

type Unknown = IndeterminateInvocation;

export function Indeterminate({ person }: { readonly person: Me }) {
  const [chosen, choose] = useState<Unknown>();
  const [done, setDone] = useState<Done>();
  const loaded = useLoaded(() => ask('operator.indeterminate', {}), [growth.value]);
  return (
    <>
      <Outcome of={done} />
      <Ready of={loaded} what="The list of calls">
        {({ indeterminate }) => (
          <Calls
            of={indeterminate}
            onReconcile={person.operates.includes('reconcile') ? choose : undefined}
          />
        )}
      </Ready>
      <ReconcileDialog
        of={chosen}
        onClose={() => choose(undefined)}
        onDone={(words) => {
          setDone({ words });
          loaded.again();
        }}
      />
    </>
  );
}

function Calls({
  of,
  onReconcile,
}: {
  readonly of: readonly Unknown[];
  readonly onReconcile: ((call: Unknown) => void) | undefined;
}) {
  if (of.length === 0) {
    return <Empty>None. Every call that is over has a recorded outcome.</Empty>;
  }
  return (
    <Paged what="calls" items={of}>
      {(page) => (
        <ul>
          {page.map((call) => (
            <li key={call.invocation_id} class="node">
              <div>
                <h3>{titleOf(call.capability)}</h3>
                <p class="small">
                  <a href={hrefOf('activity', call.invocation_id)}>
                    <code>{call.invocation_id}</code>
                  </a>
                </p>
              </div>
              <p class="small">
                <Person of={call.subject} /> for <Person of={call.root_principal} />{' '}
                <span class="unit">
                  <Ago at={call.admitted_at} />
                </span>
              </p>
              <p class="small">
                {call.charged ? (
                  <>
                    <Amount of={call.charged} /> stays charged until it is reconciled
                  </>
                ) : (
                  'Nothing is charged'
                )}
              </p>
              <div class="acts">
                {onReconcile ? (
                  <button type="button" onClick={() => onReconcile(call)}>
                    Reconcile…
                  </button>
                ) : null}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Paged>
  );
}

interface ReconcileDialogProps {
  readonly of: Unknown | undefined;
  onClose(): void;
  onDone(words: string): void;
}

function ReconcileDialog({ of, onClose, onDone }: ReconcileDialogProps) {
  const reconcile = async (form: FormData) => {
    if (!of) return;
    const outcome = form.get('outcome') === 'executed' ? 'executed' : 'not_executed';
    const answer = await ask('operator.reconcile', {
      invocation_id: of.invocation_id,
      outcome,
      reason: reasonIn(form),
    });
    const money = answer.refunded ? ` ${plain(answer.refunded)} was refunded.` : '';
    onDone(`${of.invocation_id} is recorded as ${outcome.replace('_', ' ')}.${money}`);
  };
  return (
    <Confirm
      open={of !== undefined}
      onClose={onClose}
      title={of ? `What happened to ${of.invocation_id}?` : ''}
      back="Leave it open"
      confirm="Record the outcome"
      onConfirm={reconcile}
    >
      {of ? <Outcomes of={of} /> : null}
      <ReasonField hint="How you found out. The log keeps it." />
    </Confirm>
  );
}

/** No outcome is preset: a wrong one charges or refunds for good. */
function Outcomes({ of: { capability, charged } }: { readonly of: Unknown }) {
  const money = charged ? plain(charged) : undefined;
  return (
    <>
      <p>
        Look into the system that {titleOf(capability)} changes, then record what you found. It can
        be recorded once.
      </p>
      <fieldset>
        <legend>Outcome</legend>
        <label class="opt">
          <input type="radio" name="outcome" value="executed" required />
          <span>
            <b>It was executed.</b> {money ? `The charge of ${money} stays.` : 'Nothing changes.'}
          </span>
        </label>
        <label class="opt">
          <input type="radio" name="outcome" value="not_executed" required />
          <span>
            <b>It was not executed.</b>{' '}
            {money
              ? `${money} goes back to every budget that was charged.`
              : 'There is nothing to refund.'}
          </span>
        </label>
      </fieldset>
    </>
  );
}
