/**
 * The people and agents behind a request: through whose hands the authority came, whose budgets pay, and what was
 * decided before.
 *
 * @module
 */

import type { BudgetView } from '../../protocol/console/views.ts';
import type { Decision, Hand, HistoryItem } from '../../protocol/decision.ts';
import type { Money } from '../../protocol/primitives.ts';
import { namesWords } from './changes.ts';
import { hasKnownBudgets } from './claims.ts';
import { empty, type Fact, marked, type PartFacts, type Piece, type Words } from './pieces.ts';
import { countOf, digitsOf, personOf } from './values.ts';

const HAND_STATES = {
  active: ['pill good', 'Active'],
  expired: ['pill off', 'Expired'],
  revoked: ['pill bad', 'Revoked'],
  unknown: ['pill warn', 'Not known'],
} as const;

export function handsPart({ chain, viewer }: Decision): PartFacts {
  return {
    title: ['Through whose hands'],
    aside: ['from the person to the agent'],
    facts: chain.map((hand) => handFact(hand, viewer.principal)),
  };
}

function handFact({ principal, client_name, purpose, state, token_id }: Hand, me: string): Fact {
  const [look, words] = HAND_STATES[state];
  return {
    label: [marked('b', [{ shown: personOf(principal) }])],
    words: [
      ...(principal === me ? [marked('small', 'you'), ' '] : []),
      ...(token_id === null ? [] : [marked('span', words, look), ' ']),
      ...(client_name === null
        ? []
        : [marked('small', ['calls itself ', marked('q', [{ shown: client_name }], 'claimed')])]),
      ...(purpose === null || Object.keys(purpose).length === 0
        ? []
        : [marked('p', ['Purpose: ', { json: purpose }], 'small')]),
    ],
  };
}

/** A budget in numbers: spent, reserved, this call, left. */
export interface BudgetFacts {
  readonly limit: Money;
  /** Of the call under decision. One in another currency takes nothing from this budget. */
  readonly next: number;
  readonly cells: readonly BudgetCell[];
}

export interface BudgetCell {
  readonly name: string;
  readonly look?: string;
  readonly amount: number;
}

export function budgetFacts(of: BudgetView, cost: Money | undefined): BudgetFacts {
  const { currency, max, spent, reserved, left } = of;
  const next = cost?.currency === currency ? cost.amount : 0;
  return {
    limit: { amount: max, currency },
    next,
    cells: [
      { name: 'Spent', look: 'spent', amount: spent },
      { name: 'Reserved', look: 'held', amount: reserved },
      ...(next > 0 ? [{ name: 'This call, at most', look: 'next', amount: next }] : []),
      next > 0
        ? { name: 'Left after', amount: roundedDifference(left, next) }
        : { name: 'Left', amount: left },
    ],
  };
}

/** Amounts have at most four decimals; the difference of two doubles may show more. */
function roundedDifference(left: number, right: number): number {
  return Math.round((left - right) * 10_000) / 10_000;
}

/** The facts are the budgets, with what each means for the call. A page draws the numbers of `budgetFacts`. */
export function budgetsPart(of: Decision): PartFacts {
  const { budgets, cost } = of;
  const isKnown = hasKnownBudgets(of);
  return {
    title: [budgets.length === 1 ? 'The budget after this call' : 'Budgets after this call'],
    aside: cost ? ['the call takes at most ', { money: cost }] : undefined,
    lead: [
      ...(isKnown ? [] : [empty('Not known: the token by which the agent asked cannot be read.')]),
      ...(budgets.length === 0 && isKnown
        ? [empty('No budget limits this call. A limit is set when authority is given to an agent.')]
        : []),
    ],
    facts: budgets.map((budget) => ({
      label: [marked('b', [{ shown: personOf(budget.principal) }])],
      words: [
        ...((budget.left_after ?? 0) < 0
          ? [marked('p', 'The call does not fit into this budget: it would be refused.', 'bad')]
          : []),
        ...(cost && cost.currency !== budget.currency
          ? [marked('p', 'This budget is in another currency than the call.', 'small muted')]
          : []),
      ],
    })),
    after:
      cost === null
        ? [marked('p', 'What the call takes is not known beforehand.', 'small muted')]
        : [],
  };
}

/** The numbers of a budget as text, in the order in which a page draws them. */
export function budgetWords({ limit, cells }: BudgetFacts): Words {
  const { currency } = limit;
  const numbers = cells.map(({ name, amount }) => `${name} ${digitsOf({ amount, currency })}`);
  return ['limit ', { money: limit }, marked('p', numbers.join('  '))];
}

export function historyPart(of: Decision): PartFacts {
  const { history, request, viewer } = of;
  const { items, is_complete } = history;
  const agent: Piece = { shown: personOf(request.requester.subject) };
  const isFirst = items.length === 0 && is_complete;
  const count = `${is_complete ? '' : 'more than '}${countOf(items.length, 'time')} before`;
  const title = isFirst ? ['First request of ', agent] : [agent, ` asked ${count}`];
  const none = isFirst
    ? 'It has not asked for this capability before.'
    : 'Not known: the earlier requests were not read.';
  return {
    title,
    aside: is_complete || items.length === 0 ? undefined : ['The newest; there are older ones'],
    lead: items.length === 0 ? [empty(none)] : [],
    facts: items.map((item) => pastFact(item, viewer.principal)),
  };
}

function pastFact(item: HistoryItem, me: string): Fact {
  const cost: Words = item.cost ? [{ money: item.cost }, ', '] : [];
  const { parameters } = item;
  return {
    label: [
      { request: item.approval_request_id, of: [{ ago: item.created_at }] },
      parameters
        ? marked('details', [
            marked('summary', [...cost, countOf(Object.keys(parameters).length, 'parameter')]),
            { json: parameters },
          ])
        : marked(
            'p',
            [...cost, 'parameters too large to be repeated here; that request has them'],
            'small',
          ),
    ],
    words: outcomeWords(item, me),
  };
}

const OUTCOMES = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  pending: 'Not decided',
};

function outcomeWords({ status, decided_by, reason }: HistoryItem, me: string): Words {
  const by = namesWords(decided_by, me);
  return [
    OUTCOMES[status],
    ...(by === '' ? [] : [' by ', { shown: by }]),
    ...(reason === null ? [] : [': ', marked('q', [{ shown: reason }])]),
  ];
}
