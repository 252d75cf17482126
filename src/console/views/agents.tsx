/**
 * The view Agents: the trees of agents under one root principal, and what has ended. The address of one agent opens
 * its details here.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { personOf } from '../../domain/decision/values.ts';
import type { Agent, AgentTrees, Me } from '../../protocol/console/views.ts';
import type { TokenView } from '../../protocol/token.ts';
import { ask, isMe, me, now } from '../api.ts';
import { NEARLY_FULL, usedShare } from '../parts/budget.tsx';
import { Code, Codes, Fact, Pill, Shown } from '../parts/elements.tsx';
import { Icon } from '../parts/icon.tsx';
import { Empty, Loading, Ready, useLoaded } from '../parts/loaded.tsx';
import { Evidence, Notice } from '../parts/panels.tsx';
import { useTitle } from '../parts/title.ts';
import { hrefOf, route } from '../router.ts';
import { type Declarations, listOf, TokenFacts } from './agents/details.tsx';
import { EndedAgents } from './agents/ended.tsx';
import type { Named } from './agents/ends.tsx';
import { AgentName, EffectLegend, type NodeRights } from './agents/node.tsx';
import { StopDialog, type Stopping, stopRights, targetOf } from './agents/stop.tsx';
import { AgentTree, MoreBelow } from './agents/tree.tsx';
import { everyOf, isLiving, isOwnToken, livingIn, mayReadActs, shortName } from './agents/words.ts';
import { counted } from './counted.ts';
import { growth } from './growth.ts';
import { LiftDialog } from './operations/freezing.tsx';
import { type Done, Outcome } from './outcome.tsx';

export function AgentsView() {
  const { id, query } = route.value;
  const person = me.value;
  if (!person) return <Loading what="who is signed in" />;
  const root = query.get('root_principal') ?? person.principal;
  return <AgentsOf key={root} person={person} root={root} chosen={id} />;
}

interface AgentsOfProps {
  readonly person: Me;
  readonly root: string;
  /** The token of the address. */
  readonly chosen: string | undefined;
}

function AgentsOf({ person, root, chosen }: AgentsOfProps) {
  useTitle(isMe(root) ? undefined : `Agents of ${personOf(root)}`);
  const [done, setDone] = useState<Done>();
  const [stopping, stop] = useState<Stopping & { readonly root: string }>();
  const [changes, setChanges] = useState(0);
  const { query } = route.value;
  const cursor = query.get('cursor') ?? undefined;
  const ended = query.get('ended');
  const load = () => ask('agents', { cursor, root_principal: root });
  const loaded = useLoaded(load, [root, cursor, growth.value, changes]);
  const catalog = useLoaded(() => ask('manifest', {}), []);
  const shown = loaded.state === 'loading' ? undefined : loaded.value;
  const isFrozen = shown?.agents.some(({ is_frozen }) => is_frozen) ?? false;
  const finish = (outcome: Done) => {
    setDone(outcome);
    setChanges((count) => count + 1);
  };
  const common = {
    person,
    chosen,
    declarations: catalog.state === 'ready' ? catalog.value.capabilities : undefined,
    onStop: (agents: readonly Named[], whose: string) => stop({ agents, root: whose }),
  };
  const isElsewhere =
    chosen !== undefined && shown && !everyOf(shown.agents).some(isTheOne(chosen));
  return (
    <>
      <div class="head mid">
        <h1>Agents{isMe(root) ? null : <Whose root={root} />}</h1>
        {shown ? (
          <StopAll
            of={shown}
            person={person}
            isFrozen={isFrozen}
            onStop={(of) => stop({ ...of, root })}
          />
        ) : null}
      </div>
      <Tabs root={root} isEnded={ended !== null} />
      <Outcome of={done} />
      {isElsewhere ? <Elsewhere key={`${chosen} ${changes}`} {...common} tokenId={chosen} /> : null}
      {ended === null ? (
        <Ready of={loaded} what="The list of agents">
          {(trees) => (
            <>
              {isFrozen ? <FrozenNotice person={person} root={root} onDone={finish} /> : null}
              <Trees of={trees} {...common} />
            </>
          )}
        </Ready>
      ) : (
        <EndedAgents person={person} root={root} cursor={ended} />
      )}
      {person.operates.includes('read') ? <ChooseRoot root={root} /> : null}
      <StopDialog
        of={stopping}
        root={stopping?.root ?? root}
        person={person}
        isFrozen={isFrozen}
        onClose={() => stop(undefined)}
        onDone={finish}
      />
    </>
  );
}

const isTheOne = (tokenId: string) => (agent: Agent) => agent.token_id === tokenId;

