/**
 * Tokens: issuance, delegation, revocation.
 *
 * A token's row changes only by its revocation. Concurrent root tokens share one commit. The statement that
 * inserts a child also locks its parent's lineage, so that no revocation comes in between.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { TokenRecord } from '../port/records.ts';
import { newBudget, type RevocationFacts } from '../port/row-forms.ts';
import type { ChildBounds, ChildState, TokenState, TokenStore } from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import { createSharing } from './batch.ts';
import { judgedActor } from './calls/actor.ts';
import type { Database, Session, Statement } from './connection.ts';
import { enqueue, enqueueFrom, ROW_VALUES, rowValues } from './log/entries.ts';
import { BUDGETS, chargeOf, fixedOf, linkOf, sealOf, TOKENS } from './rows.ts';
import { GATE } from './schema/functions.ts';

type ChildAnswer = Awaited<ReturnType<TokenStore['insertChild']>>;

/** Tokens in one commit. None waits for another; the bound limits the statement's size. */
const ROOT_BATCH = { sizeMax: 64, tripsMax: 4 };

export function createTokens(database: Database): TokenStore {
  const shareRoots = createSharing<Issued, void>(database.platform, ROOT_BATCH, {
    together: (issued) => insertRoots(database, issued),
    async alone(issued) {
      await insertRoots(database, [issued]);
    },
  });
  return {
    insertRoot: (token, entry) => shareRoots({ token, entry }),

    insertChild: (token, entry, bounds) => insertChild(database.write, { token, entry }, bounds),

    revokeToken: (token_id, revoked_at, entry, { actor, mac } = {}) =>
      database.transaction(async (session) => {
        await session.run(CLOSE_GATE, [token_id, actor]);
        const ended =
          actor === undefined ? undefined : await judgedActor(session, actor, revoked_at);
        if (ended) return ended;
        const revocation = await revoke(session, { token_id, revoked_at, mac });
        if (revocation) await enqueue(session, entry(revocation.wasAlive));
        return revocation;
      }),

    async childrenOf(parents, limit, after = '') {
      const rows = await database.read<ChildRow>(CHILDREN, [parents, limit, after]);
      return rows.map(childOf);
    },

    async unrevokedRoots(after, limit) {
      const rows = await database.read<{ token_id: string }>(UNREVOKED_ROOTS, [after, limit]);
      return rows.map(({ token_id }) => token_id);
    },

    async rootsOf(rootPrincipal, limit, before) {
      const rows = await (before === undefined
        ? database.read<StateRow<TokenState>>(ROOTS, [rootPrincipal, limit])
        : database.read<StateRow<TokenState>>(OLDER_ROOTS, [rootPrincipal, limit, before]));
      return rows.map(({ revoked_at, ...row }) => ({
        ...row,
        revoked_at: revoked_at ?? undefined,
      }));
    },

    async describeToken(tokenId, childrenMax) {
      const [row] = await database.read<Row>(DESCRIBE, [tokenId, childrenMax]);
      if (row === undefined) return undefined;
      const own = fixedOf(row.token as string);
      return {
        token: own.token,
        lineage: ((row.lineage ?? []) as Row[]).map((link) => linkOf(link, own)),
        children: row.children as string[],
        childrenCount: Number(row.children_count),
        debts: ((row.debts ?? []) as Row[]).flatMap((debt) => chargeOf(debt) ?? []),
      };
    },
  };
}

interface Issued {
  readonly token: TokenRecord;
  readonly entry: EntryRecord;
}

async function insertRoots(database: Database, issued: readonly Issued[]): Promise<undefined[]> {
  const tokens = issued.map(({ token }) => token);
  await database.write(INSERT_ROOTS, [
    ...rowValues(issued.map(({ entry }) => entry)),
    TOKENS.rows(tokens),
    BUDGETS.rows(tokens.flatMap((token) => newBudget(token) ?? [])),
  ]);
  return issued.map(() => undefined);
}

