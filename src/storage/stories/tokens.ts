/**
 * Tokens: revocation, lists and descriptions. Issuance and delegation are written for each database.
 *
 * A revocation closes the gate of its token tree first. Admissions and delegations share that gate, so each of them comes
 * wholly before the revocation or sees it, in every process. It then changes the row of its token alone: the tokens below
 * it end because each of them is judged by its whole lineage.
 *
 * @module
 */

import { amended } from '../../domain/values/amended.ts';
import type { Steps } from '../../steps.ts';
import type { BudgetState, LineageLink, TokenRecord } from '../port/records.ts';
import type { ChildState, TokenState, TokenStore } from '../port/store.ts';
import type { Sql, SqlReader } from '../sql/sql.ts';
import {
  columns,
  either,
  type Fragment,
  fragment,
  part,
  rowsOf,
  type Shape,
  statement,
  whole,
  withLists,
} from '../sql/statement.ts';
import { DEBTS, TOKENS } from '../tables/authority.ts';
import { linkFrom, withBudget } from '../tables/lineage.ts';

type Answer<Name extends keyof TokenStore> = Steps<Awaited<ReturnType<TokenStore[Name]>>>;

/** Three statements under the gate: what is dead above, the mark, the entry. */
export function* revokeToken(
  sql: Sql,
  ...[tokenId, now, entry, { actor, mac } = {}]: Parameters<TokenStore['revokeToken']>
): Answer<'revokeToken'> {
  const ended = yield* sql.closeGate(tokenId, actor, now);
  if (ended) return ended;
  const dead = yield* sql.one(DEAD, tokenId, now);
  const revoked = yield* sql.one(REVOKE, tokenId, now, mac);
  if (!revoked) return undefined;
  const wasAlive = dead === undefined;
  yield* sql.append(entry(wasAlive));
  return { wasAlive, revoked_at: revoked.revoked_at ?? now };
}

export function* childrenOf(
  sql: SqlReader,
  ...[parents, limit, after = '']: Parameters<TokenStore['childrenOf']>
): Answer<'childrenOf'> {
  const rows = yield* sql.all(CHILDREN, parents, limit, after);
  return rows.map(({ children, ...child }) => amended(child, { hasChildren: children > 0 }));
}

export function* unrevokedRoots(
  sql: SqlReader,
  ...[after, limit]: Parameters<TokenStore['unrevokedRoots']>
): Answer<'unrevokedRoots'> {
  return (yield* sql.all(UNREVOKED_ROOTS, after, limit)).map(({ token_id }) => token_id);
}

export function* rootsOf(
  sql: SqlReader,
  ...[rootPrincipal, limit, before]: Parameters<TokenStore['rootsOf']>
): Answer<'rootsOf'> {
  return before === undefined
    ? yield* sql.all(ROOTS, rootPrincipal, limit)
    : yield* sql.all(OLDER_ROOTS, rootPrincipal, limit, before);
}

export function* describeToken(
  sql: SqlReader,
  ...[tokenId, childrenMax]: Parameters<TokenStore['describeToken']>
): Answer<'describeToken'> {
  const row = yield* sql.one(DESCRIBE, tokenId, childrenMax);
  const lineage = row?.links.map(linkOf) ?? [];
  const own = lineage.find(({ token_id }) => token_id === tokenId);
  if (!row || !own) return undefined;
  return {
    token: own.token,
    lineage,
    children: row.first_children.map(({ token_id }) => token_id),
    childrenCount: row.children,
    debts: row.debts,
  };
}

export type LinkRow = Omit<TokenRecord, 'budget'> &
  Pick<LineageLink, 'revoked_at' | 'revoked_mac'> &
  Partial<Omit<BudgetState, 'token_id'>>;

export function linkOf(row: LinkRow): LineageLink {
  const { revoked_at, revoked_mac, currency, max, reserved, consumed, ...own } = row;
  const budget = currency === undefined || max === undefined ? undefined : { currency, max };
  return linkFrom(
    { token: withBudget(own, budget), budget },
    { revoked_at, revoked_mac, reserved, consumed },
  );
}

const TOKEN = whole<Omit<TokenRecord, 'budget'>, Pick<LineageLink, 'revoked_at' | 'revoked_mac'>>(
  TOKENS,
);
const TOKEN_ID = part(TOKENS, 'token_id');

/** A token with its budget. */
export const LINK: Shape<LinkRow> = {
  fields: {
    ...TOKEN.fields,
    currency: 'text?',
    max: 'amount?',
    reserved: 'amount?',
    consumed: 'amount?',
  },
};

/** Of a token and its budget `b`. In JSON an amount is text, because it may exceed what a JSON number holds. */
export function linkColumns(alias: string): Fragment {
  return fragment`${columns(TOKEN, alias)}, b.currency, CAST(b.max AS text) AS max,
    CAST(b.reserved AS text) AS reserved, CAST(b.consumed AS text) AS consumed`;
}

/** The token `t` itself is one of them, also where its list was edited. */
const L_IN_LINEAGE_OF_T = either({
  sqlite: `(l.token_id = t.token_id OR l.token_id IN (
    SELECT value FROM json_each(iif(json_valid(t.lineage), t.lineage, '[]'))))`,
  postgres: 'l.token_id = ANY (t.lineage || t.token_id)',
});

