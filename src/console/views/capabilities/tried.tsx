/**
 * What a dry run answered: whether the call would be admitted, what it would cost, and what it lacks.
 *
 * @module
 */

import { moneyInputs } from '../../../domain/decision/claims.ts';
import { parameterFacts } from '../../../domain/decision/values.ts';
import type { Capability } from '../../../protocol/capability.ts';
import type { ConsoleAnswers } from '../../../protocol/console/views.ts';
import type { Failure } from '../../../protocol/failure.ts';
import type { TestAnswer } from '../../../protocol/invocation.ts';
import { Amount, Fact, Hash, Person, Shown } from '../../parts/elements.tsx';
import { Notice } from '../../parts/panels.tsx';
import { FactTable, PARAMETER_HEADS, Value } from '../../parts/words.tsx';
import { hrefOf } from '../../router.ts';
import { approvalSentences, NEXT_STEP } from './words.ts';

interface TriedProps {
  readonly answer: ConsoleAnswers['try'];
  readonly capability: Capability;
}

export function Tried({ answer, capability }: TriedProps) {
  const isRefused = 'refused' in answer;
  return (
    <div class="stack">
      <div role="status">
        {isRefused ? <Refusal of={answer.refused} isWhole /> : <Verdict of={answer.answer} />}
      </div>
      {isRefused ? null : <Findings of={answer.answer} capability={capability} />}
    </div>
  );
}

function Verdict({ of }: { readonly of: TestAnswer }) {
  if (of.failure) return <Refusal of={of.failure} isWhole={false} />;
  if (of.would_be_admitted) {
    return (
      <Notice state="good">
        <b>This call would be admitted.</b> Its handler was not called and can still fail.
      </Notice>
    );
  }
  return (
    <Notice state="warn">
      <b>This call would ask for approval first.</b> No request was made.
    </Notice>
  );
}

interface RefusalProps {
  readonly of: Failure;
  /** The person may not even ask. */
  readonly isWhole: boolean;
}

function Refusal({ of, isWhole }: RefusalProps) {
  const { type, detail, resolution, clarify = [] } = of;
  const { action, requires, grantable_by, estimated_availability } = resolution;
  return (
    <Notice state="bad">
      <p>
        <b>{isWhole ? 'You may not make this call.' : 'It would be refused.'}</b>{' '}
        <code>{type}</code>
      </p>
      <p>
        <Shown text={detail} />
      </p>
      <p>{NEXT_STEP[action]}</p>
      {requires?.length ? (
        <p>
          Needed: <Shown text={requires.join(', ')} />
        </p>
      ) : null}
      {grantable_by === undefined ? null : (
        <p>
          <Person of={grantable_by} /> can grant it.
        </p>
      )}
      {estimated_availability === undefined ? null : (
        <p>
          When: <Shown text={estimated_availability} />
        </p>
      )}
      {clarify.map(({ input, reason, candidates }) => (
        <p key={input}>
          <code>{input}</code> is {reason}
          {candidates ? '; choose one of ' : ''}
          {candidates ? <Value of={candidates} /> : null}
        </p>
      ))}
    </Notice>
  );
}

function Findings({
  of,
  capability,
}: {
  readonly of: TestAnswer;
  readonly capability: Capability;
}) {
  const { approval, resolved_parameters: resolved, parameters_digest: digest } = of;
  return (
    <>
      <dl class="facts">
        <Fact term="Cost" is={<CostCheck of={of} />} />
        <BudgetFact of={of} />
        <Fact term="Approval" is={<ApprovalFact of={approval} capability={capability} />} />
        <Fact term="Entry">
          <a href={hrefOf('activity', of.invocation_id)}>
            <code>{of.invocation_id}</code>
          </a>
        </Fact>
      </dl>
      {resolved ? (
        <>
          <h3>Parameters as the handler would get them</h3>
          <FactTable
            of={parameterFacts(resolved, capability.inputs, moneyInputs(capability, resolved))}
            heads={PARAMETER_HEADS}
          />
        </>
      ) : null}
      {digest === undefined ? null : (
        <p class="small">
          Parameters digest <Hash hex={digest} what="the parameters digest" />
        </p>
      )}
    </>
  );
}

function CostCheck({ of: { cost_check } }: { readonly of: TestAnswer }) {
  if (!cost_check) return <>free</>;
  const { amount, currency, certainty } = cost_check;
  if (amount === null) return <>a price in {currency} that is not known yet</>;
  return (
    <>
      <Amount of={{ amount, currency }} /> <small>{certainty}</small>
    </>
  );
}

function BudgetFact({ of: { budget_context } }: { readonly of: TestAnswer }) {
  if (!budget_context) return null;
  const { budget_max, budget_remaining, budget_currency: currency } = budget_context;
  return (
    <Fact term="Budget">
      {budget_remaining === undefined ? null : (
        <>
          <Amount of={{ amount: budget_remaining, currency }} /> left of{' '}
        </>
      )}
      <Amount of={{ amount: budget_max, currency }} />
    </Fact>
  );
}

interface ApprovalFactProps {
  readonly of: TestAnswer['approval'];
  readonly capability: Capability;
}

function ApprovalFact({ of, capability: { approval: declared } }: ApprovalFactProps) {
  if (!of) return <>not reached: an earlier check refused</>;
  if (!of.required) return <>not needed</>;
  const sentences = declared ? approvalSentences(declared) : ['needed'];
  return <Shown text={`${sentences.join('. ')}.`} />;
}
