/**
 * Every row of authority and money in PostgreSQL, for fsck.
 *
 * Reads one snapshot, one page of rows at a time, so that other work continues. The snapshot includes queued
 * entries, because it includes their rows.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import { mayHaveStubs, readableIn, type Segment, segmentEnd } from '../../log/segment.ts';
import {
  type ClosedCall,
  type Debt,
  freezeKey,
  type LedgerSight,
  type LedgerStore,
  type OpenCall,
  showRow,
  type UnknownCall,
} from '../../port/ledger-store.ts';
import { columns } from '../../sql/statement.ts';
import { approvalOf, REQUEST, REQUEST_COLUMNS } from '../../stories/approvals.ts';
import { LIST_IDENTITIES } from '../../stories/identities.ts';
import { PASSKEY, passkeyOf } from '../../stories/passkeys.ts';
import type { Row } from '../../tables/table.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { PATIENCE } from '../inspect.ts';
import { type SegmentRow, segmentOf, segmentsFrom } from '../log/segments.ts';
import {
  BUDGETS,
  DEBTS,
  DECLARATIONS,
  FREEZES,
  GRANTS,
  IDENTITIES,
  timeOf,
  tokenOf,
} from '../rows.ts';
import { postgresStatement, postgresText, rowReader } from '../sql.ts';

/** Rows held at once. */
const PAGE = 500;

/** Rows of the queue held at once: one has all entries of a statement. */
const QUEUE_PAGE = 16;

