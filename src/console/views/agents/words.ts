/**
 * Words about agents: what they may do, what they did last, and how many there are.
 *
 * @module
 */

import type { Capability } from '../../../protocol/capability.ts';
import type { Act, Agent, BudgetView, Me } from '../../../protocol/console/views.ts';
import type { JsonObject } from '../../../protocol/primitives.ts';
import { counted } from '../counted.ts';

/** What agents did is read by their root principal and by operators with the right to the log. */
export function mayReadActs({ principal, operates }: Me, root: string): boolean {
  return root === principal || operates.includes('audit');
}

/** The name of an agent without the class of its principal. */
export function shortName({ subject }: Pick<Agent, 'subject'>): string {
  return subject.slice(subject.indexOf(':') + 1);
}

/** A token of a person stands for the person, not for an agent. */
export function isOwnToken({ subject }: Pick<Agent, 'subject'>): boolean {
  return subject.startsWith('human:');
}

/** Ids, and limits that other words name. */
const NO_PURPOSE = new Set(['task_id', 'session_id', 'only_capabilities']);

/** Characters of a purpose beside a name. The details have all of it. */
const PURPOSE_MAX = 80;

/** "March offsite". Undefined where no text says what an agent is for. */
export function purposeWords(purpose: JsonObject | null): string | undefined {
  const texts = Object.entries(purpose ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' && !NO_PURPOSE.has(name) ? [value] : [],
  );
  const letters = [...texts.join(', ')];
  if (letters.length === 0) return undefined;
  return letters.length > PURPOSE_MAX
    ? `${letters.slice(0, PURPOSE_MAX).join('')}…`
    : letters.join('');
}

/** From the least to the most. */
export const EFFECTS = ['read', 'write', 'transactional', 'irreversible'] as const;

type Declared = Readonly<Record<string, Pick<Capability, 'side_effect'>>>;

export function effectCounts(names: readonly string[], declarations: Declared = {}) {
  const counts = { read: 0, write: 0, transactional: 0, irreversible: 0 };
  for (const name of names) {
    const declared = declarations[name];
    if (declared) counts[declared.side_effect.type] += 1;
  }
  return counts;
}

/** Milliseconds: a state that is younger than the time between two answers to the page. */
const JUST_NOW_MS = 60_000;

export interface StateWords {
  readonly state: 'good' | 'warn' | 'danger' | 'off';
  readonly words: string;
}

/** The service does not say whether a call of an agent runs now, so neither does this. */
export function stateWords(agent: Agent, now: number): StateWords {
  const { state, is_frozen, waits_for, last_act, budget } = agent;
  if (state === 'revoked') return { state: 'off', words: 'Ended' };
  if (state === 'expired' || Date.parse(agent.expires_at) <= now) {
    return { state: 'off', words: 'Expired' };
  }
  if (is_frozen) return { state: 'danger', words: 'Frozen' };
  if (waits_for !== null) return { state: 'warn', words: 'Waits for approval' };
  if (budget && budget.max > 0 && budget.left <= 0) {
    return { state: 'danger', words: 'Out of budget' };
  }
  if (last_act && now - Date.parse(last_act.timestamp) < JUST_NOW_MS) {
    return { state: 'good', words: 'Just acted' };
  }
  // Without all entries, an agent without a known act may have acted just now.
  return { state: 'off', words: last_act || agent.acts_are_whole ? 'Idle' : 'Active' };
}

export function isLiving(agent: Agent, now: number): boolean {
  return agent.state === 'active' && Date.parse(agent.expires_at) > now;
}

/** "2 refused today". Others may have acted so often that only the newest calls were read. */
export function refusedWords({ refused_today: count, acts_are_whole }: Agent): string {
  if (acts_are_whole) return count === 0 ? 'none refused today' : `${count} refused today`;
  return count === 0
    ? 'none refused today among the newest calls'
    : `at least ${count} refused today`;
}

/** What an agent did last, where no act is known. */
export function noActWords({ acts_are_whole }: Agent): string {
  return acts_are_whole ? 'Never acted' : 'No act among the newest calls';
}

/** What is withdrawn when agents end. */
export function requestWords(requests: number, isWhole: boolean): string {
  if (requests > 0) {
    const words = `${counted(requests, 'approval request')} can no longer be used`;
    return isWhole ? words : `At least ${words}`;
  }
  return isWhole ? 'No approval is waited for' : 'No approval request among the newest calls';
}

/** "Searched flights" is for a person to say: the name of the capability, and how it went. */
export function outcomeWords({ success, failure_type }: Act): string {
  if (success) return 'done';
  return failure_type === null ? 'failed' : failure_type.replaceAll('_', ' ');
}

export function spendingWords(budget: BudgetView | null): string | undefined {
  if (budget === null) return 'No limit of its own. Limits above it hold.';
  return budget.max === 0 ? 'Cannot spend. Its limit is zero.' : undefined;
}

/** The living agents of trees; undefined when the trees show only some of them. */
export function livingIn(agents: readonly Agent[], now: number): number | undefined {
  let living = 0;
  for (const agent of agents) {
    if (!isLiving(agent, now)) continue;
    const below = livingIn(agent.children, now);
    if (below === undefined || agent.children.length < agent.children_count) return undefined;
    living += below + (isOwnToken(agent) ? 0 : 1);
  }
  return living;
}

/** Agents of every level. */
export function everyOf(agents: readonly Agent[]): readonly Agent[] {
  return agents.flatMap((agent) => [agent, ...everyOf(agent.children)]);
}
