/**
 * What a guard has in force: made from its files and from the tools of its upstream.
 *
 * An upstream that is away keeps its reviewed tools offered: calls fail until it is back, and the gate compares its
 * tools before the next one passes.
 *
 * @module
 */

import { canonicalJson } from '../../domain/wire/canonical.ts';
import { guardService } from '../../guard/definition.ts';
import type { Gate, Listing } from '../../guard/gate.ts';
import { type ToolChange, toolChanges } from '../../guard/pins.ts';
import type { UpstreamTool } from '../../guard/upstream.ts';
import type { AccountOptions } from '../../service/author/accounts.ts';
import type { ServiceDefinition } from '../../service/author/definition.ts';
import type { ReviewPort } from '../../service/author/review.ts';
import type { Reviewed } from './files.ts';

export interface GuardState {
  readonly reviewed: Reviewed;
  readonly gate: Gate;
  /** Tools as the upstream offers them, or why it cannot be asked. */
  readonly listing: Listing;
  readonly changes: readonly ToolChange[];
  /** Capabilities of the policy that are off, each with one sentence. */
  readonly off: ReadonlyMap<string, string>;
  readonly definition: ServiceDefinition;
}

/** What a service needs besides the files: the upstream behind its gate, accounts of people, and the reviews. */
export interface Connection {
  readonly gate: Gate;
  readonly account?: AccountOptions | undefined;
  readonly review?: ReviewPort | undefined;
}

/** Lists the tools and makes the service. Throws with the faults of a policy that does not fit the tools. */
export async function stateOf(
  reviewed: Reviewed,
  { gate, account, review }: Connection,
  before?: GuardState,
): Promise<GuardState> {
  const { policy, pins } = reviewed;
  const listing = await gate.relist();
  const live = 'tools' in listing ? listing.tools : pinnedTools(reviewed);
  const { service, off } = guardService({
    policy,
    pins,
    live,
    upstream: gate,
    isCurrent: gate.isCurrent,
    account,
    review,
  });
  const changes = 'tools' in listing ? toolChanges(policy, pins, live) : (before?.changes ?? []);
  return { reviewed, gate, listing, changes, off, definition: service };
}

/** Whether the same upstream can serve both policies. */
export function hasSameUpstream(one: Reviewed, other: Reviewed): boolean {
  return canonicalJson(one.policy.upstream) === canonicalJson(other.policy.upstream);
}

/** Whether a reload would change nothing. */
export function isSameService(one: GuardState, other: GuardState): boolean {
  return formOf(one) === formOf(other);
}

function formOf({ reviewed: { texts }, off }: GuardState): string {
  return JSON.stringify([texts.policy, texts.lock, ...off]);
}

/** What an upstream that is away offered when it was reviewed. */
export function pinnedTools({ pins }: Reviewed): UpstreamTool[] {
  return [...pins.tools.values()].map(({ tool }) => tool);
}
