/**
 * Settlement in SQLite: closes an admitted call once, and reconciles calls of unknown outcome.
 *
 * A call's reservation is on every budget of its token's lineage, and each budget changes by the same amount;
 * a lineage never changes, so the call does not store it. The intent stores what was consumed, because a
 * refund returns that.
 *
 * @module
 */

import { keepsLeases, refundOf, spentBy } from '../../../domain/invocation/settlement.ts';
import type { EntryRecord } from '../../../domain/log/entry.ts';
import { equalBytes } from '../../../domain/wire/hash.ts';
import { eraseLate } from '../../log/erase.ts';
import type { InvocationStore, Overrun, Settlement } from '../../port/invocation-store.ts';
import type { ActorEnded, IntentRecord } from '../../port/records.ts';
import type { Sql } from '../../sql/sql.ts';
import { TO_RECONCILE } from '../../stories/calls.ts';
import { insertRollback } from '../../stories/compositions.ts';
import { insertOverrun } from '../../stories/overruns.ts';
import type { Connection } from '../connection.ts';
import type { LogWriter } from '../log/writer.ts';
import { BINDINGS, insert } from '../rows.ts';
import { atOnce } from '../sql.ts';
import { endedActor } from '../tokens.ts';
import type { BatchTokens, BudgetChange } from './batch-tokens.ts';

/** The token and the currency that a call is charged on. */
interface Charged {
  readonly token_id: string;
  readonly charge_currency: string | null;
}

/** What a change of a call is written with: its entry, and the budgets of its token. */
export interface CallWriters {
  readonly log: LogWriter;
  readonly tokens: BatchTokens;
  /** For what a story writes, too. */
  readonly sql: Sql;
}

interface OpenIntent extends Charged {
  readonly reserved: bigint | null;
  readonly leases: bigint;
  readonly composed: bigint;
  readonly state: 'admitted' | 'settled';
  readonly entry_id: string | null;
}

export function settle(
  connection: Connection,
  { log, tokens, sql }: CallWriters,
  settlement: Settlement,
): 'settled' | 'superseded' {
  const { operation_id, outcome, entry } = settlement;
  const intent = readIntent(connection, operation_id);
  if (!intent) throw new Error(`Cannot settle operation "${operation_id}": it was never admitted`);
  if (intent.state === 'settled') {
    return intent.entry_id === entry.entry_id ? 'settled' : 'superseded';
  }
  if (outcome !== 'indeterminate' && !holdsLeases(connection, operation_id, intent)) {
    return 'superseded';
  }

  const holds = intent.leases > 0n || intent.composed > 0n;
  if (holds && !keepsLeases(settlement)) release(connection, operation_id);
  const consumed = consumedBy(settlement, intent.reserved);
  close(connection, settlement, consumed);
  moveMoney(tokens, intent, { reserved: -(intent.reserved ?? 0n), consumed });
  if (settlement.rollback) atOnce(insertRollback(sql, settlement.rollback));
  for (const binding of settlement.bindings) insert(connection, BINDINGS, binding);
  if (settlement.answer) keepAnswer(connection, operation_id, settlement.answer);
  log.append(entry);
  if (settlement.overrun) overrunBy(tokens, sql, settlement.overrun);
  return 'settled';
}

export function append(
  connection: Connection,
  { log, tokens, sql }: CallWriters,
  ...[entries, bindings = [], overrun, isRepeat = false]: Parameters<InvocationStore['append']>
): void {
  const added = isRepeat ? entries.filter((entry) => !isStored(log, entry)) : entries;
  for (const entry of added) log.append(entry);
  // A repetition: the bindings and the overrun are stored with the entries.
  if (added.length === 0 && entries.length > 0) return;
  for (const binding of bindings) insert(connection, BINDINGS, binding);
  if (overrun) overrunBy(tokens, sql, overrun);
}

function isStored(log: LogWriter, entry: EntryRecord): boolean {
  const { entry_id, leaf_hash } = entry;
  const found = log.find(entry_id);
  if (!found) return false;
  if (equalBytes(found.leaf_hash, leaf_hash)) return true;
  throw new Error(`Cannot append entry "${entry_id}": another entry has this id`);
}

