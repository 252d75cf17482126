/**
 * One agent of a tree: who it is, what it may do and spend, what it did, and how it is ended.
 *
 * @module
 */

import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { Agent, BudgetView } from '../../../protocol/console/views.ts';
import { now } from '../../api.ts';
import { BudgetBar } from '../../parts/budget.tsx';
import {
  Ago,
  Amount,
  Claimed,
  Code,
  Codes,
  Fact,
  Left,
  Pill,
  Shown,
} from '../../parts/elements.tsx';
import { hrefOf } from '../../router.ts';
import {
  isLiving,
  noActWords,
  outcomeWords,
  refusedWords,
  shortName,
  spendingWords,
  stateWords,
} from './words.ts';

/** What the person may do and know of the agents shown. */
export interface NodeRights {
  /** Undefined where the person may not end them. */
  readonly onEnd: ((agent: Agent) => void) | undefined;
  readonly mayReadActs: boolean;
}

/** What the budgets above an agent leave. */
export type Above = Pick<BudgetView, 'currency' | 'left'> | undefined;

interface NodeProps extends NodeRights {
  readonly agent: Agent;
  readonly above: Above;
}

export function AgentNode({ agent, above, onEnd, mayReadActs }: NodeProps) {
  const heading = `agent-${agent.token_id}`;
  return (
    <article class="node" aria-labelledby={heading}>
      <div>
        <AgentHead agent={agent} id={heading} />
        <Powers agent={agent} />
      </div>
      <Spending agent={agent} above={above} />
      <dl class="facts small">
        {mayReadActs ? <Acts agent={agent} /> : null}
        <Fact term={agent.revoked_at === null ? 'Ends' : 'Ended'}>
          {agent.revoked_at === null ? (
            <Left until={agent.expires_at} />
          ) : (
            <Ago at={agent.revoked_at} />
          )}
        </Fact>
      </dl>
      <div class="acts">
        {onEnd && isLiving(agent, now.value) ? (
          <button type="button" class="danger" onClick={() => onEnd(agent)}>
            End agent…
          </button>
        ) : null}
      </div>
    </article>
  );
}

function Acts({ agent }: { readonly agent: Agent }) {
  return (
    <>
      <Fact term="Last act" is={<LastAct agent={agent} />} />
      <Fact term="Refused" is={refusedWords(agent)} />
    </>
  );
}

/** The name that a client gave itself, or the name in the subject. */
/** Name, state and principal of an agent, with the way to its page. */
export function AgentHead({ agent, id }: { readonly agent: Agent; readonly id?: string }) {
  return (
    <>
      <h3 id={id}>
        <a href={hrefOf('agents', agent.token_id)}>
          <AgentName agent={agent} />
        </a>{' '}
        <AgentState agent={agent} />
      </h3>
      <p class="small">
        <Code text={agent.subject} />
      </p>
    </>
  );
}

export function AgentName({ agent }: { readonly agent: Pick<Agent, 'client_name' | 'subject'> }) {
  if (agent.client_name !== null) return <Claimed name={agent.client_name} />;
  return <Shown text={shortName(agent)} />;
}

/** Links to the decision that the agent waits for. */
function AgentState({ agent }: { readonly agent: Agent }) {
  const { state, words } = stateWords(agent, now.value);
  const pill = state ? <Pill state={state}>{words}</Pill> : <span class="pill">{words}</span>;
  const waits = agent.waits_for;
  return state === 'warn' && waits !== null ? (
    <a href={hrefOf('approvals', waits)}>{pill}</a>
  ) : (
    pill
  );
}

/** Capabilities that a node names. The page of the agent names all. */
const NAMED_MAX = 4;

function Powers({ agent }: { readonly agent: Agent }) {
  const { capabilities, capabilities_count, scope, may_delegate, token_id } = agent;
  const named = capabilities.slice(0, NAMED_MAX).map(titleOf).join(', ');
  const more = capabilities_count - NAMED_MAX;
  return (
    <>
      <p class="small">
        {capabilities.length === 0 ? 'No capability of this service' : named}
        {more > 0 ? (
          <>
            {' '}
            and <a href={hrefOf('agents', token_id)}>{more} more</a>
          </>
        ) : null}
        . {may_delegate ? 'May pass on.' : 'May not pass on.'}
      </p>
      <p class="small muted">
        {scope.length === 1 ? 'Scope ' : 'Scopes '}
        <Codes of={scope} />
      </p>
    </>
  );
}

function Spending({ agent, above }: { readonly agent: Agent; readonly above: Above }) {
  const { budget } = agent;
  const words = spendingWords(budget);
  if (words !== undefined || budget === null) return <p class="small">{words}</p>;
  const isTighter = above?.currency === budget.currency && above.left < budget.left;
  return (
    <div>
      <BudgetBar of={budget} label={shortName(agent)} heading="Budget" />
      {isTighter ? (
        <p class="small">
          Limits above it leave <Amount of={{ currency: above.currency, amount: above.left }} />.
        </p>
      ) : null}
    </div>
  );
}

export function LastAct({ agent }: { readonly agent: Agent }) {
  const { last_act } = agent;
  if (!last_act) return <>{noActWords(agent)}</>;
  const { capability, invocation_id, cost, timestamp } = last_act;
  const what = capability === null ? 'A call' : titleOf(capability);
  return (
    <>
      {invocation_id === null ? what : <a href={hrefOf('activity', invocation_id)}>{what}</a>}
      {`: ${outcomeWords(last_act)}`}
      {cost ? (
        <>
          {', '}
          <Amount of={cost} />
        </>
      ) : null}{' '}
      <span class="unit">
        <Ago at={timestamp} />
      </span>
    </>
  );
}
