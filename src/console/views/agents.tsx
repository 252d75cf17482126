/**
 * The view Agents: the trees of agents under one root principal, what has ended, and the page of one agent.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { personOf } from '../../domain/decision/values.ts';
import type { Agent, AgentTrees, Me } from '../../protocol/console/views.ts';
import { ask, me, now } from '../api.ts';
import { Person, Shown } from '../parts/elements.tsx';
import { Empty, Loading, Ready, useLoaded } from '../parts/loaded.tsx';
import { useTitle } from '../parts/title.ts';
import { hrefOf, route } from '../router.ts';
import { EndDialog } from './agents/end.tsx';
import { EndedAgents } from './agents/ended.tsx';
import { AgentPage } from './agents/page.tsx';
import { StopDialog } from './agents/stop.tsx';
import { AgentTree } from './agents/tree.tsx';
import { isLiving, livingIn, mayReadActs } from './agents/words.ts';
import { counted } from './counted.ts';
import { growth } from './growth.ts';
import { FreezeDialog, LiftDialog } from './operations/freezing.tsx';
import { type Done, Outcome } from './outcome.tsx';

export function AgentsView() {
  const { id, query } = route.value;
  const person = me.value;
  if (!person) return <Loading what="who is signed in" />;
  if (id !== undefined) return <AgentPage key={id} tokenId={id} person={person} />;
  const asked = query.get('root_principal') ?? undefined;
  const root = asked === person.principal ? undefined : asked;
  return <AgentsOf key={root ?? ''} person={person} root={root} />;
}

interface AgentsOfProps {
  readonly person: Me;
  /** Undefined for the person's own agents. */
  readonly root: string | undefined;
}

function AgentsOf({ person, root }: AgentsOfProps) {
  useTitle(root === undefined ? undefined : `Agents of ${personOf(root)}`);
  const [done, setDone] = useState<Done>();
  const [ending, choose] = useState<Agent>();
  const cursor = route.value.query.get('cursor') ?? undefined;
  const load = () => ask('agents', { cursor, root_principal: root });
  const loaded = useLoaded(load, [root, cursor, growth.value]);
  const mayEnd = root === undefined || person.operates.includes('revoke');
  const finish = (outcome: Done) => {
    setDone(outcome);
    loaded.again();
  };
  const shown = loaded.state === 'loading' ? undefined : loaded.value;
  return (
    <>
      <div class="head">
        <h1>
          {root === undefined ? (
            'My agents'
          ) : (
            <>
              Agents of <Shown text={personOf(root)} />
            </>
          )}
        </h1>
        {shown && mayEnd ? <StopAll of={shown} root={root} onStopped={finish} /> : null}
      </div>
      <Outcome of={done} />
      <section aria-labelledby="h-living">
        <h2 id="h-living">Acting for {root === undefined ? 'you' : <Person of={root} />}</h2>
        <Ready of={loaded} what="The list of agents">
          {(trees) => (
            <Trees of={trees} person={person} onEnd={mayEnd ? choose : undefined} onDone={finish} />
          )}
        </Ready>
      </section>
      <EndedAgents person={person} root={root} />
      {!shown || isFrozen(shown) ? null : (
        <FreezeSection
          person={person}
          root={root ?? person.principal}
          onDone={(words) => finish({ words })}
        />
      )}
      {person.operates.includes('read') ? (
        <section aria-labelledby="h-whose">
          <h2 id="h-whose">Agents of others</h2>
          <ChooseRoot root={root} />
        </section>
      ) : null}
      <EndDialog agent={ending} onClose={() => choose(undefined)} onEnded={finish} />
    </>
  );
}

interface StopAllProps {
  readonly of: AgentTrees;
  readonly root: string | undefined;
  onStopped(done: Done): void;
}

/** Counts the agents only where all of them are shown. */
function StopAll({ of: { agents, next_cursor }, root, onStopped }: StopAllProps) {
  const [isOpen, setOpen] = useState(false);
  const living = agents.filter((agent) => isLiving(agent, now.value));
  const isWhole = next_cursor === null && !route.value.query.has('cursor');
  const count = isWhole ? livingIn(living, now.value) : undefined;
  const open = (isNow: boolean) => () => setOpen(isNow);
  return (
    <>
      {living.length === 0 ? null : (
        <button type="button" class="danger" onClick={open(true)}>
          {count === undefined ? 'Stop all agents…' : `Stop ${allOf(count)}…`}
        </button>
      )}
      <StopDialog
        open={isOpen}
        root={root}
        agents={living}
        hasMore={!isWhole}
        onClose={open(false)}
        onStopped={onStopped}
      />
    </>
  );
}