function keepAnswer(connection: Connection, operationId: string, answer: Uint8Array): void {
  connection.run('UPDATE idempotency SET answer = ? WHERE operation_id = ?', answer, operationId);
}

export function reconcile(
  connection: Connection,
  { log, tokens, sql }: CallWriters,
  [invocationId, refund, entry, { actor, overrun } = {}]: Parameters<InvocationStore['reconcile']>,
  now: Date,
): IntentRecord | undefined | ActorEnded {
  const ended = endedActor(connection, actor, now);
  if (ended) return ended;
  const row = atOnce(sql.one(TO_RECONCILE, invocationId));
  if (!row) return undefined;

  const { consumed, entry_id, ...intent } = row;
  const refunded = refund ? refundOf(intent.charge?.amount ?? 0n, consumed) : 0n;
  connection.run(
    'UPDATE intents SET reconciled_at = ?, consumed = consumed - ? WHERE operation_id = ?',
    now,
    refunded,
    intent.operation_id,
  );
  const charged = { token_id: intent.token_id, charge_currency: intent.charge?.currency ?? null };
  moveMoney(tokens, charged, { reserved: 0n, consumed: -refunded });
  log.append(entry(intent));
  if (overrun) overrunBy(tokens, sql, overrun);
  atOnce(eraseLate(sql, log.find(entry_id)));
  return intent;
}

function readIntent(connection: Connection, operationId: string): OpenIntent | undefined {
  return connection.get<OpenIntent>(
    `SELECT token_id, charge_currency, reserved, leases, composing IS NOT NULL AS composed, state,
       entry_id
     FROM intents WHERE operation_id = ?`,
    operationId,
  );
}

/** A call holds an expired lease until another call takes it. */
function holdsLeases(connection: Connection, operationId: string, { leases }: OpenIntent): boolean {
  if (leases === 0n) return true;
  const row = connection.get<{ held: bigint }>(
    'SELECT count(*) AS held FROM leases WHERE operation_id = ?',
    operationId,
  );
  return row?.held === leases;
}

function consumedBy(settlement: Settlement, reserved: bigint | null): bigint {
  const { operation_id, actual } = settlement;
  const most = reserved ?? 0n;
  if (actual !== undefined && (actual < 0n || actual > most)) {
    throw new Error(`Cannot settle operation "${operation_id}": spent ${actual} of ${most}`);
  }
  return spentBy(settlement, most);
}

function close(connection: Connection, settlement: Settlement, consumed: bigint): void {
  connection.run(
    `UPDATE intents SET state = 'settled', outcome = ?, consumed = ?, entry_id = ?, settled_at = ?
     WHERE operation_id = ? AND state = 'admitted'`,
    settlement.outcome,
    consumed,
    settlement.entry.entry_id,
    settlement.now,
    settlement.operation_id,
  );
}

/** Changes every budget of the lineage by the same amounts. */
function moveMoney(
  tokens: BatchTokens,
  { token_id, charge_currency }: Charged,
  change: BudgetChange,
): void {
  if (charge_currency === null || (change.reserved === 0n && change.consumed === 0n)) return;
  for (const id of tokens.idsOf(token_id)) tokens.move(id, charge_currency, change);
}

/** An overrun may freeze a capability, which the next call of the transaction must see. */
function overrunBy(tokens: BatchTokens, sql: Sql, overrun: Overrun): void {
  atOnce(insertOverrun(sql, overrun));
  tokens.flush();
}

/** Keeps the row of the lease, so that the fence never decreases. */
export function release(connection: Connection, operationId: string): void {
  connection.run('UPDATE leases SET operation_id = NULL WHERE operation_id = ?', operationId);
  const composed = connection.change(
    'UPDATE intents SET composing = NULL WHERE operation_id = ? AND composing IS NOT NULL',
    operationId,
  );
  if (composed > 0) connection.run('DELETE FROM steps WHERE operation_id = ?', operationId);
}
