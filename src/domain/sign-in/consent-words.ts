/**
 * Words of consent: what a capability does, costs and needs, and what a consent gave, for a person.
 *
 * @module
 */

import type { Capability, Cost } from '../../protocol/capability.ts';
import type { Budget } from '../../protocol/primitives.ts';
import type { Authority } from '../authority/narrowing.ts';
import { parseDuration } from '../values/duration.ts';
import { shownMinor, toMinor } from '../values/money.ts';

export const FREE = 'free';

/** "Search flights" from search_flights. */
export function titleOf(name: string): string {
  const words = name.replace(/[_.-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

type Effect = {
  readonly kind: 'reads' | 'changes' | 'undo' | 'final';
  readonly words: string;
};

export function effectOf({
  side_effect: { type, rollback_window },
}: Pick<Capability, 'side_effect'>): Effect {
  switch (type) {
    case 'read':
      return { kind: 'reads', words: 'Reads' };
    case 'write':
      return { kind: 'changes', words: 'Changes something' };
    case 'irreversible':
      return { kind: 'final', words: 'Cannot be undone' };
    case 'transactional': {
      const window = rollback_window === undefined ? undefined : parseDuration(rollback_window);
      const words = window === undefined ? 'Can be undone' : `Can be undone for ${spanOf(window)}`;
      return { kind: 'undo', words };
    }
  }
}

/** The declared cost of one call. */
export function costWords(cost: Cost | undefined): string {
  const financial = cost?.financial;
  if (!cost || !financial) return FREE;
  const { currency, amount, upper_bound, range_min, range_max, typical } = financial;
  const text = (value: number) => amountWords(value, currency);
  const plain = (value: number) => text(value).slice(0, -currency.length - 1);
  if (cost.certainty === 'fixed' && amount !== undefined) {
    return amount === 0 ? FREE : `${text(amount)} each`;
  }
  const most = upper_bound ?? range_max;
  if (most !== undefined) {
    if (range_min === undefined || range_min === 0) return `up to ${text(most)} each`;
    return `${plain(range_min)} to ${text(most)} each`;
  }
  if (range_min !== undefined) return `from ${text(range_min)} each`;
  if (typical !== undefined) return `about ${text(typical)} each`;
  return `a price in ${currency} that each call fixes`;
}

/** "1,000.00 USD". */
export function amountWords(amount: number, currency: string): string {
  const minor = toMinor(amount, currency);
  if (minor === undefined) return `${amount} ${currency}`;
  const [whole = '', rest = ''] = shownMinor(minor, currency).split(/(?=[. ])(.*)/s);
  return whole.replace(/\B(?=(?:\d{3})+$)/g, ',') + rest;
}

export function approvalWords({ approval }: Capability): string | undefined {
  if (!approval) return undefined;
  const { when, approvals_required: count } = approval;
  const who = count === 1 ? 'A person' : `${count} people`;
  if (when !== 'always') return `${who} may have to approve it`;
  return count === 1 ? `${who} approves each one` : `${who} approve each one`;
}

/** What a root row of a consent says about it. */
export type GivenConsent = Pick<
  Authority,
  'scope' | 'capability' | 'purpose' | 'budget' | 'expires_at'
> & {
  readonly created_at: Date;
};

/** "On 3 Oct 2026 you let it search flights, with no money, for 7 days". */
export function summaryOf(consent: GivenConsent): string {
  const { budget, created_at, expires_at } = consent;
  const money = budget ? moneyWords(budget) : 'without a limit of money';
  const span = spanOf(expires_at.getTime() - created_at.getTime());
  return `On ${dayOf(created_at)} you let it ${actsOf(consent)}, ${money}, for ${span}`;
}

/** "3 Oct 2026", in UTC. */
export function dayOf(moment: Date): string {
  return `${moment.getUTCDate()} ${MONTHS[moment.getUTCMonth()]} ${moment.getUTCFullYear()}`;
}

/** "24 h", "7 days", "15 min": in the largest unit, to the nearest one. */
export function spanOf(milliseconds: number): string {
  const minutes = Math.max(1, Math.round(milliseconds / MINUTE));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

const MINUTE = 60_000;

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Capabilities that a summary names. */
const NAMED_MAX = 3;

function actsOf({ capability, purpose, scope }: GivenConsent): string {
  const listed = capability === undefined ? purpose.only_capabilities : [capability];
  if (!Array.isArray(listed) || listed.length === 0) return `use ${joined([...scope])}`;
  const names = listed.filter((each): each is string => typeof each === 'string');
  return joined(names.map((name) => titleOf(name).toLowerCase()));
}

function moneyWords({ currency, max_amount }: Budget): string {
  return max_amount === 0 ? 'with no money' : `with at most ${amountWords(max_amount, currency)}`;
}

function joined(words: readonly string[]): string {
  const more = words.length - NAMED_MAX;
  const named = words.slice(0, NAMED_MAX);
  const last = more > 0 ? `${more} more` : named.pop();
  if (last === undefined) return 'nothing';
  return named.length === 0 ? last : `${named.join(', ')} and ${last}`;
}