function allOf(count: number): string {
  return count === 1 ? 'the agent' : `all ${counted(count, 'agent')}`;
}

interface TreesProps {
  readonly of: AgentTrees;
  readonly person: Me;
  readonly onEnd: ((agent: Agent) => void) | undefined;
  onDone(done: Done): void;
}

function Trees({ of, person, onEnd, onDone }: TreesProps) {
  const { agents, root_principal, next_cursor } = of;
  const isFirst = !route.value.query.has('cursor');
  const whose = personOf(root_principal);
  const mayRead = mayReadActs(person, root_principal);
  return (
    <>
      {isFrozen(of) ? (
        <FrozenNotice person={person} root={root_principal} onDone={(words) => onDone({ words })} />
      ) : null}
      {agents.length === 0 ? (
        <Empty>
          {isFirst
            ? 'No agent acts now. One appears here after a program got a token: by signing in as a client, or with a key of the service.'
            : 'There are no older agents.'}
        </Empty>
      ) : (
        <>
          <AgentTree
            agents={agents}
            above={undefined}
            onEnd={onEnd}
            mayReadActs={mayRead}
            label={`Agents of ${whose}`}
          />
          <p class="small muted">{mayRead ? ACTS_SHOWN : ACTS_HIDDEN}</p>
        </>
      )}
      <p class="row">
        {isFirst ? null : <a href={pageOf(of, person)}>Newest agents</a>}
        {next_cursor === null ? null : <a href={pageOf(of, person, next_cursor)}>Older agents</a>}
      </p>
    </>
  );
}

function isFrozen({ agents }: AgentTrees): boolean {
  return agents.some(({ is_frozen }) => is_frozen);
}

const ACTS_SHOWN = 'Last acts and refusals are those among the newest calls of all these agents.';
const ACTS_HIDDEN =
  'What the agents did is not shown: reading it needs the scope operator:audit, which a person who configures the service can grant.';

function pageOf({ root_principal }: AgentTrees, { principal }: Me, cursor?: string): string {
  return hrefOf('agents', undefined, {
    ...(root_principal !== principal && { root_principal }),
    ...(cursor !== undefined && { cursor }),
  });
}

/** A form whose address has the answer, so that it can be linked and works without this page's script. */
function ChooseRoot({ root }: { readonly root: string | undefined }) {
  return (
    <form method="get" action={hrefOf('agents')} class="row">
      <p class="field">
        <label for="root">Agents of another person or service</label>
        <input
          id="root"
          name="root_principal"
          required
          maxLength={300}
          placeholder="human:ann@example.com"
          value={root ?? ''}
          spellcheck={false}
          autocomplete="off"
        />
      </p>
      <button type="submit">Show their agents</button>
      {root === undefined ? null : <a href={hrefOf('agents')}>Show my own agents</a>}
    </form>
  );
}

interface FreezeProps {
  readonly person: Me;
  readonly root: string;
  onDone(words: string): void;
}

/** A person who cannot lift a freeze reads who can. */
function FrozenNotice({ person, root, onDone }: FreezeProps) {
  const [isLifting, setLifting] = useState(false);
  const mayLift = person.operates.includes('unfreeze');
  return (
    <div class="notice bad">
      <p>
        <b>Frozen.</b> The service refuses new calls and new tokens of{' '}
        <Shown text={personOf(root)} />. {mayLift ? null : 'An operator can lift the freeze.'}
      </p>
      {mayLift ? (
        <button type="button" onClick={() => setLifting(true)}>
          Lift the freeze…
        </button>
      ) : null}
      <LiftDialog
        of={isLifting ? targetOf(root) : undefined}
        onClose={() => setLifting(false)}
        onDone={onDone}
      />
    </div>
  );
}

/** For operators who may freeze. */
function FreezeSection({ person, root, onDone }: FreezeProps) {
  const [isFreezing, setFreezing] = useState(false);
  if (!person.operates.includes('freeze')) return null;
  return (
    <section aria-labelledby="h-freeze">
      <h2 id="h-freeze">Freeze</h2>
      <p>
        A freeze stops all agents of <Shown text={personOf(root)} /> and can be lifted. An agent
        that ended does not come back.
      </p>
      <button type="button" class="danger" onClick={() => setFreezing(true)}>
        Freeze <Shown text={personOf(root)} />…
      </button>
      <FreezeDialog
        fixed={targetOf(root)}
        open={isFreezing}
        onClose={() => setFreezing(false)}
        onDone={onDone}
      />
    </section>
  );
}

function targetOf(root: string) {
  return { what: 'root_principal', target: root, root_principal: null } as const;
}
