/**
 * Budgets: ceilings that a child raises, amounts that are no amounts, and, with effects, spending beyond them.
 *
 * @module
 */

import type { Case } from '../case.ts';
import { field, numberAt, textAt } from '../target/fields.ts';
import {
  type Attempt,
  broken,
  count,
  eachAttempt,
  held,
  noneAccepted,
  notApplicable,
  type Outcome,
} from '../target/outcome.ts';
import { declaredPrice } from '../target/service.ts';
import { NO_ANSWER } from '../target/wire.ts';
import {
  answerSummary,
  childOf,
  delegate,
  hasRun,
  invokeOnce,
  issueAs,
  ONE_HOUR,
  type PaidCall,
  paidCall,
  rootRequest,
  type Token,
  tokenIn,
  tokenOf,
  type World,
} from '../target/world.ts';

const CEILING = 10;

const NARROWS = 'Tokens rule 4: budget only narrows';

/** A currency that the service uses, so that a refusal is about the amount. */
function currencyOf({ service }: World): string {
  const prices = service.capabilities.map(declaredPrice);
  return prices.find((price) => price !== undefined)?.currency ?? 'USD';
}

function otherCurrency(currency: string): string {
  return currency === 'EUR' ? 'USD' : 'EUR';
}

/** A token with a budget, and a request for a child of it, to which a case adds what it tries. */
async function parentWithCeiling(world: World) {
  const currency = currencyOf(world);
  const parent = await tokenOf(world, world.self, { budget: { currency, max_amount: CEILING } });
  const { scope, id: parent_token } = parent;
  const request = { scope, subject: 'agent:writ-attack', parent_token, ...ONE_HOUR };
  return { currency, parent, request };
}

/** Texts of JSON numbers and other values in the place of an amount. */
const AMOUNTS = [
  '-1',
  '"1000000"',
  '"NaN"',
  'null',
  'true',
  '[]',
  '{}',
  '1e400',
  '"Infinity"',
  '0.000001',
];

function budgetBody(request: object, currency: string, amount: string): string {
  const rest = JSON.stringify(request).slice(1);
  return `{"budget":{"currency":${JSON.stringify(currency)},"max_amount":${amount}},${rest}`;
}

/** The ceiling in an answer that issued a token; undefined where it shows none. */
function ceilingIn(token: Token): number | undefined {
  return numberAt(token.answer, 'budget', 'max_amount');
}

function hasCeiling({ answer }: Token): boolean {
  const amount = field(answer, 'budget', 'max_amount');
  return amount !== undefined && amount !== null;
}

/** Calls that race for money at once. */
const RACERS = 6;

/** How many of the calls ran, as an outcome of "at most so many". */
function atMost(limit: number, attempts: readonly Attempt[]): Outcome {
  const ran = attempts.filter(({ answer }) => hasRun(answer)).length;
  const others = attempts.filter(({ answer }) => !hasRun(answer));
  if (ran > limit)
    return broken(`${ran} of ${attempts.length} calls ran, and the budget pays for ${limit}`);
  if (ran === 0)
    return notApplicable(`no call ran (${answerSummary(others[0]?.answer ?? NO_ANSWER)})`);
  return held(`${ran} of ${count(attempts.length, 'call')} ran`);
}

function raced(world: World, tokens: readonly Token[], call: PaidCall): Promise<Attempt[]> {
  return Promise.all(
    tokens.map(async (token) => ({ what: 'a call', answer: await invokeOnce(world, token, call) })),
  );
}

/** Whole where it can be: a currency may have no smaller unit. */
function lessThan(price: number): number {
  return price > 1 ? Math.max(1, Math.floor(price / 2)) : price / 2;
}

async function budgeted(
  world: World,
  call: PaidCall,
  max_amount: number,
  currency = call.price.currency,
) {
  return tokenOf(world, world.self, { scope: call.scopes, budget: { currency, max_amount } });
}

const ENFORCED = 'Budget enforcement: before the handler runs, no post-execution overspend';

