/**
 * Every row of authority and money in the simulated store, for fsck.
 *
 * @module
 */

import type { StoredEntry } from '../../../src/domain/log/entry.ts';
import type { ErasedCalls, LedgerSight } from '../../../src/storage/port/ledger-store.ts';
import { copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { unknownCalls } from './settlement.ts';
import { textOrder } from './table.ts';

/** No row is unreadable here: only transitions write rows. */
export function readLedger(database: MemoryDatabase, from: number, see: LedgerSight): void {
  const { log, tokens } = database;
  for (const entry of log.entries.slice(log.indexFrom(from))) see.entry(copyOf(entry));
  see.erased(erasedCalls(database));
  readCalls(database, see);
  for (const { token, revoked_at, budget, children } of tokens.values()) {
    const parent = tokens.get(token.parent_token_id ?? '')?.token;
    see.token({ token, parent, revoked_at: copyOf(revoked_at), budget: copyOf(budget), children });
  }
  for (const debt of database.debts.values()) see.debt(copyOf(debt));
  for (const request of database.requests.values()) see.request(copyOf(request));
  for (const grant of database.grants.values()) see.grant(copyOf(grant));
  for (const freeze of database.freezes.values()) see.freeze(copyOf(freeze));
  for (const passkey of database.passkeys.values()) see.passkey(copyOf(passkey));
  for (const identity of database.identities.values()) see.identity(copyOf(identity));
}

function erasedCalls({ log, calls }: MemoryDatabase): ErasedCalls {
  const erased = new Set(log.entries.filter(({ leaf }) => !leaf).map(({ entry_id }) => entry_id));
  const spent = new Map<string, bigint>();
  for (const { intent, closed } of calls.values()) {
    if (!closed || closed.consumed === 0n || !erased.has(closed.entry_id)) continue;
    spent.set(intent.token_id, (spent.get(intent.token_id) ?? 0n) + closed.consumed);
  }
  return {
    entries: erased.size,
    spent: Array.from(spent, ([token_id, amount]) => ({ token_id, amount })).sort((one, other) =>
      textOrder(one.token_id, other.token_id),
    ),
  };
}

function readCalls(database: MemoryDatabase, see: LedgerSight): void {
  for (const { intent, reserved = 0n, closed } of database.calls.values()) {
    if (closed) continue;
    const { operation_id, token_id, facts } = intent;
    const { approval_grant_id } = facts;
    const grant_id = typeof approval_grant_id === 'string' ? approval_grant_id : undefined;
    see.openCall({ operation_id, token_id, reserved, grant_id });
  }
  for (const { intent, closed } of unknownCalls(database)) {
    const { operation_id, invocation_id, token_id, charge } = intent;
    const money = { amount: charge?.amount ?? 0n, consumed: closed?.consumed ?? 0n };
    see.unknownCall({
      operation_id,
      invocation_id,
      token_id,
      currency: charge?.currency ?? null,
      ...money,
    });
  }
  for (const { intent, reserved = 0n, closed } of database.calls.values()) {
    const { invocation_id, token_id } = intent;
    if (closed) see.closedCall({ invocation_id, token_id, reserved, ...closed });
  }
  for (const { record } of database.keys.values()) {
    if (isOfEndedLog(database, record.operation_id)) see.oldKey(record.operation_id);
  }
}

/** Whether the call was closed in a log before the current one. */
function isOfEndedLog({ calls, log }: MemoryDatabase, operationId: string): boolean {
  const entryId = calls.get(operationId)?.closed?.entry_id;
  const index = entryId === undefined ? undefined : log.indexOf(entryId);
  if (index === undefined) return false;
  return (log.entries[index] as StoredEntry).sequence < (log.origins.at(-1)?.first ?? 0);
}
