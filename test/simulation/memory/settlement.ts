/**
 * Settlement in the simulated store: closes an admitted call once, and records what became of lost ones.
 *
 * @module
 */

import type { EntryRecord } from '../../../src/domain/log/entry.ts';
import { minorMax } from '../../../src/domain/values/money.ts';
import { equalBytes } from '../../../src/domain/wire/hash.ts';
import type {
  InvocationStore,
  Overrun,
  Settlement,
} from '../../../src/storage/port/invocation-store.ts';
import type {
  ActorEnded,
  BindingRecord,
  Charge,
  IntentRecord,
  RollbackRecord,
} from '../../../src/storage/port/records.ts';
import { freezeKeyText } from './admission.ts';
import { copyOf } from './copy.ts';
import type { CallRow, MemoryDatabase } from './database.ts';
import { keyText, timeOrder } from './table.ts';
import { endedActor, lineageOf } from './tokens.ts';

export function settle(database: MemoryDatabase, settlement: Settlement): 'settled' | 'superseded' {
  const { operation_id, outcome, entry } = settlement;
  const call = database.calls.get(operation_id);
  if (!call) throw new Error(`Cannot settle operation "${operation_id}": it was never admitted`);
  if (call.closed) return call.closed.entry_id === entry.entry_id ? 'settled' : 'superseded';
  if (outcome !== 'indeterminate' && !holdsLeases(database, call)) return 'superseded';

  const consumed = consumedBy(settlement, call.reserved ?? 0n);
  const { entry_id } = entry;
  database.calls.put(operation_id, {
    ...call,
    closed: { outcome, consumed, entry_id, isReconciled: false },
  });
  moveMoney(database, call, -(call.reserved ?? 0n), consumed);
  if (!(settlement.stillRuns && outcome === 'indeterminate')) release(database, operation_id);
  for (const binding of settlement.bindings) insertBinding(database, binding);
  if (settlement.rollback) keepWindow(database, settlement.rollback);
  if (settlement.answer) keepAnswer(database, call, settlement.answer);
  database.log.append(entry);
  if (settlement.overrun) addOverrun(database, settlement.overrun);
  return 'settled';
}

/** The reservation is spent as far as the outcome says. */
function consumedBy({ operation_id, outcome, actual }: Settlement, reserved: bigint): bigint {
  if (actual !== undefined && (actual < 0n || actual > reserved)) {
    throw new Error(`Cannot settle operation "${operation_id}": spent ${actual} of ${reserved}`);
  }
  if (outcome === 'no_effect') return 0n;
  return outcome === 'indeterminate' ? reserved : (actual ?? reserved);
}

/** Changes every budget from which the call's charge was taken. */
function moveMoney(
  database: MemoryDatabase,
  { intent }: CallRow,
  reserved: bigint,
  consumed: bigint,
): void {
  if (reserved === 0n && consumed === 0n) return;
  for (const row of lineageOf(database, intent.token_id)) {
    if (!row.budget) continue;
    const budget = {
      ...row.budget,
      reserved: row.budget.reserved + reserved,
      consumed: row.budget.consumed + consumed,
    };
    if (budget.reserved < 0n || budget.consumed < 0n) {
      throw new Error(`Cannot change the budget of "${row.token.token_id}": it would be negative`);
    }
    database.tokens.put(row.token.token_id, { ...row, budget });
  }
}

function keepAnswer({ keys }: MemoryDatabase, { key, intent }: CallRow, answer: Uint8Array): void {
  const row = key === undefined ? undefined : keys.get(key);
  if (key === undefined || row?.record.operation_id !== intent.operation_id) return;
  keys.put(key, { ...row, record: { ...row.record, answer: copyOf(answer) } });
}

export function append(
  database: MemoryDatabase,
  ...[entries, bindings = [], overrun, isRepeat = false]: Parameters<InvocationStore['append']>
): void {
  const added = isRepeat ? entries.filter((entry) => !isStored(database, entry)) : entries;
  for (const entry of added) database.log.append(entry);
  // A repetition: the bindings and the overrun are stored with the entries.
  if (added.length === 0 && entries.length > 0) return;
  for (const binding of bindings) {
    if (!database.bindings.get(binding.binding_id)) insertBinding(database, binding);
  }
  if (overrun) addOverrun(database, overrun);
}

/** Whether this very entry is in the log. Another entry with its id is a defect. */
function isStored({ log }: MemoryDatabase, { entry_id, leaf_hash }: EntryRecord): boolean {
  const index = log.indexOf(entry_id);
  const stored = index === undefined ? undefined : log.entries[index];
  if (!stored) return false;
  if (equalBytes(stored.leaf_hash, leaf_hash)) return true;
  throw new Error(`Cannot append entry "${entry_id}": another entry has this id`);
}

