/**
 * Tokens in PostgreSQL: issuance and delegation. `stories/tokens.ts` has the rest.
 *
 * Concurrent root tokens share one commit. The statement that inserts a child also locks its parent's lineage, so that no
 * revocation comes in between.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { TokenRecord } from '../port/records.ts';
import { newBudget } from '../port/row-forms.ts';
import type { ChildBounds, TokenStore } from '../port/store.ts';
import { createSharing } from './batch.ts';
import type { Database, Session, Statement } from './connection.ts';
import { enqueueFrom, ROW_VALUES, rowValues } from './log/entries.ts';
import { BUDGETS, sealOf, TOKENS } from './rows.ts';

type ChildAnswer = Awaited<ReturnType<TokenStore['insertChild']>>;

/** Tokens in one commit. None waits for another; the bound limits the statement's size. */
const ROOT_BATCH = { sizeMax: 64, tripsMax: 4 };

export function createTokens(database: Database): Pick<TokenStore, 'insertRoot' | 'insertChild'> {
  const shareRoots = createSharing<Issued, void>(database.platform, ROOT_BATCH, {
    together: (issued) => insertRoots(database.write, issued),
    async alone(issued) {
      await insertRoots(database.write, [issued]);
    },
  });
  return {
    insertRoot: (token, entry) => shareRoots({ token, entry }),

    insertChild: (token, entry, bounds) => insertChild(database.write, { token, entry }, bounds),
  };
}

interface Issued {
  readonly token: TokenRecord;
  readonly entry: EntryRecord;
}

/** One statement, as in `insertChild`. */
export async function insertRoots(
  run: Session['run'],
  issued: readonly Issued[],
): Promise<undefined[]> {
  const tokens = issued.map(({ token }) => token);
  await run(INSERT_ROOTS, [
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

const FIRST = ROW_VALUES + 1;

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
