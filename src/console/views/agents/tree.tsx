/**
 * The tree of agents: a nested list, so that the picture and the order in which it is read are the same.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import type { Agent, BudgetView } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Shown } from '../../parts/elements.tsx';
import { Ready, useLoaded } from '../../parts/loaded.tsx';
import { counted } from '../counted.ts';
import { growth } from '../growth.ts';
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

/** A tree has a bounded number of nodes. The others are loaded when they are asked for. */
function Below({ agent, ...rest }: Omit<TreeProps, 'agents'> & { readonly agent: Agent }) {
  const hidden = agent.children_count - agent.children.length;
  if (agent.children.length === 0 && hidden <= 0) return null;
  return (
    <ul aria-label={`Agents below ${shortName(agent)}`}>
      <Branches agents={agent.children} {...rest} />
      {hidden > 0 ? (
        <MoreBelow
          tokenId={agent.token_id}
          cursor={agent.next_cursor ?? undefined}
          label={`Show ${counted(hidden, 'more agent')} below ${shortName(agent)}`}
          {...rest}
        />
      ) : null}
    </ul>
  );
}

interface MoreProps extends Omit<TreeProps, 'agents'> {
  readonly tokenId: string;
  readonly cursor: string | undefined;
  readonly label: string;
}

/** The children of an agent from a cursor on, as items of its list. */
export function MoreBelow({ label, ...more }: MoreProps) {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return <NextBelow {...more} />;
  return (
    <li>
      <button type="button" class="text" onClick={() => setOpen(true)}>
        <Shown text={label} />
      </button>
    </li>
  );
}

function NextBelow({ tokenId, cursor, ...rest }: Omit<MoreProps, 'label'>) {
  const load = () => ask('agents.children', { token_id: tokenId, cursor });
  const loaded = useLoaded(load, [tokenId, cursor, growth.value]);
  if (loaded.state !== 'ready') {
    return (
      <li>
        <Ready of={loaded} what="The agents below">
          {() => null}
        </Ready>
      </li>
    );
  }
  const { children, next_cursor } = loaded.value;
  if (children.length === 0 && next_cursor === null) return <li class="muted">There are none.</li>;
  return (
    <>
      <Branches agents={children} {...rest} />
      {next_cursor === null ? null : (
        <MoreBelow tokenId={tokenId} cursor={next_cursor} label="Show more agents" {...rest} />
      )}
    </>
  );
}

/** A budget below another has the same currency. */
function leastOf(above: Above, own: BudgetView | null): Above {
  if (!above || !own) return own ?? above;
  return own.left < above.left ? own : above;
}
