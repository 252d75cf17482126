/**
 * Keeps the seal of the rows, and reads every row that carries authority, page by page.
 *
 * Sealing is one transaction under the migration lock: of replicas that start at once one seals, and the
 * others find it done.
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
import { approvalOf, REQUEST, REQUEST_COLUMNS } from '../stories/approvals.ts';
import type { Row } from '../tables/table.ts';
import type { Database, Statement } from './connection.ts';
import {
  ACCOUNTS,
  BINDINGS,
  CONNECTED,
  CONSENTS,
  FREEZES,
  fixedOf,
  GRANTS,
  IDENTITIES,
  linkOf,
  PASSKEYS,
  SESSIONS,
} from './rows.ts';
import { MIGRATION_LOCK, PATIENCE } from './schema/migrations.ts';
import { postgresText, rowReader } from './sql.ts';
import { tokenJson } from './tokens.ts';

export function createRows(database: Database): RowStore {
  return {
    sealRows: (decide) =>
      database.transaction(async (session) => {
        await session.run(PATIENCE, []);
        await session.run(LOCK, [MIGRATION_LOCK]);
        const [state] = await session.run<StateRow>(STATE, []);
        if (!state) throw new Error('Cannot seal the rows: the table "meta" has no row');
        const { row_seal, is_empty } = state;
        const seal = decide({ seal: row_seal ?? undefined, isEmpty: is_empty });
        if (seal !== undefined) await session.run(SEAL, [seal]);
      }),

    async scanRows(table, after, limit) {
      return pageOf(table, await database.read<Row>(SCAN[table], [after ?? '', limit]), limit);
    },
  };
}

interface StateRow {
  readonly row_seal: string | null;
  readonly is_empty: boolean;
}

function pageOf(table: RowTable, found: readonly Row[], limit: number): RowPage {
  const rows = found.flatMap((row) => READERS[table](String(row.scan_key), row));
  return { rows, next: found.length === limit ? String(found.at(-1)?.scan_key) : undefined };
}

const readRequest = rowReader(REQUEST);

const READERS: Readonly<Record<RowTable, (id: string, row: Row) => StoredRow[]>> = {
  tokens: (_, row) => tokenRows(linkOf(row, fixedOf(String(row.fixed)))),
  freezes(id, row) {
    const freeze = FREEZES.read(row);
    return [{ kind: 'freeze', id, row: freeze, mac: freeze.mac }];
  },
  bindings(id, row) {
    const binding = BINDINGS.read(row);
    return [{ kind: 'binding', id, row: binding, mac: binding.mac }];
  },
  approval_requests: (_, row) => requestRows(approvalOf(readRequest(row))),
  grants(id, row) {
    const grant = GRANTS.read(row);
    return [{ kind: 'grant', id, row: grant, mac: grant.mac }];
  },
  sessions(id, row) {
    const session = SESSIONS.read(row);
    return [{ kind: 'session', id, row: session, mac: session.mac }];
  },
  accounts(id, row) {
    const account = ACCOUNTS.read(row);
    return [{ kind: 'account', id, row: account, mac: account.mac }];
  },
  consents(id, row) {
    const consent = CONSENTS.read(row);
    return [{ kind: 'consent', id, row: consent, mac: consent.mac }];
  },
  passkeys(id, row) {
    const passkey = PASSKEYS.read(row);
    return [{ kind: 'passkey', id, row: passkey, mac: passkey.mac }];
  },
  connected_accounts(id, row) {
    const connected = CONNECTED.read(row);
    return [{ kind: 'connected_account', id, row: connected, mac: connected.mac }];
  },
  identities(id, row) {
    const identity = IDENTITIES.read(row);
    return [{ kind: 'identity', id, row: identity, mac: identity.mac }];
  },
};

const LOCK: Statement = { name: 'row_seal_lock', text: 'SELECT pg_advisory_xact_lock($1)' };

const STATE: Statement = {
  name: 'row_seal_state',
  text: `SELECT row_seal, NOT (${ROW_TABLES.map((table) => `EXISTS (SELECT FROM ${table})`).join(' OR ')})
    AS is_empty FROM meta`,
};

const SEAL: Statement = { name: 'row_seal', text: 'UPDATE meta SET row_seal = $1' };

/** In the order of bytes, which is how the last key of a page is compared. */
function scan(table: RowTable, key: string, columns: string): Statement {
  const text = `SELECT ${columns}, ${key} AS scan_key FROM ${table} ${key.startsWith('r.') ? 'r' : 't'}
    WHERE ${key} COLLATE "C" > $1 ORDER BY ${key} COLLATE "C" LIMIT $2`;
  return { name: `scan_${table}`, text };
}

const SCAN: Readonly<Record<RowTable, Statement>> = {
  tokens: scan(
    'tokens',
    't.token_id',
    `${tokenJson('t')} AS fixed, t.revoked_at, t.revoked_mac,
      (SELECT b.reserved FROM budgets b WHERE b.token_id = t.token_id) AS reserved,
      (SELECT b.consumed FROM budgets b WHERE b.token_id = t.token_id) AS consumed`,
  ),
  freezes: scan('freezes', "(t.what || ' ' || t.target)", 't.*'),
  bindings: scan('bindings', 't.binding_id', 't.*'),
  approval_requests: scan(
    'approval_requests',
    'r.approval_request_id',
    postgresText(REQUEST_COLUMNS),
  ),
  grants: scan('grants', 't.grant_id', GRANTS.list()),
  sessions: scan('sessions', 't.session_id', 't.*'),
  accounts: scan('accounts', 't.account_id', 't.*'),
  consents: scan('consents', 't.consent_id', 't.*'),
  passkeys: scan('passkeys', 't.credential_id', 't.*'),
  connected_accounts: scan('connected_accounts', "(t.account || ' ' || t.principal)", 't.*'),
  identities: scan('identities', 't.identity_id', 't.*'),
};