function Whose({ root }: { readonly root: string }) {
  return (
    <>
      {' '}
      of <Shown text={personOf(root)} />
    </>
  );
}

function Tabs({ root, isEnded }: { readonly root: string; readonly isEnded: boolean }) {
  return (
    <nav class="tabs" aria-label="Agents">
      <a href={listOf(root)} {...(!isEnded && { 'aria-current': 'page' })}>
        Acting for {isMe(root) ? 'you' : <Shown text={personOf(root)} />}
      </a>
      <a href={listOf(root, { ended: '' })} {...(isEnded && { 'aria-current': 'page' })}>
        Ended
      </a>
    </nav>
  );
}

interface StopAllProps {
  readonly of: AgentTrees;
  readonly person: Me;
  readonly isFrozen: boolean;
  onStop(of: Stopping): void;
}

/** Counts the agents only where all of them are shown. */
function StopAll({ of, person, isFrozen, onStop }: StopAllProps) {
  const { next_cursor, root_principal } = of;
  const agents = of.agents.filter((agent) => isLiving(agent, now.value));
  const may = stopRights(person, root_principal);
  if (!(may.end && agents.length > 0) && !(may.pause && !isFrozen)) return null;
  const isWhole = next_cursor === null && !route.value.query.has('cursor');
  const count = isWhole ? livingIn(agents, now.value) : undefined;
  return (
    <button
      type="button"
      class="danger little"
      onClick={() => onStop({ agents, all: { hasMore: !isWhole } })}
    >
      <Icon name="stop" /> Stop all{count ? ` ${count}` : ''}…
    </button>
  );
}

interface CommonProps {
  readonly person: Me;
  readonly chosen: string | undefined;
  readonly declarations: Declarations | undefined;
  onStop(agents: readonly Named[], root: string): void;
}

function rightsIn(common: CommonProps, root: string): NodeRights {
  const { person, chosen, declarations, onStop } = common;
  const may = stopRights(person, root);
  return {
    root,
    chosen,
    declarations,
    mayReadActs: mayReadActs(person, root),
    onStop: may.end || may.pause ? (agent) => onStop([agent], root) : undefined,
  };
}

function Trees({ of, ...common }: CommonProps & { readonly of: AgentTrees }) {
  const { agents, root_principal, next_cursor } = of;
  const isFirst = !route.value.query.has('cursor');
  const rights = rightsIn(common, root_principal);
  return (
    <>
      {agents.length === 0 ? (
        <Empty>
          {isFirst
            ? 'No agent acts now. One appears here after a program got a token: by signing in as a client, or with a key of the service.'
            : 'There are no older agents.'}
        </Empty>
      ) : (
        <>
          <NearlySpent of={everyOf(agents)} />
          <section class="group panel" aria-labelledby="h-whose">
            <h2 id="h-whose">
              <Icon name="person" />{' '}
              {isMe(root_principal) ? 'You' : <Shown text={personOf(root_principal)} />}{' '}
              <span class="muted">all agents together</span>
            </h2>
            <AgentTree
              agents={agents}
              above={undefined}
              {...rights}
              label={`Agents of ${personOf(root_principal)}`}
            />
          </section>
          <EffectLegend />
          <p class="small muted">{rights.mayReadActs ? ACTS_SHOWN : ACTS_HIDDEN}</p>
        </>
      )}
      <p class="row">
        {isFirst ? null : <a href={listOf(root_principal)}>Newest agents</a>}
        {next_cursor === null ? null : (
          <a href={listOf(root_principal, { cursor: next_cursor })}>Older agents</a>
        )}
      </p>
      {agents.length === 0 ? null : <AgentEvidence of={everyOf(agents)} />}
    </>
  );
}

const ACTS_SHOWN = 'Last acts and refusals are those among the newest calls of all these agents.';
const ACTS_HIDDEN =
  'What the agents did is not shown: reading it needs the scope operator:audit, which a person who configures the service can grant.';

/** Trouble with money stands above the list. */
function NearlySpent({ of }: { readonly of: readonly Agent[] }) {
  const nearly = of.filter(({ budget, state }) => {
    return state === 'active' && budget && budget.max > 0 && usedShare(budget) >= NEARLY_FULL * 100;
  });
  const [agent] = nearly;
  if (!agent?.budget) return null;
  return (
    <Notice state="warn">
      <b>
        {nearly.length > 1 ? (
          `${nearly.length} agents have used most of their budgets.`
        ) : (
          <>
            <Shown text={shortName(agent)} /> has used {usedShare(agent.budget)} % of its budget.
          </>
        )}
      </b>{' '}
      What goes beyond a budget is refused.
    </Notice>
  );
}