/** Without a time, the MAC of a revocation is one. */
const DEAD = statement('dead_above', TOKEN_ID)`
  SELECT l.token_id FROM tokens t JOIN tokens l ON ${L_IN_LINEAGE_OF_T}
  WHERE t.token_id = $1
    AND (l.revoked_at IS NOT NULL OR l.revoked_mac IS NOT NULL OR l.expires_at <= $2)
  LIMIT 1`;

const REVOKE = statement('revoke', part(TOKEN, 'revoked_at'))`
  UPDATE tokens SET revoked_at = coalesce(revoked_at, $2),
    revoked_mac = CASE WHEN revoked_at IS NULL THEN coalesce(revoked_mac, $3) ELSE revoked_mac END
  WHERE token_id = $1 RETURNING revoked_at`;

const UNREVOKED_ROOTS = statement('unrevoked_roots', TOKEN_ID)`
  SELECT token_id FROM tokens
  WHERE token_id > $1 AND parent_token_id IS NULL AND revoked_at IS NULL AND revoked_mac IS NULL
  ORDER BY token_id LIMIT $2`;

const STATE: Shape<TokenState> = part(TOKEN, 'token_id', 'expires_at', 'revoked_at');

const ROOTS_OF = fragment`SELECT ${columns(STATE)} FROM tokens
  WHERE root_principal = $1 AND parent_token_id IS NULL`;
const NEWEST_FIRST = 'ORDER BY issued_at DESC, token_id DESC LIMIT $2';

export const ROOTS = statement('roots_of', STATE)`${ROOTS_OF} ${NEWEST_FIRST}`;

export const OLDER_ROOTS = statement('older_roots_of', STATE)`
  ${ROOTS_OF} AND (issued_at, token_id) < ((SELECT b.issued_at FROM tokens b
    WHERE b.token_id = $3 AND b.root_principal = $1), $3::text)
  ${NEWEST_FIRST}`;

/** Of the token `t`. PostgreSQL counts apart from the row, which admissions hold. */
export const CHILDREN_COUNT = either({
  sqlite: 't.children',
  postgres: 'coalesce((SELECT f.children FROM families f WHERE f.token_id = t.token_id), 0)',
});

const CHILD: Shape<Omit<ChildState, 'hasChildren'> & { readonly children: number }> = {
  fields: { ...STATE.fields, parent_token_id: 'text', subject: 'text', children: 'integer' },
};
const CHILD_COLUMNS = fragment`t.token_id, t.parent_token_id, t.subject, t.expires_at,
  t.revoked_at, ${CHILDREN_COUNT} AS children`;

/**
 * Stops at the limit, however many children the parents have. SQLite has no LATERAL: each step of `walk` is the next child,
 * or null where a parent has no more.
 */
const CHILDREN = statement('children_of', CHILD)`${either({
  sqlite: fragment`
    WITH RECURSIVE walk (place, token_id) AS (
      SELECT 0, $3
      UNION ALL
      SELECT w.place + (w.token_id IS NULL), (
        SELECT min(c.token_id) FROM tokens c
        WHERE c.parent_token_id = $1 ->> (w.place + (w.token_id IS NULL))
          AND c.token_id > coalesce(w.token_id, ''))
      FROM walk w WHERE w.place < json_array_length($1)
      LIMIT $2 + json_array_length($1) + 1
    )
    SELECT ${CHILD_COLUMNS} FROM walk JOIN tokens t USING (token_id)
    WHERE walk.token_id <> $3 ORDER BY walk.place, walk.token_id LIMIT $2`,
  postgres: fragment`
    SELECT c.* FROM unnest($1::text[]) WITH ORDINALITY AS p (token_id, place)
    CROSS JOIN LATERAL (
      SELECT ${CHILD_COLUMNS} FROM tokens t
      WHERE t.parent_token_id = p.token_id AND (p.place > 1 OR t.token_id > $3::text)
      ORDER BY t.token_id LIMIT $2
    ) c
    ORDER BY p.place, c.token_id LIMIT $2`,
})}`;

const DEBT = part(DEBTS, 'currency', 'amount');

const DESCRIPTION = withLists(
  { fields: { children: 'integer' } } as Shape<{ readonly children: number }>,
  { links: LINK, first_children: TOKEN_ID, debts: DEBT },
);

const DESCRIBE = statement('describe_token', DESCRIPTION)`
  SELECT ${CHILDREN_COUNT} AS children,
    (SELECT ${rowsOf(LINK, 'link', 'link.depth')} FROM (
      SELECT ${linkColumns('l')} FROM tokens l LEFT JOIN budgets b ON b.token_id = l.token_id
      WHERE ${L_IN_LINEAGE_OF_T}) link) AS links,
    (SELECT ${rowsOf(TOKEN_ID, 'child', 'child.token_id')} FROM (
      SELECT c.token_id FROM tokens c WHERE c.parent_token_id = t.token_id
      ORDER BY c.token_id LIMIT $2) child) AS first_children,
    (SELECT ${rowsOf(DEBT, 'debt', 'debt.currency')} FROM (
      SELECT d.currency, CAST(d.amount AS text) AS amount FROM debts d
      WHERE d.token_id = t.token_id) debt) AS debts
  FROM tokens t WHERE t.token_id = $1`;
