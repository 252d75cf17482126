/**
 * Money: what every admission reserves, every settlement spends and every refund returns, on each token of the
 * lineage.
 *
 * The sums are kept here from the transitions alone. A store that reports other sums has lost or made money.
 *
 * @module
 */

import { toMinor } from '../../../src/domain/values/money.ts';
import type { BudgetState, Charge } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import { broken } from '../broken.ts';
import {
  type Budget,
  type Call,
  closedBy,
  type Executed,
  type Run,
  reconciledBy,
  type Shadow,
  type Subject,
  type Token,
} from './shadow.ts';

export function money(shadow: Shadow): Subject {
  return {
    store: {
      admit: (event) => reserve(shadow, event),
      settle(event) {
        const call = closedBy(shadow, event);
        if (call) spend(shadow, call, event);
      },
      reconcile(event) {
        const call = reconciledBy(shadow, event);
        if (call && event.args[1]) refund(shadow, call, event);
      },
      load({ result: { lineage } }) {
        for (const { token_id, budget } of lineage) compare(shadow, token_id, budget);
      },
      describeToken({ result }) {
        for (const { token_id, budget } of result?.lineage ?? []) compare(shadow, token_id, budget);
      },
    },
    atRest: (store) => compareAll(shadow, store),
  };
}

function reserve(shadow: Shadow, { args: [{ intent }], result }: Executed<'admit'>): void {
  if (!result.admitted) return;
  const call = shadow.calls.get(intent.operation_id) as Call;
  const reported = new Map(result.budgets.map((state) => [state.token_id, state]));
  for (const { id, budget } of call.token.lineage) {
    if (!budget) continue;
    if (call.charge) take(call, call.charge, { id, budget });
    compare(shadow, id, reported.get(id));
  }
}

function take(
  { id: operation }: Call,
  { currency, amount }: Charge,
  { id, budget }: { id: string; budget: Budget },
): void {
  if (budget.currency !== currency) {
    broken('budget', `"${operation}" reserved ${currency} on token "${id}" in ${budget.currency}`);
  }
  budget.reserved += amount;
  const used = budget.reserved + budget.consumed;
  if (used <= budget.max) return;
  broken(
    'budget',
    `"${operation}" makes ${used} spent or reserved of ${budget.max} on token "${id}"`,
  );
}

/** The amount that a settlement takes from the reservation. */
function spentBy({ args: [{ outcome, actual }] }: Executed<'settle'>, reserved: bigint): bigint {
  if (outcome === 'no_effect') return 0n;
  return outcome === 'indeterminate' ? reserved : (actual ?? reserved);
}

function spend(shadow: Shadow, call: Call, event: Executed<'settle'>): void {
  const reserved = call.charge?.amount ?? 0n;
  const spent = spentBy(event, reserved);
  if (spent < 0n || spent > reserved) {
    broken('budget', `operation "${call.id}" spent ${spent} of ${reserved}`);
  }
  refuseUndeserved(shadow, call, event.args[0].outcome === 'no_effect', spent);
  call.consumed = spent;
  move(call, -reserved, spent);
}

/** Returns what was consumed. An operator may say what happened; a handler only what it did. */
function refund(shadow: Shadow, call: Call, { entries }: Executed<'reconcile'>): void {
  const isOperator = entries?.[0]?.entry_type === 'operator';
  if (!isOperator) refuseUndeserved(shadow, call, true, 0n);
  const charged = call.charge?.amount ?? 0n;
  const returned = call.consumed < charged ? call.consumed : charged;
  call.consumed -= returned;
  move(call, 0n, -returned);
}

/** An effect that happened, or may still happen, is paid. */
function refuseUndeserved(shadow: Shadow, call: Call, isFree: boolean, spent: bigint): void {
  let due = 0n;
  for (const run of call.runs) {
    const { phase, role, invocation } = run;
    if (isFree && (phase === 'done' || phase === 'begin')) {
      const state = phase === 'done' ? 'has acted' : 'still runs';
      broken(
        'money-back',
        `operation "${call.id}" got its money back, and "${invocation}" ${state}`,
      );
    }
    if (phase === 'done' && role !== 'compensation') due += costOf(shadow, run);
  }
  const most = call.charge?.amount ?? 0n;
  if (spent < (due < most ? due : most)) {
    broken('money-back', `operation "${call.id}" spent ${spent}, and its effects cost ${due}`);
  }
}

/** What a handler reported, or the fixed price of its capability. */
function costOf({ options }: Shadow, { amount, capability }: Run): bigint {
  if (amount !== undefined) return amount;
  const { certainty, financial } = options.capabilities?.get(capability)?.cost ?? {};
  if (certainty !== 'fixed' || financial?.amount === undefined) return 0n;
  return toMinor(financial.amount, financial.currency) ?? 0n;
}

function move({ token, charge }: Call, reserved: bigint, consumed: bigint): void {
  for (const { budget } of token.lineage) {
    if (!budget || budget.currency !== charge?.currency) continue;
    budget.reserved += reserved;
    budget.consumed += consumed;
  }
}

function compare({ tokens }: Shadow, id: string, state: BudgetState | undefined): void {
  const token = tokens.get(id);
  const budget = token?.budget;
  if (!budget && !state) return;
  if (
    budget?.reserved === state?.reserved &&
    budget?.consumed === state?.consumed &&
    budget?.max === state?.max
  ) {
    return;
  }
  const kept = budget ? textOf(budget) : 'no budget';
  broken(
    'ledger-is-log',
    `token "${id}" has ${state ? textOf(state) : 'no budget'}, its calls give ${kept}`,
  );
}

function textOf({ reserved, consumed, max }: Pick<BudgetState, 'reserved' | 'consumed' | 'max'>) {
  return `${consumed} spent and ${reserved} reserved of ${max}`;
}

async function compareAll(shadow: Shadow, store: Store): Promise<void> {
  const isRoot = (token: Token) => token.lineage.length === 1;
  for (const token of shadow.tokens.values()) {
    if (isRoot(token) && !token.budget) continue;
    const { lineage } = await store.load({ tokenId: token.id });
    for (const { token_id, budget } of lineage) compare(shadow, token_id, budget);
  }
}
