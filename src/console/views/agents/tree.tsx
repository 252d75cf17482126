/**
 * The tree of agents: a nested list, so that the picture and the order in which it is read are the same.
 *
 * @module
 */

import type { Agent } from '../../../protocol/console/views.ts';
import { Shown } from '../../parts/shown.tsx';
import { hrefOf } from '../../router.ts';
import { AgentNode, type NodeRights } from './node.tsx';
import { counted, shortName } from './words.ts';

interface TreeProps extends NodeRights {
  readonly agents: readonly Agent[];
}

export function AgentTree({ label, ...tree }: TreeProps & { readonly label: string }) {
  return (
    <ul class="tree" aria-label={label}>
      <Branches {...tree} />
    </ul>
  );
}

function Branches({ agents, ...rights }: TreeProps) {
  return (
    <>
      {agents.map((agent) => (
        <li key={agent.token_id}>
          <AgentNode agent={agent} {...rights} />
          <Below agent={agent} {...rights} />
        </li>
      ))}
    </>
  );
}

/** A tree has a bounded number of nodes. The page of an agent lists the others. */
function Below({ agent, ...rights }: NodeRights & { readonly agent: Agent }) {
  const hidden = agent.children_count - agent.children.length;
  if (agent.children.length === 0 && hidden <= 0) return null;
  return (
    <ul aria-label={`Agents below ${shortName(agent)}`}>
      <Branches agents={agent.children} {...rights} />
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
