/**
 * Every row of authority and money in PostgreSQL, for fsck.
 *
 * Reads one snapshot, one page of rows at a time, so that other work continues. The snapshot includes queued
 * entries, because it includes their rows.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import {
  type Debt,
  freezeKey,
  type LedgerSight,
  type LedgerStore,
  type OpenCall,
  showRow,
  type UnknownCall,
} from '../../port/ledger-store.ts';
import type { Row } from '../../tables/table.ts';
import { REQUEST_COLUMNS } from '../approvals.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { LIST_IDENTITIES } from '../identities.ts';
import { PATIENCE } from '../inspect.ts';
import { SCAN } from '../log/log.ts';
import { passkeyOf } from '../passkeys.ts';
import {
  approvalOf,
  BUDGETS,
  DEBTS,
  FREEZES,
  GRANTS,
  IDENTITIES,
  PASSKEYS,
  storedEntryOf,
  timeOf,
  tokenOf,
} from '../rows.ts';
import { ENTRY_COLUMNS } from '../schema/log.ts';

/** Rows held at once. */
const PAGE = 500;

export function createLedgerReader(database: Database): LedgerStore['readLedger'] {
  return (from, see) =>
    database.reading(async (session) => {
      await session.run(ONE_SNAPSHOT);
      await session.run(PATIENCE);
      await readEntries(session, from, see);
      await readErased(session, see);
      await readCalls(session, see);
      await readRows(session, see);
    });
}

async function readRows(session: Session, see: LedgerSight): Promise<void> {
  for await (const row of pagesOf(session, READ_TOKENS, 'token_id')) {
    showRow(see, ['token', String(row.token_id)], () => see.token(tokenStateOf(row)));
  }
  for (const debt of await session.run<Debt>(READ_DEBTS)) see.debt(debt);
  for await (const row of pagesOf(session, READ_REQUESTS, 'approval_request_id')) {
    const id = String(row.approval_request_id);
    showRow(see, ['request', id], () => see.request(approvalOf(row)));
  }
  for await (const row of pagesOf(session, READ_GRANTS, 'grant_id')) {
    showRow(see, ['grant', String(row.grant_id)], () => see.grant(GRANTS.read(row)));
  }
  for (const row of await session.run<FreezeRow>(READ_FREEZES)) {
    showRow(see, ['freeze', freezeKey(row)], () => see.freeze(FREEZES.read(row)));
  }
  for await (const row of pagesOf(session, READ_PASSKEYS, 'credential_id')) {
    showRow(see, ['passkey', String(row.credential_id)], () => see.passkey(passkeyOf(row)));
  }
  for await (const row of pagesOf(session, LIST_IDENTITIES, 'identity_id')) {
    showRow(see, ['identity', String(row.identity_id)], () => see.identity(IDENTITIES.read(row)));
  }
}

async function readCalls(session: Session, see: LedgerSight): Promise<void> {
  for (const call of await session.run<OpenRow>(OPEN)) {
    see.openCall({ ...call, grant_id: call.grant_id ?? undefined });
  }
  for (const call of await session.run<UnknownCall>(UNKNOWN)) see.unknownCall(call);
  const old = await session.run<{ operation_id: string }>(OLD_KEYS);
  for (const { operation_id } of old) see.oldKey(operation_id);
}

async function readEntries(session: Session, from: number, see: LedgerSight): Promise<void> {
  for (let next = from; ; ) {
    const page = (await session.run<Row>(SCAN, [next, PAGE])).map(storedEntryOf);
    for (const entry of page) see.entry(entry);
    const last = page.at(-1);
    if (last) next = last.sequence + 1;
    if (!last || page.length < PAGE) break;
  }
  for await (const row of pagesOf(session, WAITING, 'id')) see.entry(waitingOf(row));
}

/** It has no place yet, and no comparison needs one. */
function waitingOf({ id, ...row }: Row): StoredEntry {
  return { ...storedEntryOf(row), sequence: Number.NaN };
}

async function readErased(session: Session, see: LedgerSight): Promise<void> {
  const [row] = await session.run<{ entries: bigint }>(ERASED);
  const entries = Number(row?.entries ?? 0);
  const spent =
    entries === 0 ? [] : await session.run<{ token_id: string; amount: bigint }>(ERASED_SPENT);
  see.erased({ entries, spent });
}