const harmless: readonly Case[] = [
  {
    id: 'budgets.higher-child',
    tries: 'A child with a higher budget than its parent: by one, by a cent, by a large number.',
    holds: 'No child has a higher ceiling than its parent.',
    basis: NARROWS,
    async run(world) {
      const { currency, parent } = await parentWithCeiling(world);
      const amounts = [CEILING + 1, CEILING + 0.01, 1e15, Number.MAX_SAFE_INTEGER];
      const attempts = await eachAttempt(amounts, async (max_amount) => ({
        what: `a child with ${max_amount} under a parent with ${CEILING}`,
        answer: await delegate(world, parent, { budget: { currency, max_amount } }),
      }));
      return noneAccepted(attempts, (answer) => {
        const child = tokenIn(answer);
        return child !== undefined && (ceilingIn(child) ?? 0) > CEILING;
      });
    },
  },
  {
    id: 'budgets.child-currency',
    tries: 'A child with a budget in another currency than its parent.',
    holds: 'No child has another currency.',
    basis: 'Tokens rule 4: currency must match',
    async run(world) {
      const { currency, parent } = await parentWithCeiling(world);
      const names = [
        otherCurrency(currency),
        currency.toLowerCase(),
        `${currency} `,
        '',
        '__proto__',
      ];
      const attempts = await eachAttempt(names, async (name) => ({
        what: `the currency ${JSON.stringify(name)}`,
        answer: await delegate(world, parent, { budget: { currency: name, max_amount: 1 } }),
      }));
      return noneAccepted(attempts, (answer) => {
        const child = tokenIn(answer);
        return child !== undefined && textAt(child.answer, 'budget', 'currency') !== currency;
      });
    },
  },
  {
    id: 'budgets.strange-amounts',
    tries:
      'Root tokens with budgets that are no amounts: below zero, text, null, beyond every number.',
    holds:
      'The service refuses each, or the token has a ceiling: a budget that cannot be read is never dropped.',
    basis: 'Budget: max_amount is a number, required',
    async run(world) {
      const currency = currencyOf(world);
      const { scope } = await tokenOf(world, world.self);
      for (const amount of AMOUNTS) {
        const body = budgetBody(rootRequest(world.self, scope), currency, amount);
        const token = tokenIn(await issueAs(world, world.self.credential, body));
        if (token && !hasCeiling(token))
          return broken(`a token with max_amount ${amount} has no ceiling`);
      }
      return held(`${AMOUNTS.length} amounts, no token without a ceiling`);
    },
  },
  {
    id: 'budgets.strange-child-amounts',
    tries:
      'Children with such budgets under a parent that has one, and with null or a list in its place.',
    holds: 'No child shows a ceiling above that of its parent.',
    basis: NARROWS,
    async run(world) {
      const { currency, parent, request } = await parentWithCeiling(world);
      const bodies = [
        ...AMOUNTS.map((amount) => budgetBody(request, currency, amount)),
        ...['null', '[]', '0', '""', '{}'].map(
          (budget) => `{"budget":${budget},${JSON.stringify(request).slice(1)}`,
        ),
      ];
      const attempts = await eachAttempt(bodies, async (body) => ({
        what: body.slice(1, 60),
        answer: await issueAs(world, parent.jwt, body),
      }));
      return noneAccepted(attempts, (answer) => {
        const child = tokenIn(answer);
        return child !== undefined && (ceilingIn(child) ?? 0) > CEILING;
      });
    },
  },
  {
    id: 'budgets.second-budget',
    tries: 'A request for a child that names its budget twice, and under other names.',
    holds: 'No child has a higher ceiling than its parent.',
    basis: NARROWS,
    async run(world) {
      const { currency, parent, request } = await parentWithCeiling(world);
      const high = `{"currency":"${currency}","max_amount":1000000}`;
      const low = `{"currency":"${currency}","max_amount":1}`;
      const rest = JSON.stringify(request).slice(1);
      const bodies = [
        `{"budget":${low},"budget":${high},${rest}`,
        `{"budget":${high},"budget":${low},${rest}`,
        `{"constraints":{"budget":${high}},${rest}`,
        `{"__proto__":{"budget":${high}},${rest}`,
      ];
      const attempts = await eachAttempt(bodies, async (body) => ({
        what: body.slice(0, 40),
        answer: await issueAs(world, parent.jwt, body),
      }));
      return noneAccepted(attempts, (answer) => {
        const child = tokenIn(answer);
        const claimed = child && numberAt(field(child.answer, 'budget'), 'max_amount');
        return (claimed ?? 0) > CEILING;
      });
    },
  },
];

