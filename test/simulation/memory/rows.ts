/**
 * Rows with MACs in the simulated store: pages of each table, and MACs for rows that have none.
 *
 * @module
 */

import {
  ADOPTED_TABLES,
  ROW_TABLES,
  type RowPage,
  type RowStore,
  type RowTable,
  requestRows,
  type StoredRow,
  tokenRows,
} from '../../../src/storage/port/row-store.ts';
import { freezeKeyText } from './admission.ts';
import { copyOf, frozenCopy } from './copy.ts';
import { factOf, type MemoryDatabase, setFact } from './database.ts';
import { textOrder } from './table.ts';
import { linkOf } from './tokens.ts';

/** One row of a table under its key, with the parts that have a MAC of their own. */
interface KeyedRows {
  readonly key: string;
  readonly rows: readonly StoredRow[];
}

const READERS: Readonly<Record<RowTable, (database: MemoryDatabase) => KeyedRows[]>> = {
  tokens: ({ tokens }) => keyed(tokens.values(), (row) => tokenRows(linkOf(row))),
  freezes: ({ freezes }) =>
    keyed(freezes.values(), (row) => {
      return [{ kind: 'freeze', id: `${row.what} ${row.target}`, row, mac: row.mac }];
    }),
  bindings: ({ bindings }) =>
    keyed(bindings.values(), (row) => {
      return [{ kind: 'binding', id: row.binding_id, row, mac: row.mac }];
    }),
  approval_requests: ({ requests }) => keyed(requests.values(), requestRows),
  grants: ({ grants }) =>
    keyed(grants.values(), (row) => [{ kind: 'grant', id: row.grant_id, row, mac: row.mac }]),
  sessions: ({ sessions }) =>
    keyed(sessions.values(), ({ session: row }) => {
      return [{ kind: 'session', id: row.session_id, row, mac: row.mac }];
    }),
  accounts: ({ accounts }) =>
    keyed(accounts.values(), (row) => {
      return [{ kind: 'account', id: row.account_id, row, mac: row.mac }];
    }),
  consents: ({ consents }) =>
    keyed(consents.values(), (row) => {
      return [{ kind: 'consent', id: row.consent_id, row, mac: row.mac }];
    }),
  passkeys: ({ passkeys }) =>
    keyed(passkeys.values(), ({ passkey: row }) => {
      return [{ kind: 'passkey', id: row.credential_id, row, mac: row.mac }];
    }),
  connected_accounts: ({ connected }) =>
    keyed(connected.values(), (row) => {
      const id = `${row.account} ${row.principal}`;
      return [{ kind: 'connected_account', id, row, mac: row.mac }];
    }),
  identities: ({ identities }) =>
    keyed(identities.values(), (row) => {
      return [{ kind: 'identity', id: row.identity_id, row, mac: row.mac }];
    }),
};

/** In the order of the keys: a row has the id of its first part. */
function keyed<Row>(kept: Iterable<Row>, read: (row: Row) => StoredRow[]): KeyedRows[] {
  return Array.from(kept, (row) => read(copyOf(row)))
    .map((rows) => ({ key: (rows[0] as StoredRow).id, rows }))
    .sort((one, other) => textOrder(one.key, other.key));
}

export function scanRows(
  database: MemoryDatabase,
  ...[table, after, limit]: Parameters<RowStore['scanRows']>
): RowPage {
  const all = READERS[table](database).filter(({ key }) => after === undefined || key > after);
  const page = all.slice(0, limit);
  return {
    rows: page.flatMap(({ rows }) => rows),
    next: all.length > limit ? page.at(-1)?.key : undefined,
  };
}

export function sealRows(
  database: MemoryDatabase,
  decide: Parameters<RowStore['sealRows']>[0],
): void {
  const isEmpty = ROW_TABLES.every((table) => READERS[table](database).length === 0);
  const sealing = decide({ seal: factOf(database, 'seal'), isEmpty });
  if (!sealing) return;
  const { seal, macOf } = sealing;
  setFact(database, 'seal', seal);
  if (!macOf) return;
  for (const stored of ADOPTED_TABLES.flatMap((table) => READERS[table](database))) {
    for (const row of stored.rows) {
      const mac = row.mac === undefined ? macOf(row) : undefined;
      if (mac !== undefined) setMac(database, row, mac);
    }
  }
}

function setMac(database: MemoryDatabase, stored: StoredRow, mac: string): void {
  SETTERS[stored.kind]?.(database, stored as never, mac);
}

type Setters = {
  readonly [Kind in StoredRow['kind']]?: (
    database: MemoryDatabase,
    stored: Extract<StoredRow, { kind: Kind }>,
    mac: string,
  ) => void;
};

/** The kinds of rows in the adopted tables. */
const SETTERS: Setters = {
  token({ tokens }, { id }, mac) {
    const row = tokens.get(id);
    if (row) tokens.put(id, { ...row, token: frozenCopy({ ...row.token, mac }) });
  },
  revocation({ tokens }, { id }, mac) {
    const row = tokens.get(id);
    if (row) tokens.put(id, { ...row, revoked_mac: mac });
  },
  freeze: ({ freezes }, { row }, mac) => freezes.put(freezeKeyText(row), { ...row, mac }),
  binding: ({ bindings }, { row }, mac) => bindings.put(row.binding_id, { ...row, mac }),
  grant: ({ grants }, { row }, mac) => grants.put(row.grant_id, { ...row, mac }),
  approval({ requests }, { id }, mac) {
    const row = requests.get(id);
    if (row) requests.put(id, { ...row, mac });
  },
  vote({ requests }, { row: { approval_request_id: id, approver } }, mac) {
    const row = requests.get(id);
    const approvals = row?.approvals.map((vote) =>
      vote.approver === approver ? { ...vote, mac } : vote,
    );
    if (row && approvals) requests.put(id, { ...row, approvals });
  },
};
