/**
 * Every row of authority and money, for fsck.
 *
 * Runs in one snapshot, one page of rows at a time.
 *
 * @module
 */

import { type Steps, wait } from '../../steps.ts';
import { mayHaveStubs, readableIn, type Segment, segmentEnd } from '../log/segment.ts';
import { segmentsFrom } from '../log/segments.ts';
import {
  type ClosedCall,
  type Debt,
  type LedgerSight,
  type OpenCall,
  showRow,
  type TokenState,
  type UnknownCall,
} from '../port/ledger-store.ts';
import type { SqlReader } from '../sql/sql.ts';
import {
  columns,
  either,
  type Fragment,
  fragment,
  rowsOf,
  type Shape,
  type Statement,
  statement,
  type Unread,
  unread,
  withLists,
} from '../sql/statement.ts';
import { GRANTS } from '../tables/approvals.ts';
import { DEBTS, FREEZES } from '../tables/authority.ts';
import { DECLARATIONS, IDENTITIES } from '../tables/people.ts';
import { approvalOf, REQUEST, REQUEST_COLUMNS } from './approvals.ts';
import { PASSKEY, passkeyOf } from './passkeys.ts';
import { CHILDREN_COUNT, LINK, type LinkRow, linkColumns, linkOf } from './tokens.ts';

/** Rows held at once. */
const PAGE = 500;

/**
 * Shows what the entries from the place `from` on need. Erased entries before it, and those of old keys, count too.
 * `readMore` shows entries that have no segment. The check of the log reports damaged segments.
 */
export function* readLedger(
  sql: SqlReader,
  from: number,
  see: LedgerSight,
  readMore: () => Steps<void> = () => wait(undefined),
): Steps<void> {
  const { oldKeys, erased } = yield* readEntries(sql, from, see);
  yield* readMore();
  see.erased(erased);
  yield* readCalls(sql, see);
  for (const operationId of oldKeys) see.oldKey(operationId);
  yield* readRows(sql, see);
}

function* readEntries(sql: SqlReader, from: number, see: LedgerSight) {
  const keys = yield* sql.all(KEYS_OF_ENDED_LOGS);
  const current = (yield* sql.one(CURRENT_LOG))?.first ?? 0;
  const ofKeys = new Map(keys.map(({ entry_id, operation_id }) => [entry_id, operation_id]));
  const oldKeys: string[] = [];
  const spent = new Map<string, bigint>();
  let erased = 0;

  function* count(stubs: readonly string[]): Steps<void> {
    erased += stubs.length;
    if (stubs.length === 0) return;
    for (const { token_id, amount } of yield* sql.all(ERASED_SPENT, stubs)) {
      spent.set(token_id, (spent.get(token_id) ?? 0n) + amount);
    }
  }

  const isNeeded = (segment: Segment) =>
    ofKeys.size > 0 || segmentEnd(segment) > from || mayHaveStubs(segment);
  const segments = segmentsFrom(sql, 0);
  for (let next = yield* segments.next(); next; next = yield* segments.next()) {
    const entries = isNeeded(next) ? readableIn(next) : [];
    for (const entry of entries) {
      if (entry.sequence >= from) see.entry(entry);
      const operationId = ofKeys.get(entry.entry_id);
      if (operationId !== undefined && entry.sequence < current) oldKeys.push(operationId);
    }
    yield* count(entries.filter(({ leaf }) => !leaf).map(({ entry_id }) => entry_id));
  }
  const amounts = [...spent].map(([token_id, amount]) => ({ token_id, amount }));
  return { oldKeys, erased: { entries: erased, spent: amounts } };
}

function* readCalls(sql: SqlReader, see: LedgerSight): Steps<void> {
  for (const call of yield* sql.all(OPEN)) see.openCall(call);
  for (const call of yield* sql.all(UNKNOWN)) see.unknownCall(call);
  yield* eachOf(sql, CLOSED, (row) => {
    const { reconciled_at, ...call } = row.read();
    see.closedCall({ ...call, isReconciled: reconciled_at !== undefined });
  });
}

function* readRows(sql: SqlReader, see: LedgerSight): Steps<void> {
  yield* eachOf(sql, READ_TOKENS, ({ key, read }) => {
    showRow(see, ['token', key], () => see.token(tokenStateOf(read())));
  });
  for (const debt of yield* sql.all(READ_DEBTS)) see.debt(debt);
  yield* eachOf(sql, READ_REQUESTS, ({ key, read }) => {
    showRow(see, ['request', key], () => see.request(approvalOf(read())));
  });
  yield* eachOf(sql, READ_GRANTS, ({ key, read }) => {
    showRow(see, ['grant', key], () => see.grant(read()));
  });
  for (const { key, read } of yield* sql.all(READ_FREEZES)) {
    showRow(see, ['freeze', key], () => see.freeze(read()));
  }
  yield* eachOf(sql, READ_PASSKEYS, ({ key, read }) => {
    showRow(see, ['passkey', key], () => see.passkey(passkeyOf(read())));
  });
  yield* eachOf(sql, READ_IDENTITIES, ({ key, read }) => {
    showRow(see, ['identity', key], () => see.identity(read()));
  });
  yield* eachOf(sql, READ_DECLARATIONS, ({ key, read }) => {
    showRow(see, ['declaration', key], () => see.declaration(read()));
  });
}

function* eachOf<Result>(
  sql: SqlReader,
  page: Statement<Unread<Result>>,
  show: (row: Unread<Result>) => void,
): Steps<void> {
  for (let after = ''; ; ) {
    const rows = yield* sql.all(page, after, PAGE);
    for (const row of rows) show(row);
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last.key;
  }
}

