/**
 * Every row of authority and money in SQLite, for fsck.
 *
 * Runs synchronously, in the snapshot of its caller, one page of rows at a time.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import { mayHaveStubs, readableIn, segmentEnd } from '../../log/segment.ts';
import {
  type ClosedCall,
  type Debt,
  freezeKey,
  type LedgerSight,
  showRow,
  type TokenState,
  type UnknownCall,
} from '../../port/ledger-store.ts';
import { loadApproval } from '../../stories/approvals.ts';
import { readIdentity } from '../../stories/identities.ts';
import { readPasskey } from '../../stories/passkeys.ts';
import type { Row } from '../../tables/table.ts';
import type { Connection } from '../connection.ts';
import { findEntry } from '../log/reader.ts';
import { segmentsFrom } from '../log/segments.ts';
import { createSight } from '../log/sight.ts';
import { readHead } from '../log/tree.ts';
import { DEBTS, DECLARATIONS, FREEZES } from '../rows.ts';
import { atOnce, readerOn } from '../sql.ts';
import { readHeld } from '../token-rows.ts';
import { readGrant } from './admission.ts';

/** Rows held at once. */
const PAGE = 500;

export function readLedger(connection: Connection, from: number, see: LedgerSight): void {
  const erased = createErased(connection);
  for (const entry of readableEntries(connection, from)) {
    if (!entry.leaf) erased.add(entry.entry_id);
    if (entry.sequence >= from) see.entry(entry);
  }
  see.erased(erased.result());
  readCalls(connection, see);
  const sql = readerOn(connection);
  for (const id of idsOf(connection, 'tokens', 'token_id')) {
    showRow(see, ['token', id], () => see.token(tokenState(connection, id)));
  }
  for (const debt of connection.all<Debt>(`SELECT ${DEBTS.list()} FROM debts`)) {
    see.debt(debt);
  }
  for (const id of idsOf(connection, 'approval_requests', 'approval_request_id')) {
    showRow(see, ['request', id], () => see.request(atOnce(loadApproval(sql, id)) ?? gone()));
  }
  for (const id of idsOf(connection, 'grants', 'grant_id')) {
    showRow(see, ['grant', id], () => see.grant(readGrant(connection, id) ?? gone()));
  }
  for (const row of connection.all<FreezeRow>('SELECT * FROM freezes')) {
    showRow(see, ['freeze', freezeKey(row)], () => see.freeze(FREEZES.read(row)));
  }
  for (const id of idsOf(connection, 'passkeys', 'credential_id')) {
    showRow(see, ['passkey', id], () => see.passkey(atOnce(readPasskey(sql, id)) ?? gone()));
  }
  for (const id of idsOf(connection, 'identities', 'identity_id')) {
    showRow(see, ['identity', id], () => see.identity(atOnce(readIdentity(sql, id)) ?? gone()));
  }
  for (const row of connection.each<Row>('SELECT * FROM declarations')) {
    const id = String(row.capability);
    showRow(see, ['declaration', id], () => see.declaration(DECLARATIONS.read(row)));
  }
}

type FreezeRow = Row & { readonly what: string; readonly target: string };

function tokenState(connection: Connection, id: string): TokenState {
  const { token, link } = readHeld(connection, id) ?? gone();
  const counted = connection.get<{ children: bigint }>(
    'SELECT children FROM tokens WHERE token_id = ?',
    id,
  );
  const { revoked_at, budget } = link;
  const parent = token.parent_token_id && readHeld(connection, token.parent_token_id)?.token;
  return {
    ...{ token, revoked_at, budget, children: Number(counted?.children) },
    parent: parent || undefined,
  };
}

/** Cannot happen in one snapshot unless an index is damaged. */
function gone(): never {
  throw new Error('the index has this row, the table does not');
}

/** In order: those from a place on, and segments with erased ones before it. The check of the log reports damaged segments. */
function* readableEntries(connection: Connection, from: number): Generator<StoredEntry> {
  for (const segment of segmentsFrom(connection, 0)) {
    if (segmentEnd(segment) > from || mayHaveStubs(segment)) yield* readableIn(segment);
  }
}

function* idsOf(connection: Connection, table: string, column: string): Generator<string> {
  for (let after = ''; ; ) {
    const page = connection.all<{ id: string }>(
      `SELECT ${column} AS id FROM ${table} WHERE ${column} > ? ORDER BY ${column} LIMIT ?`,
      after,
      PAGE,
    );
    yield* page.map(({ id }) => id);
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.id;
  }
}

/** Counts entries without contents, and what the tokens spent by them. */
function createErased(connection: Connection) {
  let entries = 0;
  const spent = new Map<string, bigint>();
  return {
    add(entryId: string) {
      entries += 1;
      const rows = connection.all<{ token_id: string; consumed: bigint }>(
        'SELECT token_id, consumed FROM intents WHERE entry_id = ? AND consumed > 0',
        entryId,
      );
      for (const { token_id, consumed } of rows) {
        spent.set(token_id, (spent.get(token_id) ?? 0n) + consumed);
      }
    },
    result: () => ({
      entries,
      spent: [...spent].map(([token_id, amount]) => ({ token_id, amount })),
    }),
  };
}

type ClosedRow = Omit<ClosedCall, 'isReconciled'> & { readonly isReconciled: bigint };

const CLOSED = `SELECT invocation_id, token_id, entry_id, outcome, coalesce(reserved, 0) AS reserved,
    coalesce(consumed, 0) AS consumed, reconciled_at IS NOT NULL AS isReconciled
  FROM intents WHERE state = 'settled'`;

function readCalls(connection: Connection, see: LedgerSight): void {
  const open = connection.all<{
    operation_id: string;
    token_id: string;
    reserved: bigint | null;
    grant_id: string | null;
  }>(
    `SELECT operation_id, token_id, reserved,
       CASE WHEN json_valid(facts) THEN facts ->> 'approval_grant_id' END AS grant_id
     FROM intents WHERE state = 'admitted'`,
  );
  for (const { reserved, grant_id, ...call } of open) {
    see.openCall({ ...call, reserved: reserved ?? 0n, grant_id: grant_id ?? undefined });
  }
  const unknown = connection.all<UnknownCall>(
    `SELECT operation_id, invocation_id, token_id, charge_currency AS currency,
       coalesce(charge_amount, 0) AS amount, coalesce(consumed, 0) AS consumed FROM intents
     WHERE outcome = 'indeterminate' AND reconciled_at IS NULL`,
  );
  for (const call of unknown) see.unknownCall(call);
  for (const call of connection.each<ClosedRow>(CLOSED)) {
    see.closedCall({ ...call, isReconciled: call.isReconciled === 1n });
  }
  const current = readHead(connection).first;
  const keys =
    current === 0
      ? []
      : connection.all<{ operation_id: string; entry_id: string }>(
          `SELECT k.operation_id, i.entry_id FROM idempotency k JOIN intents i USING (operation_id)
     WHERE i.entry_id IS NOT NULL`,
        );
  const sight = createSight();
  const old = keys.filter(({ entry_id }) => {
    const entry = findEntry(connection, sight, entry_id);
    return entry !== undefined && entry.sequence < current;
  });
  for (const { operation_id } of old) see.oldKey(operation_id);
}
