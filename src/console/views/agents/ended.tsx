/**
 * Agents that ended: by a person, by their own end, or because an agent above them ended.
 *
 * @module
 */

import type { Agent, Me } from '../../../protocol/console/views.ts';
import { ask, now } from '../../api.ts';
import { Ago, Amount } from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { Row } from '../../parts/panels.tsx';
import { hrefOf } from '../../router.ts';
import { growth } from '../growth.ts';
import { listOf } from './details.tsx';
import { AgentName, LastAct, Purpose } from './node.tsx';
import { isOwnToken, mayReadActs } from './words.ts';

/** Ended agents on a page. */
const PAGE = 10;

interface EndedAgentsProps {
  readonly person: Me;
  readonly root: string;
  /** Empty for the newest. */
  readonly cursor: string;
}

export function EndedAgents({ person, root, cursor }: EndedAgentsProps) {
  const load = () =>
    ask('agents', {
      ended: true,
      limit: PAGE,
      cursor: cursor === '' ? undefined : cursor,
      root_principal: root,
    });
  const loaded = useLoaded(load, [root, cursor, growth.value]);
  return (
    <section aria-label="Ended">
      <Ready of={loaded} what="The list of ended agents">
        {({ agents, next_cursor }) => (
          <>
            {agents.length === 0 ? (
              <Empty>{cursor === '' ? 'No agent has ended.' : 'No older agent has ended.'}</Empty>
            ) : (
              <ul class="list">
                {agents.map((agent) => (
                  <EndedRow
                    key={agent.token_id}
                    agent={agent}
                    mayRead={mayReadActs(person, root)}
                  />
                ))}
              </ul>
            )}
            <p class="row">
              {cursor === '' ? null : <a href={listOf(root, { ended: '' })}>Newest ended agents</a>}
              {next_cursor === null ? null : (
                <a href={listOf(root, { ended: next_cursor })}>Older ended agents</a>
              )}
            </p>
          </>
        )}
      </Ready>
    </section>
  );
}

function EndedRow({ agent, mayRead }: { readonly agent: Agent; readonly mayRead: boolean }) {
  const { budget, revoked_at, expires_at, token_id } = agent;
  const endedAt = revoked_at ?? expires_at;
  return (
    <Row
      href={hrefOf('agents', token_id)}
      icon={isOwnToken(agent) ? 'key' : 'agent'}
      says={isOwnToken(agent) ? 'Token' : 'Agent'}
      title={<AgentName agent={agent} />}
      side={Date.parse(endedAt) <= now.value ? <Ago at={endedAt} /> : 'With an agent above it'}
    >
      <p>
        <Purpose agent={agent} />
        {budget ? (
          <>
            {' '}
            · spent <Amount of={{ amount: budget.spent, currency: budget.currency }} /> of{' '}
            <Amount of={{ amount: budget.max, currency: budget.currency }} />
          </>
        ) : null}
      </p>
      {mayRead ? (
        <p class="over">
          <LastAct agent={agent} />
        </p>
      ) : null}
    </Row>
  );
}
