/**
 * The people and agents behind a request: through whose hands the authority came, whose budgets pay, and what was
 * decided before.
 *
 * @module
 */

import type { BudgetView } from '../../protocol/console/views.ts';
import type { BudgetAfter, Decision, Hand, HistoryItem } from '../../protocol/decision.ts';
import type { Money } from '../../protocol/primitives.ts';
import { hasKnownBudgets, namesWords } from './claims.ts';
import { empty, type Fact, marked, type PartFacts, type Words } from './pieces.ts';
import { countOf, digitsOf, personOf } from './values.ts';
import { isHeld, titleOfCall } from './words.ts';

const HAND_STATES = {
  active: ['pill good', 'Active'],
  expired: ['pill off', 'Expired'],
  revoked: ['pill bad', 'Revoked'],
  unknown: ['pill warn', 'Not known'],
} as const;

export function handsPart({ chain, viewer }: Decision): PartFacts {
  return {
    title: ['Who asks'],
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

/** A budget in numbers: spent, held, this call, left. */
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

/** What a call takes from a budget; only held where the price is not known before it runs. */
export interface CallMoney extends Money {
  readonly isHeld: boolean;
}

export function callMoney({ cost, capability }: Decision): CallMoney | undefined {
  return cost ? { ...cost, isHeld: isHeld(capability) } : undefined;
}

export function budgetFacts(of: BudgetView, cost: CallMoney | undefined): BudgetFacts {
  const { currency, max, spent, reserved, left } = of;
  const next = cost?.currency === currency ? cost.amount : 0;
  return {
    limit: { amount: max, currency },
    next,
    cells: [
      { name: 'Spent', look: 'spent', amount: spent },
      ...(reserved > 0 ? [{ name: 'Held', look: 'held', amount: reserved }] : []),
      ...(next > 0
        ? [{ name: cost?.isHeld ? 'Held for this call' : 'This call', look: 'next', amount: next }]
        : []),
      next > 0
        ? { name: 'Left after', amount: roundedSum(left, -next) }
        : { name: 'Left', amount: left },
    ],
  };
}

/** Amounts have at most four decimals; the sum of two doubles may show more. */
export function roundedSum(left: number, right: number): number {
  return Math.round((left + right) * 10_000) / 10_000;
}

/** Why a call takes no amount that is known. */
export function unpricedWords({ capability }: Decision): string {
  const isFree = capability !== null && capability.cost?.financial === undefined;
  return isFree ? 'The call itself costs nothing' : 'What it takes is not known beforehand';
}

/** A token and its parent may have the same holder and the same numbers: that is one budget to a reader. */
export function distinctBudgets({ budgets }: Decision): BudgetAfter[] {
  const text = ({ token_id, ...shown }: BudgetAfter) => JSON.stringify(shown);
  return budgets.filter((each, at) => {
    const before = budgets[at - 1];
    return before === undefined || text(before) !== text(each);
  });
}

/** The facts are the budgets, with what each means for the call. A page draws the numbers of `budgetFacts`. */
export function budgetsPart(of: Decision): PartFacts {
  const { cost, capability } = of;
  const budgets = distinctBudgets(of);
  const isKnown = hasKnownBudgets(of);
  return {
    title: [budgets.length === 1 ? 'Budget after it' : 'Budgets after it'],
    aside:
      cost && isHeld(capability)
        ? ['until the price is known, ', { money: cost }, ' is held']
        : undefined,
    lead: [
      ...(isKnown ? [] : [empty('Not known: the token by which the agent asked cannot be read.')]),
      ...(budgets.length === 0 && isKnown ? [empty('No budget limits this call.')] : []),
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
    after: cost === null ? [marked('p', `${unpricedWords(of)}.`, 'small muted')] : [],
  };
}

/** The numbers of a budget as text, in the order in which a page draws them. */
export function budgetWords({ limit, cells }: BudgetFacts): Words {
  const { currency } = limit;
  const numbers = cells.map(({ name, amount }) => `${name} ${digitsOf({ amount, currency })}`);
  return ['of ', { money: limit }, marked('p', numbers.join('  '))];
}

export function historyPart(of: Decision): PartFacts {
  const { history, request } = of;
  const { items, is_complete } = history;
  const isFirst = items.length === 0 && is_complete;
  const count = `${is_complete ? '' : 'more than '}${countOf(items.length, 'time')}`;
  const none: Words = isFirst
    ? [{ shown: personOf(request.requester.subject) }, ' asks for this for the first time.']
    : ['Not known: the earlier requests were not read.'];
  return {
    title: ['Asked before'],
    aside:
      items.length === 0
        ? undefined
        : [is_complete ? `${count}, all shown` : `${count}, the newest are shown`],
    lead: items.length === 0 ? [marked('p', none, 'muted')] : [],
    facts: items.map((item) => pastFact(of, item)),
  };
}

function pastFact({ request, capability, viewer }: Decision, item: HistoryItem): Fact {
  const { parameters, cost } = item;
  const name = request.capability;
  return {
    label: [
      { request: item.approval_request_id, of: [{ ago: item.created_at }] },
      parameters
        ? marked('details', [
            marked('summary', [
              marked('span', titleOfCall({ name, capability, parameters, cost })),
            ]),
            { json: parameters },
          ])
        : marked(
            'p',
            [
              ...(cost ? [{ money: cost }, ', '] : []),
              'parameters too large to be repeated here; that request has them',
            ],
            'small',
          ),
    ],
    words: outcomeWords(item, viewer.principal),
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