type Identified = Pick<Agent, 'token_id' | 'subject' | 'scope'>;

function AgentEvidence({ of }: { readonly of: readonly Identified[] }) {
  return (
    <Evidence result={`ids, tokens and scopes of ${counted(of.length, 'agent')}`}>
      <dl class="facts">
        {of.map(({ token_id, subject, scope }) => (
          <Fact key={token_id} term={<Shown text={shortName({ subject })} />}>
            <Code text={subject} />, token <code>{token_id}</code>,{' '}
            {scope.length === 1 ? 'scope ' : 'scopes '}
            <Codes of={scope} />
          </Fact>
        ))}
      </dl>
    </Evidence>
  );
}

interface ElsewhereProps extends CommonProps {
  readonly tokenId: string;
}

/** The agent of the address, where the trees do not show it: it ended, or it is of another person or page. */
function Elsewhere({ tokenId, ...common }: ElsewhereProps) {
  const loaded = useLoaded(() => ask('tokens.get', { token_id: tokenId }), [tokenId, growth.value]);
  return (
    <section class="panel" aria-label="The agent of this address">
      <Ready of={loaded} what="The agent">
        {(token) => <OneAgent of={token} {...common} />}
      </Ready>
    </section>
  );
}

const STATES = {
  active: { pill: 'good', words: 'Active' },
  expired: { pill: 'off', words: 'Expired' },
  revoked: { pill: 'off', words: 'Ended' },
} as const satisfies Record<TokenView['state'], object>;

function OneAgent({ of, ...common }: CommonProps & { readonly of: TokenView }) {
  const { token_id, root_principal, state, budget, budget_remaining } = of;
  const rights = rightsIn(common, root_principal);
  const { onStop } = rights;
  const above = budget && { currency: budget.currency, left: budget_remaining ?? 0 };
  return (
    <>
      <div class="head mid">
        <h2>
          <Icon name={isOwnToken(of) ? 'key' : 'agent'} /> <AgentName agent={of} />{' '}
          <Pill state={STATES[state].pill}>{STATES[state].words}</Pill>
        </h2>
        {state === 'active' && onStop ? (
          <button
            type="button"
            class="danger little"
            onClick={() => common.onStop([{ ...of, client_name: null }], root_principal)}
          >
            <Icon name="stop" /> Stop…
          </button>
        ) : null}
      </div>
      <TokenFacts of={of} declarations={common.declarations} />
      <ul class="tree" aria-label="Agents below it">
        <MoreBelow
          {...rights}
          tokenId={token_id}
          cursor={undefined}
          above={above ?? undefined}
          label="Show the agents below it"
        />
      </ul>
      <AgentEvidence of={[of]} />
    </>
  );
}

/** A form whose address has the answer, so that it can be linked and works without this page's script. */
function ChooseRoot({ root }: { readonly root: string }) {
  return (
    <details class="panel" open={!isMe(root)}>
      <summary>
        <Icon name="chevron" class="turn" /> <span>Agents of others</span>
      </summary>
      <form method="get" action={hrefOf('agents')} class="row">
        <p class="field">
          <label for="root">Agents of another person or service</label>
          <input
            id="root"
            name="root_principal"
            required
            maxLength={300}
            placeholder="human:ann@example.com"
            value={isMe(root) ? '' : root}
            spellcheck={false}
            autocomplete="off"
          />
        </p>
        <button type="submit">Show their agents</button>
        {isMe(root) ? null : <a href={hrefOf('agents')}>Show my own agents</a>}
      </form>
    </details>
  );
}

interface FrozenProps {
  readonly person: Me;
  readonly root: string;
  onDone(done: Done): void;
}

/** A person who cannot lift a freeze reads who can. */
function FrozenNotice({ person, root, onDone }: FrozenProps) {
  const [isLifting, setLifting] = useState(false);
  const mayLift = person.operates.includes('unfreeze');
  return (
    <Notice state="bad">
      <p>
        <b>Paused.</b> The service refuses new calls and new tokens of{' '}
        <Shown text={personOf(root)} />. {mayLift ? null : 'An operator can lift the freeze.'}
      </p>
      {mayLift ? (
        <button type="button" class="little" onClick={() => setLifting(true)}>
          Lift the freeze…
        </button>
      ) : null}
      <LiftDialog
        of={isLifting ? targetOf(root) : undefined}
        onClose={() => setLifting(false)}
        onDone={(words) => onDone({ words })}
      />
    </Notice>
  );
}
