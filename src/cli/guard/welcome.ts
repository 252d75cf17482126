/**
 * What a person reads when a guard has started: what is offered and what is off, and where people and agents go.
 *
 * Names the file of the owner's key and never the key. Repeats no command and no address of the upstream: both can
 * contain what is not for every screen.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import type { ServedService } from '../../http/serve.ts';
import { contextLine, NAME_LENGTH_MAX, printableLine, toolCount } from './offer.ts';
import type { Owner } from './owner.ts';
import type { GuardState } from './state.ts';

/** Lines about tools that are off. */
const OFF_LINES_MAX = 20;

interface Started {
  readonly running: Pick<ServedService, 'url' | 'pagesUrl'>;
  readonly owner: Owner | undefined;
  readonly isStdio: boolean;
}

export function welcome(state: GuardState, { running, owner, isStdio }: Started): string {
  const { url, pagesUrl } = running;
  const { policy } = state.reviewed;
  const key = owner ? `, with the key in ${owner.file}` : '';
  const lines = [
    `${policy.guard} offers ${toolCount(state.definition.catalog.capabilities.size)} at ${url}`,
    ...awayLine(state),
    `  People: sign in at ${pagesUrl}/console/${key}`,
    `  Agents: add ${url}/mcp to an MCP client, or run: writ login --service ${url}, then writ mcp --service ${url}`,
    ...(isStdio ? ['  This agent: MCP on standard input and output'] : []),
    `  Context: ${contextLine(offeredTools(state)).trimEnd()}`,
  ];
  return `${offLines(state)}${lines.join('\n')}\n`;
}

/** One line for each tool of the policy that is off, and one for the tools that no person has looked at. */
export function offLines({ off, changes }: GuardState): string {
  const lines = [...off].slice(0, OFF_LINES_MAX).map(([name, why]) => `Off: ${name}: ${why}`);
  const more = off.size - OFF_LINES_MAX;
  if (more > 0) lines.push(`Off: and ${more} more; run "writ guard review"`);
  const others = changes.filter(({ isNamed }) => !isNamed);
  if (others.length > 0)
    lines.push(`Not offered: ${toolCount(others.length)} more of the upstream`);
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function awayLine({ listing }: GuardState): string[] {
  if ('tools' in listing) return [];
  const why = printableLine(listing.fault, 4 * NAME_LENGTH_MAX);
  return [`  The upstream does not answer; calls fail until it does: ${why}`];
}

/** As an agent gets them. */
function offeredTools({ reviewed: { policy, pins }, definition }: GuardState) {
  return [...definition.catalog.capabilities.keys()].flatMap((name) => {
    const tool = pins.tools.get(policy.tools.get(name)?.tool ?? '')?.tool;
    return tool ? [{ ...tool, name }] : [];
  });
}
