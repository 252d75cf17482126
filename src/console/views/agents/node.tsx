/**
 * One agent of a tree: who it is, what it did last, what it may do and spend, and how it is stopped.
 *
 * @module
 */

import { useEffect, useRef } from 'preact/hooks';
import { personOf } from '../../../domain/decision/values.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import { shortTime } from '../../../domain/values/time-words.ts';
import type { Agent, BudgetView } from '../../../protocol/console/views.ts';
import { now } from '../../api.ts';
import { ThinBudget } from '../../parts/budget.tsx';
import { Ago, Amount, Claimed, effectLook, Left, Pill, Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { hrefOf } from '../../router.ts';
import { AgentDetails, type Declarations, listOf } from './details.tsx';
import {
  EFFECTS,
  effectCounts,
  isLiving,
  isOwnToken,
  noActWords,
  outcomeWords,
  purposeWords,
  refusedWords,
  type StateWords,
  shortName,
  spendingWords,
  stateWords,
} from './words.ts';

/** What the person may do and know of the agents shown. */
export interface NodeRights {
  /** The root principal of the trees. */
  readonly root: string;
  /** Undefined where the person may not stop them. */
  readonly onStop: ((agent: Agent) => void) | undefined;
  readonly mayReadActs: boolean;
  /** Undefined until the catalog is loaded. */
  readonly declarations: Declarations | undefined;
  /** The agent of the address: its details are open. */
  readonly chosen: string | undefined;
}

/** What the budgets above an agent leave. */
export type Above = Pick<BudgetView, 'currency' | 'left'> | undefined;

interface NodeProps extends NodeRights {
  readonly agent: Agent;
  readonly above: Above;
}

/** The link of its name opens its details below it, and closes them. */
export function AgentNode({ agent, above, onStop, chosen, root, ...rest }: NodeProps) {
  const { token_id } = agent;
  const heading = `agent-${token_id}`;
  const isChosen = chosen === token_id;
  return (
    <article class="node" aria-labelledby={heading}>
      <div class="stack">
        <h3 id={heading}>
          <Icon name={isOwnToken(agent) ? 'key' : 'agent'} />{' '}
          <a href={listOf(root, {}, isChosen ? undefined : token_id)} aria-expanded={isChosen}>
            <AgentName agent={agent} />
          </a>{' '}
          <Purpose agent={agent} /> <AgentState agent={agent} />
        </h3>
        {rest.mayReadActs ? (
          <p class="muted">
            <LastAct agent={agent} /> · {refusedWords(agent)}
          </p>
        ) : null}
        <p class="muted">
          <Powers agent={agent} declarations={rest.declarations} /> · <End of={agent} />
        </p>
      </div>
      <Spending agent={agent} above={above} />
      <div class="acts">
        {onStop && isLiving(agent, now.value) ? (
          <button type="button" class="danger little" onClick={() => onStop(agent)}>
            <Icon name="stop" /> Stop…
          </button>
        ) : null}
      </div>
      {isChosen ? <Details tokenId={token_id} declarations={rest.declarations} /> : null}
    </article>
  );
}

interface DetailsProps {
  readonly tokenId: string;
  readonly declarations: Declarations | undefined;
}

/** Comes into sight: the page may be long. */
function Details(props: DetailsProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.closest('article')?.scrollIntoView({ block: 'center' }), []);
  return (
    <div ref={place} class="stack full">
      <AgentDetails {...props} />
    </div>
  );
}

/** Tells agents of one name apart: what it is for, otherwise since when it acts. */
export function Purpose({ agent }: { readonly agent: Pick<Agent, 'purpose' | 'issued_at'> }) {
  const words = purposeWords(agent.purpose);
  return (
    <span class="muted">
      {words === undefined ? (
        `since ${shortTime(agent.issued_at, now.value)}`
      ) : (
        <Shown text={words} />
      )}
    </span>
  );
}

type NameOf = Pick<Agent, 'subject'> & { readonly client_name?: string | null };

/** The name that a client gave itself, or the name in the subject. A person is no agent. */
export function AgentName({ agent }: { readonly agent: NameOf }) {
  if (agent.client_name) return <Claimed name={agent.client_name} />;
  if (!isOwnToken(agent)) return <Shown text={shortName(agent)} />;
  return (
    <>
      Token of <Shown text={personOf(agent.subject)} />
    </>
  );
}

const STATE_ICONS = { good: 'pulse', warn: 'clock', danger: 'stop' } as const;

/** Links to the decision that the agent waits for. */
function AgentState({ agent }: { readonly agent: Agent }) {
  const { state, words }: StateWords = stateWords(agent, now.value);
  const isMarked = state === 'good' || state === 'warn' || state === 'danger';
  const pill = (
    <Pill state={state}>
      {isMarked ? <Icon name={STATE_ICONS[state]} /> : null} {words}
    </Pill>
  );
  const waits = agent.waits_for;
  return state === 'warn' && waits !== null ? (
    <a href={hrefOf('approvals', waits)}>{pill}</a>
  ) : (
    pill
  );
}

interface PowersProps {
  readonly agent: Agent;
  readonly declarations: Declarations | undefined;
}

/** How many capabilities of each effect it may use. */
function Powers({ agent, declarations }: PowersProps) {
  const { capabilities, capabilities_count } = agent;
  if (capabilities.length === 0) return <>No capability of this service</>;
  const counts = effectCounts(capabilities, declarations);
  if (!declarations || capabilities.length < capabilities_count) {
    return <>{capabilities_count} capabilities</>;
  }
  return (
    <>
      {EFFECTS.filter((type) => counts[type] > 0).map((type) => (
        <EffectCount key={type} type={type} count={counts[type]} />
      ))}
    </>
  );
}

function EffectCount({ type, count }: { type: (typeof EFFECTS)[number]; count: number }) {
  const { words, icon, isFinal } = effectLook({ type });
  return (
    <span class="nb">
      <Icon name={icon} {...(isFinal && { class: 'final-icon' })} /> {count}
      <span class="vh"> {words.toLowerCase()}, </span>{' '}
    </span>
  );
}

/** What the icons beside the counts mean. */
export function EffectLegend() {
  return (
    <p class="small muted">
      {EFFECTS.map((type) => {
        const { words, icon, isFinal } = effectLook({ type });
        return (
          <span key={type}>
            <Icon name={icon} {...(isFinal && { class: 'final-icon' })} /> {words.toLowerCase()}
            {isFinal ? '.' : ','}{' '}
          </span>
        );
      })}
      The notch in a bar is at 80 %.
    </p>
  );
}

function End({ of }: { readonly of: Agent }) {
  return (
    <>
      <Icon name="clock" />{' '}
      {of.revoked_at === null ? (
        <Left until={of.expires_at} />
      ) : (
        <>
          ended <Ago at={of.revoked_at} />
        </>
      )}
    </>
  );
}

function Spending({ agent, above }: { readonly agent: Agent; readonly above: Above }) {
  const { budget } = agent;
  const words = spendingWords(budget);
  if (words !== undefined || budget === null) return <p class="muted">{words}</p>;
  const isTighter = above?.currency === budget.currency && above.left < budget.left;
  return (
    <ThinBudget of={budget} label={shortName(agent)}>
      {isTighter ? (
        <p class="muted">
          Limits above it leave <Amount of={{ currency: above.currency, amount: above.left }} />.
        </p>
      ) : null}
    </ThinBudget>
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
      ) : null}
      {', '}
      <span class="unit">
        <Ago at={timestamp} />
      </span>
    </>
  );
}
