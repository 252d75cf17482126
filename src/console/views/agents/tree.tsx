/**
 * The tree of agents: a nested list, so that the picture and the order in which it is read are the same.
 *
 * @module
 */

import type { Agent, BudgetView } from '../../../protocol/console/views.ts';
import { Shown } from '../../parts/elements.tsx';
import { hrefOf } from '../../router.ts';
import { counted } from '../counted.ts';
import { type Above, AgentNode, type NodeRights } from './node.tsx';
import { shortName } from './words.ts';

interface TreeProps extends NodeRights {
  readonly agents: readonly Agent[];
  readonly above: Above;
}

export function AgentTree({ label, ...tree }: TreeProps & { readonly label: string }) {
  return (
    <ul class="tree" aria-label={label}>
      <Branches {...tree} />
    </ul>
  );
}

function Branches({ agents, above, ...rights }: TreeProps) {
  return (
    <>
      {agents.map((agent) => (
        <li key={agent.token_id}>
          <AgentNode agent={agent} above={above} {...rights} />
          <Below agent={agent} above={leastOf(above, agent.budget)} {...rights} />
        </li>
      ))}
    </>
  );
}

/** A tree has a bounded number of nodes. The page of an agent lists the others. */
function Below({ agent, ...rest }: Omit<TreeProps, 'agents'> & { readonly agent: Agent }) {
  const hidden = agent.children_count - agent.children.length;
  if (agent.children.length === 0 && hidden <= 0) return null;
  return (
    <ul aria-label={`Agents below ${shortName(agent)}`}>
      <Branches agents={agent.children} {...rest} />
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

/** A budget below another has the same currency. */
function leastOf(above: Above, own: BudgetView | null): Above {
  if (!above || !own) return own ?? above;
  return own.left < above.left ? own : above;
}