async function* pagesOf(session: Session, statement: Statement, key: string): AsyncGenerator<Row> {
  for (let after: unknown = key === 'id' ? 0 : ''; ; ) {
    const page = await session.run<Row>(statement, [after, PAGE]);
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.[key];
  }
}

function tokenStateOf(row: Row) {
  const { revoked_at, children, parent } = row;
  return {
    token: tokenOf(row),
    parent: parent === null ? undefined : tokenOf(parent as Row),
    revoked_at: revoked_at === null ? undefined : timeOf(revoked_at),
    budget: row.currency === null ? undefined : BUDGETS.read(row),
    children: Number(children ?? 0),
  };
}

interface OpenRow extends Omit<OpenCall, 'grant_id'> {
  readonly grant_id: string | null;
}

type FreezeRow = Row & { readonly what: string; readonly target: string };

const ONE_SNAPSHOT: Statement = {
  name: 'one_snapshot',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
};

const WAITING: Statement = {
  name: 'ledger_waiting',
  text: `SELECT id, ${ENTRY_COLUMNS.join(', ')} FROM queue WHERE id > $1 ORDER BY id LIMIT $2`,
};

const ERASED: Statement = {
  name: 'ledger_erased',
  text: 'SELECT count(*) AS entries FROM log WHERE leaf IS NULL',
};

const ERASED_SPENT: Statement = {
  name: 'ledger_erased_spent',
  text: `SELECT i.token_id, sum(i.consumed)::bigint AS amount
    FROM intents i JOIN log l ON l.entry_id = i.entry_id
    WHERE l.leaf IS NULL AND i.consumed > 0 GROUP BY i.token_id`,
};

const OPEN: Statement = {
  name: 'ledger_open',
  text: `SELECT operation_id, token_id, reserved, facts ->> 'approval_grant_id' AS grant_id
    FROM intents WHERE state = 'admitted'`,
};

const UNKNOWN: Statement = {
  name: 'ledger_unknown',
  text: `SELECT operation_id, invocation_id, token_id, currency, coalesce(amount, 0)::bigint AS amount,
      consumed::bigint AS consumed FROM intents
    WHERE outcome = 'indeterminate' AND reconciled_at IS NULL`,
};

const OLD_KEYS: Statement = {
  name: 'ledger_old_keys',
  text: `SELECT k.operation_id FROM idempotency k JOIN intents i USING (operation_id)
      JOIN log l ON l.entry_id = i.entry_id
    WHERE l.sequence < (SELECT max(first) FROM origins)`,
};

const READ_TOKENS: Statement = {
  name: 'ledger_tokens',
  text: `SELECT t.*, b.currency, b.max, b.reserved, b.consumed, f.children,
      (SELECT to_jsonb(p) || jsonb_build_object('currency', pb.currency, 'max', pb.max)
        FROM tokens p LEFT JOIN budgets pb USING (token_id)
        WHERE p.token_id = t.parent_token_id) AS parent
    FROM tokens t LEFT JOIN budgets b USING (token_id) LEFT JOIN families f USING (token_id)
    WHERE t.token_id > $1 ORDER BY t.token_id LIMIT $2`,
};

const READ_DEBTS: Statement = {
  name: 'ledger_debts',
  text: `SELECT ${DEBTS.list()} FROM debts`,
};

const READ_REQUESTS: Statement = {
  name: 'ledger_requests',
  text: `SELECT ${REQUEST_COLUMNS} FROM approval_requests r
    WHERE r.approval_request_id > $1 ORDER BY r.approval_request_id LIMIT $2`,
};

const READ_GRANTS: Statement = {
  name: 'ledger_grants',
  text: `SELECT ${GRANTS.list()} FROM grants WHERE grant_id > $1 ORDER BY grant_id LIMIT $2`,
};

const READ_PASSKEYS: Statement = {
  name: 'ledger_passkeys',
  text: `SELECT ${PASSKEYS.list()}, last_used_at, removed_at FROM passkeys
    WHERE credential_id > $1 ORDER BY credential_id LIMIT $2`,
};

const READ_FREEZES: Statement = {
  name: 'ledger_freezes',
  text: `SELECT ${FREEZES.list()} FROM freezes`,
};
