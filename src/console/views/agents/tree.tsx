/**
 * The tree of agents: a nested list, so that the picture and the order in which it is read are the same.
 *
 * @module
 */

import type { Agent } from '../../../protocol/console/views.ts';
import { Shown } from '../../parts/shown.tsx';
import { hrefOf } from '../../router.ts';
import { AgentNode } from './node.tsx';
import { counted, shortName } from './words.ts';

interface TreeProps {
  readonly agents: readonly Agent[];
  readonly onEnd?: ((agent: Agent) => void) | undefined;
}

export function AgentTree({ agents, onEnd, label }: TreeProps & { readonly label: string }) {
  return (
    <ul class="tree" aria-label={label}>
      <Branches agents={agents} onEnd={onEnd} />
    </ul>
  );
}

function Branches({ agents, onEnd }: TreeProps) {
  return (
    <>
      {agents.map((agent) => (
        <li key={agent.token_id}>
          <AgentNode agent={agent} onEnd={onEnd} />
          <Below agent={agent} onEnd={onEnd} />
        </li>
      ))}
    </>
  );
}

/** A tree has a bounded number of nodes. The page of an agent lists the others. */
function Below({ agent, onEnd }: Omit<TreeProps, 'agents'> & { readonly agent: Agent }) {
  const hidden = agent.children_count - agent.children.length;
  if (agent.children.length === 0 && hidden <= 0) return null;
  return (
    <ul aria-label={`Agents below ${shortName(agent)}`}>
      <Branches agents={agent.children} onEnd={onEnd} />
      {hidden > 0 ? (
        <li>
          <p class="node small">
            <a href={hrefOf('agents', agent.token_id)}>
              See {counted(hidden, 'more agent')} below <Shown text={shortName(agent)} />
            </a>
          </p>
        </li>
      ) : null}
    </ul>
  );
}