const withEffects: readonly Case[] = [
  {
    id: 'budgets.exceeded',
    tries: 'A call that costs more than the budget of its token.',
    holds: 'The service refuses it before the handler.',
    basis: `${ENFORCED}; fixed cost: budget_exceeded`,
    hasEffects: true,
    async run(world) {
      const call = paidCall(world);
      const token = await budgeted(world, call, lessThan(call.price.amount));
      const answer = await invokeOnce(world, token, call);
      return noneAccepted([{ what: `"${call.capability}" beyond the budget`, answer }], hasRun);
    },
  },
  {
    id: 'budgets.other-currency',
    tries: 'A call under a large budget in another currency than its price.',
    holds: 'The service refuses it.',
    basis: 'Budget enforcement: budget_currency_mismatch',
    hasEffects: true,
    async run(world) {
      const call = paidCall(world);
      const token = await budgeted(world, call, 1_000_000, otherCurrency(call.price.currency));
      const answer = await invokeOnce(world, token, call);
      return noneAccepted([{ what: `"${call.capability}" in another currency`, answer }], hasRun);
    },
  },
  {
    id: 'budgets.forged-price',
    tries: 'A call beyond the budget whose parameters and body name a price of zero.',
    holds: 'The service refuses it: a price in the parameters of the caller means nothing.',
    basis: ENFORCED,
    hasEffects: true,
    async run(world) {
      const call = paidCall(world);
      const token = await budgeted(world, call, lessThan(call.price.amount));
      const free = {
        price: 0,
        amount: 0,
        cost: 0,
        cost_actual: { currency: call.price.currency, amount: 0 },
      };
      const forged = { ...call, parameters: { ...call.parameters, ...free } };
      const attempts = [
        { what: 'a price in the parameters', answer: await invokeOnce(world, token, forged) },
        { what: 'a price in the body', answer: await invokeOnce(world, token, call, free) },
      ];
      return noneAccepted(attempts, hasRun);
    },
  },
  {
    id: 'budgets.race',
    tries: `${RACERS} calls at once on a token whose budget pays for one.`,
    holds: 'At most one runs.',
    basis: `${ENFORCED}; constraints.budget is a spend ceiling`,
    hasEffects: true,
    async run(world) {
      const call = paidCall(world);
      const token = await budgeted(world, call, call.price.amount);
      return atMost(
        1,
        await raced(
          world,
          Array.from({ length: RACERS }, () => token),
          call,
        ),
      );
    },
  },
  {
    id: 'budgets.siblings',
    tries: 'Two children at once, each with the whole budget of a parent that pays for one call.',
    holds: 'At most one call runs.',
    basis: 'Tokens rule 4: budget only narrows; constraints.budget is a spend ceiling',
    hasEffects: true,
    async run(world) {
      const call = paidCall(world);
      const parent = await budgeted(world, call, call.price.amount);
      const subjects = ['agent:writ-attack-1', 'agent:writ-attack-2'];
      const children: Token[] = [];
      for (const subject of subjects) children.push(await childOf(world, parent, { subject }));
      return atMost(1, await raced(world, children, call));
    },
  },
];

export const budgetCases: readonly Case[] = [...harmless, ...withEffects];

/** Calls of the paid capability that a run makes at most, if the service enforces nothing. */
export const PAID_CALLS_MAX = 1 + 1 + 2 + RACERS + 2;
