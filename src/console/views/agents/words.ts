/**
 * Words about agents: what they may do, what they did last, and how many there are.
 *
 * @module
 */

import type { Act, Agent, BudgetView, Me } from '../../../protocol/console/views.ts';
import { counted } from '../counted.ts';

/** What agents did is read by their root principal and by operators with the right to the log. */
export function mayReadActs({ principal, operates }: Me, root: string): boolean {
  return root === principal || operates.includes('audit');
}

/** The name of an agent without the class of its principal. */
export function shortName({ subject }: Pick<Agent, 'subject'>): string {
  return subject.slice(subject.indexOf(':') + 1);
}

/** Milliseconds: a state that is younger than the time between two answers to the page. */
const JUST_NOW_MS = 60_000;

export interface StateWords {
  readonly state: 'good' | 'warn' | 'danger' | 'off' | undefined;
  readonly words: string;
}

/** The service does not say whether a call of an agent runs now, so neither does this. */
export function stateWords(agent: Agent, now: number): StateWords {
  const { state, is_frozen, waits_for, last_act } = agent;
  if (state === 'revoked') return { state: 'off', words: 'Ended' };
  if (state === 'expired' || Date.parse(agent.expires_at) <= now) {
    return { state: 'off', words: 'Expired' };
  }
  if (is_frozen) return { state: 'danger', words: 'Frozen' };
  if (waits_for !== null) return { state: 'warn', words: 'Waits for approval' };
  if (last_act && now - Date.parse(last_act.timestamp) < JUST_NOW_MS) {
    return { state: 'good', words: 'Just acted' };
  }
  // Without all entries, an agent without a known act may have acted just now.
  return { state: undefined, words: last_act || agent.acts_are_whole ? 'Idle' : 'Active' };
}

export function isLiving(agent: Agent, now: number): boolean {
  return agent.state === 'active' && Date.parse(agent.expires_at) > now;
}

/** "2 today". Others may have acted so often that only the newest calls were read. */
export function refusedWords({ refused_today: count, acts_are_whole }: Agent): string {
  if (acts_are_whole) return count === 0 ? 'None today' : `${count} today`;
  return count === 0 ? 'None today among the newest calls' : `At least ${count} today`;
}

/** What an agent did last, where no act is known. */
export function noActWords({ acts_are_whole }: Agent): string {
  return acts_are_whole ? 'None' : 'None among the newest calls';
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
    living += 1 + below;
  }
  return living;
}