/** One statement. `run` executes it by itself or in a transaction. */
export async function insertChild(
  run: Session['run'],
  { token, entry }: Issued,
  bounds: ChildBounds,
): Promise<ChildAnswer> {
  const budget = newBudget(token);
  const [row] = await run<{ answer: ChildAnswer }>(INSERT_CHILD, [
    ...rowValues([entry]),
    TOKENS.rows([token]),
    BUDGETS.rows(budget ? [budget] : []),
    bounds.now,
    bounds.childrenMax,
    bounds.judged && sealOf(bounds.judged),
  ]);
  return (row as { answer: ChildAnswer }).answer;
}

type StateRow<State extends TokenState> = Omit<State, 'revoked_at'> & {
  readonly revoked_at: Date | null;
};

interface ChildRow extends StateRow<Omit<ChildState, 'hasChildren'>> {
  readonly has_children: boolean;
}

function childOf({ revoked_at, has_children, ...row }: ChildRow): ChildState {
  return { ...row, revoked_at: revoked_at ?? undefined, hasChildren: has_children };
}

/** Marks the row; the gate is closed, so no admission and no delegation runs meanwhile. */
async function revoke(
  session: Session,
  { token_id, revoked_at, mac }: RevocationFacts & { mac: string | undefined },
): Promise<{ wasAlive: boolean; revoked_at: Date } | undefined> {
  const [before] = await session.run<{ is_alive: boolean }>(ALIVE, [token_id, revoked_at]);
  const [token] = await session.run<{ revoked_at: Date }>(REVOKE, [token_id, revoked_at, mac]);
  if (before === undefined || token === undefined) return undefined;
  return { wasAlive: before.is_alive, revoked_at: token.revoked_at };
}

const FIRST = ROW_VALUES + 1;
const UNREVOKED_ROOTS: Statement = {
  name: 'unrevoked_roots',
  text: `SELECT token_id FROM tokens
    WHERE token_id > $1 AND parent_token_id IS NULL
      AND revoked_at IS NULL AND revoked_mac IS NULL
    ORDER BY token_id LIMIT $2`,
};

const ROOT = `SELECT token_id, expires_at, revoked_at FROM tokens
    WHERE root_principal = $1 AND parent_token_id IS NULL`;
const NEWEST_FIRST = 'ORDER BY issued_at DESC, token_id DESC LIMIT $2';

export const ROOTS: Statement = { name: 'roots_of', text: `${ROOT} ${NEWEST_FIRST}` };

export const OLDER_ROOTS: Statement = {
  name: 'older_roots_of',
  text: `${ROOT} AND (issued_at, token_id) < ((SELECT b.issued_at FROM tokens b
      WHERE b.token_id = $3 AND b.root_principal = $1), $3::text)
    ${NEWEST_FIRST}`,
};

const INSERT_ROOTS: Statement = {
  name: 'insert_roots',
  text: `WITH token AS (${TOKENS.insert(FIRST)}), budget AS (${BUDGETS.insert(FIRST + 1)})
    ${enqueueFrom(1, '')}`,
};

const CLAIMED = "step WHERE answer = 'inserted'";

const INSERT_CHILD: Statement = {
  name: 'insert_child',
  text: `WITH step AS MATERIALIZED (
      SELECT writ_claim_child(token_id, lineage, parent_token_id, $${FIRST + 2}::timestamptz,
        $${FIRST + 3}::integer, $${FIRST + 4}::text) AS answer
      FROM jsonb_populate_recordset(NULL::tokens, $${FIRST}::jsonb)
    ),
    token AS (${TOKENS.insert(FIRST, `, ${CLAIMED}`)}),
    budget AS (${BUDGETS.insert(FIRST + 1, `, ${CLAIMED}`)}),
    entry AS (${enqueueFrom(1, `FROM ${CLAIMED}`)})
    SELECT answer FROM step`,
};