export function createLedgerReader(database: Database): LedgerStore['readLedger'] {
  return (from, see) =>
    database.reading(async (session) => {
      await session.run(ONE_SNAPSHOT);
      await session.run(PATIENCE);
      const old = await readEntries(session, from, see);
      await readCalls(session, see);
      for (const operationId of old) see.oldKey(operationId);
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
    showRow(see, ['request', id], () => see.request(approvalOf(readRequest(row))));
  }
  for await (const row of pagesOf(session, READ_GRANTS, 'grant_id')) {
    showRow(see, ['grant', String(row.grant_id)], () => see.grant(GRANTS.read(row)));
  }
  for (const row of await session.run<FreezeRow>(READ_FREEZES)) {
    showRow(see, ['freeze', freezeKey(row)], () => see.freeze(FREEZES.read(row)));
  }
  for await (const row of pagesOf(session, READ_PASSKEYS, 'credential_id')) {
    showRow(see, ['passkey', String(row.credential_id)], () =>
      see.passkey(passkeyOf(readPasskey(row))),
    );
  }
  for await (const row of pagesOf(session, READ_IDENTITIES, 'identity_id')) {
    showRow(see, ['identity', String(row.identity_id)], () => see.identity(IDENTITIES.read(row)));
  }
  for await (const row of pagesOf(session, READ_DECLARATIONS, 'capability')) {
    const id = String(row.capability);
    showRow(see, ['declaration', id], () => see.declaration(DECLARATIONS.read(row)));
  }
}

async function readCalls(session: Session, see: LedgerSight): Promise<void> {
  for (const call of await session.run<OpenRow>(OPEN)) {
    see.openCall({ ...call, grant_id: call.grant_id ?? undefined });
  }
  for (const call of await session.run<UnknownCall>(UNKNOWN)) see.unknownCall(call);
  for await (const row of pagesOf(session, CLOSED, 'operation_id')) {
    see.closedCall(row as unknown as ClosedCall);
  }
}

/** Shows the entries. Returns the operations of keys whose entries are in an ended log. */
async function readEntries(session: Session, from: number, see: LedgerSight): Promise<string[]> {
  const keys = await session.run<KeyRow>(KEYS);
  const ofKeys = new Map(keys.map(({ entry_id, operation_id }) => [entry_id, operation_id]));
  const [{ first } = { first: 0n }] = await session.run<{ first: bigint }>(CURRENT);
  const old: string[] = [];
  const erased = createErased(session);
  // The check of the log reports damaged segments.
  for await (const segment of segmentsFrom(session, 0)) {
    const entries = ofKeys.size > 0 ? readableIn(segment) : neededIn(segment, from);
    for (const entry of entries) {
      if (entry.sequence >= from) see.entry(entry);
      const operationId = ofKeys.get(entry.entry_id);
      if (operationId !== undefined && entry.sequence < first) old.push(operationId);
    }
    await erased.add(entries.filter(({ leaf }) => !leaf));
  }
  for await (const row of pagesOf(session, WAITING, 'id', QUEUE_PAGE)) {
    // They have no places yet, and no comparison needs one.
    const segment = segmentOf({ ...(row as unknown as SegmentRow), first: 0n });
    for (const entry of readableIn(segment)) see.entry({ ...entry, sequence: Number.NaN });
  }
  see.erased(erased.result());
  return old;
}

/** Those of a segment that has erased entries, or some from this place on. */
function neededIn(segment: Segment, from: number): StoredEntry[] {
  return segmentEnd(segment) > from || mayHaveStubs(segment) ? readableIn(segment) : [];
}

/** Counts entries without contents, and what the tokens spent by them. */
function createErased(session: Session) {
  let entries = 0;
  const spent = new Map<string, bigint>();
  return {
    async add(erased: readonly StoredEntry[]): Promise<void> {
      if (erased.length === 0) return;
      entries += erased.length;
      const ids = erased.map(({ entry_id }) => entry_id);
      const rows = await session.run<{ token_id: string; amount: bigint }>(ERASED_SPENT, [ids]);
      for (const { token_id, amount } of rows) {
        spent.set(token_id, (spent.get(token_id) ?? 0n) + amount);
      }
    },
    result: () => ({
      entries,
      spent: [...spent].map(([token_id, amount]) => ({ token_id, amount })),
    }),
  };
}

async function* pagesOf(
  session: Session,
  statement: Statement,
  ...[key, limit = PAGE]: [key: string, limit?: number]
): AsyncGenerator<Row> {
  for (let after: unknown = key === 'id' ? 0 : ''; ; ) {
    const page = await session.run<Row>(statement, [after, limit]);
    yield* page;
    if (page.length < limit) return;
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

interface KeyRow {
  readonly operation_id: string;
  readonly entry_id: string;
}

interface OpenRow extends Omit<OpenCall, 'grant_id'> {
  readonly grant_id: string | null;
}

type FreezeRow = Row & { readonly what: string; readonly target: string };

const ONE_SNAPSHOT: Statement = {
  name: 'one_snapshot',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
};

/** Entries of the queue, in the form of a segment. */
const WAITING: Statement = {
  name: 'ledger_waiting',
  text: `SELECT id, count, hashes, leaves, personal FROM queue WHERE id > $1 ORDER BY id LIMIT $2`,
};

const ERASED_SPENT: Statement = {
  name: 'ledger_erased_spent',
  text: `SELECT token_id, sum(consumed)::bigint AS amount FROM intents
    WHERE entry_id = ANY ($1::text[]) AND consumed > 0 GROUP BY token_id`,
};

const CURRENT: Statement = {
  name: 'ledger_current',
  text: 'SELECT coalesce(max(first), 0) AS first FROM origins',
};

/** Only where a log has ended. */
const KEYS: Statement = {
  name: 'ledger_keys',
  text: `SELECT k.operation_id, i.entry_id FROM idempotency k JOIN intents i USING (operation_id)
    WHERE i.entry_id IS NOT NULL AND (SELECT max(first) FROM origins) > 0`,
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

const CLOSED: Statement = {
  name: 'ledger_closed',
  text: `SELECT operation_id, invocation_id, token_id, entry_id, outcome, reserved::bigint AS reserved,
      consumed::bigint AS consumed, reconciled_at IS NOT NULL AS "isReconciled" FROM intents
    WHERE state = 'settled' AND operation_id > $1 ORDER BY operation_id LIMIT $2`,
};

const READ_DECLARATIONS: Statement = {
  name: 'ledger_declarations',
  text: 'SELECT * FROM declarations WHERE capability > $1 ORDER BY capability LIMIT $2',
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

const readRequest = rowReader(REQUEST);

const READ_REQUESTS: Statement = {
  name: 'ledger_requests',
  text: `SELECT ${postgresText(REQUEST_COLUMNS)} FROM approval_requests r
    WHERE r.approval_request_id > $1 ORDER BY r.approval_request_id LIMIT $2`,
};

const READ_GRANTS: Statement = {
  name: 'ledger_grants',
  text: `SELECT ${GRANTS.list()} FROM grants WHERE grant_id > $1 ORDER BY grant_id LIMIT $2`,
};

const readPasskey = rowReader(PASSKEY);

const READ_PASSKEYS: Statement = {
  name: 'ledger_passkeys',
  text: `SELECT ${postgresText(columns(PASSKEY))} FROM passkeys
    WHERE credential_id > $1 ORDER BY credential_id LIMIT $2`,
};

const READ_IDENTITIES = postgresStatement(LIST_IDENTITIES);

const READ_FREEZES: Statement = {
  name: 'ledger_freezes',
  text: `SELECT ${FREEZES.list()} FROM freezes`,
};
