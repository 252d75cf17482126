/**
 * Agents that ended: by a person, by their own end, or because an agent above them ended.
 *
 * @module
 */

import type { Agent, Me } from '../../../protocol/console/views.ts';
import { ask, now } from '../../api.ts';
import { Ago, Amount, Fact } from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { hrefOf, route } from '../../router.ts';
import { growth } from '../growth.ts';
import { AgentHead, LastAct } from './node.tsx';
import { mayReadActs } from './words.ts';

/** Ended agents on a page. */
const PAGE = 10;

interface EndedAgentsProps {
  readonly person: Me;
  /** Undefined for the person's own agents. */
  readonly root: string | undefined;
}

export function EndedAgents({ person, root }: EndedAgentsProps) {
  const cursor = route.value.query.get('ended') ?? undefined;
  const load = () => ask('agents', { ended: true, limit: PAGE, cursor, root_principal: root });
  const mayRead = mayReadActs(person, root ?? person.principal);
  const loaded = useLoaded(load, [root, cursor, growth.value]);
  return (
    <section aria-labelledby="h-ended">
      <h2 id="h-ended">Ended</h2>
      <Ready of={loaded} what="The list of ended agents">
        {({ agents, next_cursor }) => (
          <>
            <EndedList of={agents} isFirst={cursor === undefined} mayRead={mayRead} />
            <p class="row">
              {cursor === undefined ? null : <a href={linkTo(root)}>Newest ended agents</a>}
              {next_cursor === null ? null : (
                <a href={linkTo(root, next_cursor)}>Older ended agents</a>
              )}
            </p>
          </>
        )}
      </Ready>
    </section>
  );
}

interface EndedListProps {
  readonly of: readonly Agent[];
  readonly isFirst: boolean;
  readonly mayRead: boolean;
}

function EndedList({ of, isFirst, mayRead }: EndedListProps) {
  if (of.length === 0) {
    return <Empty>{isFirst ? 'No agent has ended.' : 'No older agent has ended.'}</Empty>;
  }
  return (
    <ul class="rows">
      {of.map((agent) => (
        <li key={agent.token_id} class="cols">
          <div>
            <AgentHead agent={agent} />
          </div>
          <EndedFacts agent={agent} mayRead={mayRead} />
        </li>
      ))}
    </ul>
  );
}

function EndedFacts({ agent, mayRead }: { readonly agent: Agent; readonly mayRead: boolean }) {
  const { budget, revoked_at, expires_at } = agent;
  const endedAt = revoked_at ?? expires_at;
  return (
    <dl class="facts small">
      <Fact term="Ended">
        {Date.parse(endedAt) <= now.value ? <Ago at={endedAt} /> : 'With an agent above it'}
      </Fact>
      {budget ? (
        <Fact term="Spent">
          <Amount of={{ amount: budget.spent, currency: budget.currency }} /> of{' '}
          <Amount of={{ amount: budget.max, currency: budget.currency }} />
        </Fact>
      ) : null}
      {mayRead ? <Fact term="Last act" is={<LastAct agent={agent} />} /> : null}
    </dl>
  );
}

function linkTo(root: string | undefined, ended?: string): string {
  const query = { ...(root && { root_principal: root }), ...(ended && { ended }) };
  return hrefOf('agents', undefined, query);
}
