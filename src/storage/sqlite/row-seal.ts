/**
 * Keeps the seal of the rows in SQLite, and reads every row that carries authority, page by page.
 *
 * Sealing runs in the transaction of its caller: under the file's write lock.
 *
 * @module
 */

import {
  ROW_TABLES,
  type RowPage,
  type RowStore,
  type RowTable,
  requestRows,
  type StoredRow,
  tokenRows,
} from '../port/row-store.ts';
import { loadApproval } from '../stories/approvals.ts';
import type { Row } from '../tables/table.ts';
import { readGrant } from './calls/admission.ts';
import type { Connection } from './connection.ts';
import {
  ACCOUNTS,
  BINDINGS,
  CONNECTED,
  CONSENTS,
  FREEZES,
  IDENTITIES,
  PASSKEYS,
  SESSIONS,
} from './rows.ts';
import { atOnce, readerOn } from './sql.ts';
import { readHeld } from './token-rows.ts';

export function sealRows(
  connection: Connection,
  decide: Parameters<RowStore['sealRows']>[0],
): void {
  const state = connection.get<{ row_seal: string | null; kept: bigint }>(
    `SELECT row_seal, ${ROW_TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ')}
       AS kept FROM store`,
  );
  if (!state) throw new Error('Cannot seal the rows: the table "store" has no row');
  const seal = decide({ seal: state.row_seal ?? undefined, isEmpty: state.kept === 0n });
  if (seal !== undefined) connection.run('UPDATE store SET row_seal = ?', seal);
}

export function scanRows(
  connection: Connection,
  table: RowTable,
  after: string | undefined,
  limit: number,
): RowPage {
  const key = KEYS[table];
  const found = connection.all<{ key: string }>(
    `SELECT ${key} AS key FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ?`,
    after ?? '',
    limit,
  );
  const rows = found.flatMap(({ key: one }) => READERS[table](connection, one));
  return { rows, next: found.length === limit ? found.at(-1)?.key : undefined };
}

/** The order of the rows of a table, as one text. */
const KEYS: Readonly<Record<RowTable, string>> = {
  tokens: 'token_id',
  freezes: "(what || ' ' || target)",
  bindings: 'binding_id',
  approval_requests: 'approval_request_id',
  grants: 'grant_id',
  sessions: 'session_id',
  accounts: 'account_id',
  consents: 'consent_id',
  passkeys: 'credential_id',
  connected_accounts: "(account || ' ' || principal)",
  identities: 'identity_id',
};

const READERS: Readonly<Record<RowTable, (connection: Connection, key: string) => StoredRow[]>> = {
  tokens(connection, token_id) {
    const held = readHeld(connection, token_id);
    return held ? tokenRows(held.link) : [];
  },
  freezes(connection, key) {
    const found = connection.all<Row>("SELECT * FROM freezes WHERE what || ' ' || target = ?", key);
    const freezes = found.map(FREEZES.read);
    return freezes.map((row) => ({ kind: 'freeze', id: key, row, mac: row.mac }));
  },
  bindings(connection, key) {
    const found = connection.all<Row>('SELECT * FROM bindings WHERE binding_id = ?', key);
    const bindings = found.map(BINDINGS.read);
    return bindings.map((row) => ({ kind: 'binding', id: key, row, mac: row.mac }));
  },
  approval_requests(connection, key) {
    const request = atOnce(loadApproval(readerOn(connection), key));
    return request ? requestRows(request) : [];
  },
  grants(connection, key) {
    const grant = readGrant(connection, key);
    return grant ? [{ kind: 'grant', id: key, row: grant, mac: grant.mac }] : [];
  },
  sessions(connection, key) {
    const found = connection.all<Row>('SELECT * FROM sessions WHERE session_id = ?', key);
    const sessions = found.map(SESSIONS.read);
    return sessions.map((row) => ({ kind: 'session', id: key, row, mac: row.mac }));
  },
  accounts(connection, key) {
    const found = connection.all<Row>('SELECT * FROM accounts WHERE account_id = ?', key);
    const accounts = found.map(ACCOUNTS.read);
    return accounts.map((row) => ({ kind: 'account', id: key, row, mac: row.mac }));
  },
  consents(connection, key) {
    const found = connection.all<Row>('SELECT * FROM consents WHERE consent_id = ?', key);
    const consents = found.map(CONSENTS.read);
    return consents.map((row) => ({ kind: 'consent', id: key, row, mac: row.mac }));
  },
  passkeys(connection, key) {
    const found = connection.all<Row>('SELECT * FROM passkeys WHERE credential_id = ?', key);
    const passkeys = found.map(PASSKEYS.read);
    return passkeys.map((row) => ({ kind: 'passkey', id: key, row, mac: row.mac }));
  },
  connected_accounts(connection, key) {
    const found = connection.all<Row>(
      "SELECT * FROM connected_accounts WHERE account || ' ' || principal = ?",
      key,
    );
    const connected = found.map(CONNECTED.read);
    return connected.map((row) => ({ kind: 'connected_account', id: key, row, mac: row.mac }));
  },
  identities(connection, key) {
    const found = connection.all<Row>('SELECT * FROM identities WHERE identity_id = ?', key);
    const identities = found.map(IDENTITIES.read);
    return identities.map((row) => ({ kind: 'identity', id: key, row, mac: row.mac }));
  },
};