/** Closes the gate of the revoked token; the gate of its actor, if another, is only shared. */
const CLOSE_GATE: Statement = {
  name: 'close_gate',
  text: `SELECT CASE WHEN g.is_closed THEN pg_advisory_xact_lock(${GATE}, g.number)::text
      ELSE pg_advisory_xact_lock_shared(${GATE}, g.number)::text END
    FROM (
      SELECT hashtext(lineage[1]) AS number, bool_or(token_id = $1) AS is_closed
      FROM tokens WHERE token_id IN ($1, $2::text) GROUP BY 1 ORDER BY 1
    ) g`,
};

const ALIVE: Statement = {
  name: 'alive',
  text: `SELECT NOT EXISTS (SELECT FROM tokens a WHERE a.token_id = ANY (t.lineage)
      AND (a.revoked_at IS NOT NULL OR a.expires_at <= $2)) AS is_alive
    FROM tokens t WHERE t.token_id = $1`,
};

const CHILDREN: Statement = {
  name: 'children_of',
  text: `SELECT c.*
    FROM unnest($1::text[]) WITH ORDINALITY AS p (token_id, place)
    CROSS JOIN LATERAL (
      SELECT t.token_id, t.parent_token_id, t.subject, t.expires_at, t.revoked_at,
        EXISTS (SELECT FROM families f WHERE f.token_id = t.token_id AND f.children > 0)
          AS has_children
      FROM tokens t
      WHERE t.parent_token_id = p.token_id AND (p.place > 1 OR t.token_id > $3::text)
      ORDER BY t.token_id LIMIT $2
    ) c
    ORDER BY p.place, c.token_id LIMIT $2`,
};

const REVOKE: Statement = {
  name: 'revoke',
  text: `UPDATE tokens SET revoked_at = coalesce(revoked_at, $2),
      revoked_mac = CASE WHEN revoked_at IS NULL THEN coalesce(revoked_mac, $3) ELSE revoked_mac END
    WHERE token_id = $1 RETURNING revoked_at`,
};

/**
 * The immutable part of the token `alias` as one text: its columns, and the currency and ceiling of its
 * budget. Equal texts share one record, which is made once.
 */
export function tokenJson(alias: string): string {
  return `(SELECT (to_jsonb(${alias}) - 'revoked_at' - 'revoked_mac'
      || jsonb_build_object('currency', w.currency, 'max', w.max::text))::text
    FROM (SELECT) AS one LEFT JOIN budgets w ON w.token_id = ${alias}.token_id)`;
}

/** Of the token `t` itself only the mutable part: the rest is read beside it. */
export const LINEAGE_JSON = `(
  SELECT jsonb_agg(jsonb_build_object(
    'fixed', CASE WHEN l.token_id <> t.token_id THEN ${tokenJson('l')} END,
    'revoked_at', l.revoked_at, 'revoked_mac', l.revoked_mac,
    'reserved', b.reserved::text, 'consumed', b.consumed::text)
    ORDER BY cardinality(l.lineage))
  FROM tokens l LEFT JOIN budgets b ON b.token_id = l.token_id
  WHERE l.token_id = ANY (t.lineage))`;

const DESCRIBE: Statement = {
  name: 'describe_token',
  text: `SELECT ${tokenJson('t')} AS token, ${LINEAGE_JSON} AS lineage,
      ARRAY(SELECT c.token_id FROM tokens c WHERE c.parent_token_id = t.token_id
        ORDER BY c.token_id LIMIT $2) AS children,
      coalesce((SELECT f.children FROM families f WHERE f.token_id = t.token_id), 0)
        AS children_count,
      (SELECT jsonb_agg(jsonb_build_object('currency', d.currency, 'amount', d.amount::text)
        ORDER BY d.currency) FROM debts d WHERE d.token_id = t.token_id) AS debts
    FROM tokens t WHERE t.token_id = $1`,
};