function tokenStateOf({ children, parents, ...row }: TokenRow): TokenState {
  const { token, revoked_at, budget } = linkOf(row);
  const [parent] = parents;
  return { token, parent: parent && linkOf(parent).token, revoked_at, budget, children };
}

/** A page of rows by their key, which is a text. */
function pageOf<Result>(
  [table, key]: readonly [table: string, key: string],
  shape: Shape<Result>,
  ...[list = columns(shape), those = 'true']: Fragment[]
): Statement<Unread<Result>> {
  const name = `ledger_${table.split(' ')[0]}`;
  return statement(name, unread(shape, key.replace(/.*\./, '')))`
    SELECT ${list} FROM ${table} WHERE ${key} > $1 AND ${those} ORDER BY ${key} LIMIT $2`;
}

/** Only where a log has ended. */
const KEYS_OF_ENDED_LOGS = statement('ledger_keys', {
  fields: { operation_id: 'text', entry_id: 'text' },
} as Shape<{ readonly operation_id: string; readonly entry_id: string }>)`
  SELECT k.operation_id, i.entry_id FROM idempotency k JOIN intents i USING (operation_id)
  WHERE i.entry_id IS NOT NULL AND (SELECT max(first) FROM origins) > 0`;

const CURRENT_LOG = statement('ledger_current', {
  fields: { first: 'integer' },
} as Shape<{ readonly first: number }>)`
  SELECT coalesce(max(first), 0) AS first FROM origins`;

const ERASED_SPENT = statement('ledger_erased_spent', {
  fields: { token_id: 'text', amount: 'amount' },
} as Shape<{ readonly token_id: string; readonly amount: bigint }>)`
  SELECT token_id, sum(consumed)::bigint AS amount FROM intents
  WHERE entry_id = ANY ($1::text[]) AND consumed > 0 GROUP BY token_id`;

const OPEN_CALL: Shape<OpenCall> = {
  fields: { operation_id: 'text', token_id: 'text', reserved: 'amount', grant_id: 'text?' },
};
const OPEN = statement('ledger_open', OPEN_CALL)`
  SELECT operation_id, token_id, coalesce(reserved, 0) AS reserved,
    ${either({
      sqlite: "CASE WHEN json_valid(facts) THEN facts ->> 'approval_grant_id' END",
      postgres: "facts ->> 'approval_grant_id'",
    })} AS grant_id
  FROM intents WHERE state = 'admitted'`;

const UNKNOWN_CALL: Shape<UnknownCall> = {
  fields: {
    operation_id: 'text',
    invocation_id: 'text',
    token_id: 'text',
    currency: 'text?',
    amount: 'amount',
    consumed: 'amount',
  },
};
const CHARGED = either({ sqlite: 'charge_', postgres: '' });
const UNKNOWN = statement('ledger_unknown', UNKNOWN_CALL)`
  SELECT operation_id, invocation_id, token_id, ${CHARGED}currency AS currency,
    coalesce(${CHARGED}amount, 0) AS amount, coalesce(consumed, 0) AS consumed FROM intents
  WHERE outcome = 'indeterminate' AND reconciled_at IS NULL`;

type ClosedRow = Omit<ClosedCall, 'isReconciled'> & {
  readonly operation_id: string;
  readonly reconciled_at?: Date | undefined;
};
const CLOSED_CALL: Shape<ClosedRow> = {
  fields: {
    operation_id: 'text',
    invocation_id: 'text',
    token_id: 'text',
    entry_id: 'text',
    outcome: 'text',
    reserved: 'amount',
    consumed: 'amount',
    reconciled_at: 'time?',
  },
};
const CLOSED = pageOf(
  ['intents', 'operation_id'],
  CLOSED_CALL,
  `operation_id, invocation_id, token_id, entry_id, outcome, reconciled_at,
    coalesce(reserved, 0) AS reserved, coalesce(consumed, 0) AS consumed`,
  "state = 'settled'",
);

type TokenRow = LinkRow & { readonly children: number; readonly parents: readonly LinkRow[] };
const TOKEN: Shape<TokenRow> = withLists(
  { fields: { ...LINK.fields, children: 'integer' } } as Shape<
    LinkRow & { readonly children: number }
  >,
  { parents: LINK },
);
const READ_TOKENS = pageOf(
  ['tokens t LEFT JOIN budgets b ON b.token_id = t.token_id', 't.token_id'],
  TOKEN,
  fragment`${linkColumns('t')}, ${CHILDREN_COUNT} AS children,
    (SELECT ${rowsOf(LINK, 'parent', 'parent.depth')} FROM (
      SELECT ${linkColumns('p')} FROM tokens p LEFT JOIN budgets b ON b.token_id = p.token_id
      WHERE p.token_id = t.parent_token_id) parent) AS parents`,
);

const READ_DEBTS = statement<Debt>('ledger_debts', DEBTS)`SELECT ${columns(DEBTS)} FROM debts`;

const READ_REQUESTS = pageOf(
  ['approval_requests r', 'r.approval_request_id'],
  REQUEST,
  REQUEST_COLUMNS,
);
const READ_GRANTS = pageOf(['grants', 'grant_id'], GRANTS);

/** As `freezeKey` of the port makes it. */
const READ_FREEZES = statement('ledger_freezes', unread(FREEZES, 'what', 'target'))`
  SELECT ${columns(FREEZES)} FROM freezes`;

const READ_PASSKEYS = pageOf(['passkeys', 'credential_id'], PASSKEY);
const READ_IDENTITIES = pageOf(['identities', 'identity_id'], IDENTITIES);
const READ_DECLARATIONS = pageOf(['declarations', 'capability'], DECLARATIONS);