/** Debt on every token of the lineage, and the freeze with its entry. */
export function addOverrun(database: MemoryDatabase, overrun: Overrun): void {
  const { token_id, debt, freeze } = overrun;
  if (debt) {
    for (const { token } of lineageOf(database, token_id)) addDebt(database, token.token_id, debt);
  }
  if (freeze) {
    database.freezes.put(freezeKeyText(freeze.record), copyOf(freeze.record));
    database.log.append(freeze.entry);
  }
}

function addDebt({ debts }: MemoryDatabase, token_id: string, { currency, amount }: Charge): void {
  const key = keyText(token_id, currency);
  const sum = (debts.get(key)?.amount ?? 0n) + amount;
  const most = minorMax(currency);
  debts.put(key, { token_id, currency, amount: sum < most ? sum : most });
}

export function insertBinding({ bindings }: MemoryDatabase, binding: BindingRecord): void {
  bindings.insert(binding.binding_id, copyOf(binding));
}

/** Of several windows the latest counts. */
export function keepWindow({ rollbacks }: MemoryDatabase, rollback: RollbackRecord): void {
  const { capability, root_principal, digest, until } = rollback;
  const key = keyText(capability, root_principal, digest);
  const before = rollbacks.get(key);
  if (!before || before < until) rollbacks.put(key, copyOf(until));
}

/** An expired lease is held until another call takes it. */
function holdsLeases({ leases }: MemoryDatabase, { leased, intent }: CallRow): boolean {
  return leased.every((token) => leases.get(token)?.operation_id === intent.operation_id);
}

export function renewLeases(
  database: MemoryDatabase,
  ...[operationId, until]: Parameters<InvocationStore['renewLeases']>
): boolean {
  const call = database.calls.get(operationId);
  if (!call?.isRunning || !holdsLeases(database, call)) return false;
  for (const token of call.leased) {
    database.leases.put(token, { operation_id: operationId, until: copyOf(until) });
  }
  return true;
}

export function busyUntil(
  { leases }: MemoryDatabase,
  ...[tokenIds, now]: Parameters<InvocationStore['busyUntil']>
): Date | undefined {
  const ends = tokenIds.map((id) => leases.get(id)?.until.getTime() ?? 0);
  const last = Math.max(0, ...ends);
  return last > now.getTime() ? new Date(last) : undefined;
}

/** Releases the leases that the call still holds, and its steps. */
export function release(database: MemoryDatabase, operationId: string): void {
  const call = database.calls.get(operationId);
  if (!call) return;
  for (const token of call.leased) {
    if (database.leases.get(token)?.operation_id === operationId) database.leases.remove(token);
  }
  database.calls.put(operationId, { ...call, isRunning: false, composed: undefined, steps: [] });
}

export function reconcile(
  database: MemoryDatabase,
  now: Date,
  ...[invocationId, refund, entry, { actor, overrun } = {}]: Parameters<
    InvocationStore['reconcile']
  >
): IntentRecord | undefined | ActorEnded {
  const ended = endedActor(database, actor, now);
  if (ended) return ended;
  const call = unknownCalls(database).find(({ intent }) => intent.invocation_id === invocationId);
  if (!call?.closed) return undefined;

  const { intent, closed } = call;
  const charged = intent.charge?.amount ?? 0n;
  const most = closed.consumed < charged ? closed.consumed : charged;
  const returned = refund ? most : 0n;
  moveMoney(database, call, 0n, -returned);
  database.calls.put(intent.operation_id, {
    ...call,
    closed: { ...closed, consumed: closed.consumed - returned, isReconciled: true },
  });
  database.log.append(entry(copyOf(intent)));
  if (overrun) addOverrun(database, overrun);
  emptyErased(database, intent.operation_id);
  return copyOf(intent);
}

/** Calls that are settled as indeterminate and not reconciled, oldest first. */
export function unknownCalls({ calls }: MemoryDatabase): CallRow[] {
  return Array.from(calls.values())
    .filter(({ closed }) => closed?.outcome === 'indeterminate' && !closed.isReconciled)
    .sort(olderFirst);
}

export function olderFirst({ intent: one }: CallRow, { intent: other }: CallRow): number {
  return timeOrder(one.admitted_at, other.admitted_at, [one.operation_id, other.operation_id]);
}

/** Empties the intent of a closed call as far as its entry is erased. An unknown outcome keeps it. */
export function emptyErased({ calls, log }: MemoryDatabase, operationId: string): void {
  const call = calls.get(operationId);
  if (!call?.closed) return;
  const { outcome, isReconciled, entry_id } = call.closed;
  if (outcome === 'indeterminate' && !isReconciled) return;
  const entry = log.entries[log.indexOf(entry_id) ?? -1];
  if (!entry || entry.personal) return;
  const personal = { subject: '', root_principal: '', facts: {} };
  const contents = entry.leaf ? {} : { capability: '', invocation_id: '' };
  calls.put(operationId, { ...call, intent: { ...call.intent, ...personal, ...contents } });
}
