/**
 * Every row that carries authority, page by page, and the seal of all of them. A page is one statement, whatever is read
 * beside its rows.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import type { RowKind, RowOf } from '../port/row-forms.ts';
import {
  ROW_TABLES,
  type RowPage,
  type RowStore,
  type RowTable,
  requestRows,
  type StoredRow,
  tokenRows,
} from '../port/row-store.ts';
import { OPEN_COUNTED_MAX, type StoreFigures } from '../port/store.ts';
import type { SqlReader, SqlRows } from '../sql/sql.ts';
import {
  columns,
  either,
  type Fragment,
  type Shape,
  type Statement,
  statement,
} from '../sql/statement.ts';
import { GRANTS } from '../tables/approvals.ts';
import { FREEZES } from '../tables/authority.ts';
import { BINDINGS } from '../tables/calls.ts';
import type { Description } from '../tables/description.ts';
import * as people from '../tables/people.ts';
import { approvalOf, REQUEST, REQUEST_COLUMNS } from './approvals.ts';
import { HOLD_MIGRATIONS, MIGRATION_PATIENCE } from './locks.ts';
import { LINK, linkColumns, linkOf } from './tokens.ts';

export function* scanRows(
  sql: SqlReader,
  ...[table, after, limit]: Parameters<RowStore['scanRows']>
): Steps<RowPage> {
  const { page, storedRows } = SCANS[table];
  const found = yield* sql.all(page, after ?? '', limit);
  const rows = found.flatMap(({ scan_key, ...row }) => storedRows(row, scan_key));
  return { rows, next: found.length === limit ? found.at(-1)?.scan_key : undefined };
}

/** One process at a time: of those that start at once one seals, and the others find it done. */
export function* sealRows(sql: SqlRows, decide: Parameters<RowStore['sealRows']>[0]): Steps<void> {
  yield* sql.lock(MIGRATION_PATIENCE);
  yield* sql.lock(HOLD_MIGRATIONS);
  const state = yield* sql.one(SEAL_STATE);
  if (!state) throw new Error('Cannot seal the rows: the store has no row of its own');
  const seal = decide({ seal: state.row_seal, isEmpty: state.kept === 0 });
  if (seal !== undefined) yield* sql.run(SEAL, seal);
}

/** The table with one row about the store. */
const STORE = either({ sqlite: 'store', postgres: 'meta' });

const SEALED: Shape<{ readonly row_seal?: string | undefined; readonly kept: number }> = {
  fields: { row_seal: 'text?', kept: 'integer' },
};
const ANY_ROW = ROW_TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ');
const SEAL_STATE = statement('row_seal_state', SEALED)`
  SELECT row_seal, CASE WHEN ${ANY_ROW} THEN 1 ELSE 0 END AS kept FROM ${STORE}`;

const SEAL = statement('row_seal')`UPDATE ${STORE} SET row_seal = $1`;

/** What operators watch. The pending requests are counted in their partial index. */
export function* figures(sql: SqlReader, now: Date): Steps<StoreFigures> {
  return (yield* sql.one(FIGURES, now, OPEN_COUNTED_MAX)) ?? { bytes: 0, openApprovals: 0 };
}

const WATCHED: Shape<StoreFigures> = { fields: { bytes: 'long', openApprovals: 'integer' } };
export const FIGURES = statement('figures', WATCHED)`
  SELECT ${either({
    sqlite: '(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())',
    postgres: 'pg_database_size(current_database())',
  })} AS bytes, (SELECT count(*) FROM (
    SELECT 1 FROM approval_requests WHERE status = 'pending' AND expires_at > $1 LIMIT $2) AS one
  ) AS "openApprovals"`;

interface Keyed {
  /** The order of the rows of a table, as one text. */
  readonly scan_key: string;
}

interface Scan<Row = object> {
  readonly page: Statement<Row & Keyed>;
  storedRows(row: Omit<Row, keyof Keyed>, id: string): StoredRow[];
}

interface Scanned<Row> {
  readonly name: RowTable;
  readonly shape: Shape<Row>;
  readonly list: Fragment;
  readonly from: string;
  readonly key: string;
}

/** PostgreSQL orders by bytes too, which is how the last key of a page is compared. */
const BY_BYTES = either({ postgres: 'COLLATE "C"' });

function scan<Row>(
  { name, shape, list, from, key }: Scanned<Row>,
  storedRows: (row: Omit<Row, keyof Keyed>, id: string) => StoredRow[],
): Scan<Row> {
  const fields: object = { ...shape.fields, scan_key: 'text' };
  const page = statement(`scan_${name}`, { ...shape, fields } as Shape<Row & Keyed>)`
    SELECT ${list}, ${key} AS scan_key FROM ${from}
    WHERE ${key} ${BY_BYTES} > $1 ORDER BY ${key} ${BY_BYTES} LIMIT $2`;
  return { page, storedRows };
}

/** A table of which each row has one MAC. */
function scanOf<Kind extends RowKind>(
  kind: Kind,
  table: Description<RowOf<Kind> & { readonly mac?: string | undefined }>,
  key: string,
) {
  const name = table.name as RowTable;
  return scan({ name, shape: table, list: columns(table), from: name, key }, (row, id) => [
    { kind, id, row, mac: row.mac } as StoredRow,
  ]);
}

const SCANS: Readonly<Record<RowTable, Scan>> = {
  tokens: scan(
    {
      name: 'tokens',
      shape: LINK,
      list: linkColumns('l'),
      from: 'tokens l LEFT JOIN budgets b ON b.token_id = l.token_id',
      key: 'l.token_id',
    },
    (row) => tokenRows(linkOf(row)),
  ),
  freezes: scanOf('freeze', FREEZES, "(what || ' ' || target)"),
  bindings: scanOf('binding', BINDINGS, 'binding_id'),
  approval_requests: scan(
    {
      name: 'approval_requests',
      shape: REQUEST,
      list: REQUEST_COLUMNS,
      from: 'approval_requests r',
      key: 'r.approval_request_id',
    },
    (row) => requestRows(approvalOf(row)),
  ),
  grants: scanOf('grant', GRANTS, 'grant_id'),
  sessions: scanOf('session', people.SESSIONS, 'session_id'),
  accounts: scanOf('account', people.ACCOUNTS, 'account_id'),
  consents: scanOf('consent', people.CONSENTS, 'consent_id'),
  passkeys: scanOf('passkey', people.PASSKEYS, 'credential_id'),
  connected_accounts: scanOf(
    'connected_account',
    people.CONNECTED,
    "(account || ' ' || principal)",
  ),
  identities: scanOf('identity', people.IDENTITIES, 'identity_id'),
  invitations: scanOf('invitation', people.INVITATIONS, 'invitation_id'),
};
