/**
 * Declarations: those that the service last ran with, and what a change of one makes unusable.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import {
  type DeclarationStore,
  NOTHING_FITS,
  type StaleCount,
  staleAnswer,
} from '../port/declaration-store.ts';
import type { Sql, SqlReader } from '../sql/sql.ts';
import { columns, insertion, type Shape, statement } from '../sql/statement.ts';
import { DECLARATIONS } from '../tables/people.ts';

type Answer<Name extends keyof DeclarationStore> = Steps<
  Awaited<ReturnType<DeclarationStore[Name]>>
>;

export function* keptDeclarations(sql: SqlReader, limit: number): Answer<'keptDeclarations'> {
  return yield* sql.all(KEPT, limit);
}

export function* keepDeclarations(
  sql: Sql,
  ...[kept, gone]: Parameters<DeclarationStore['keepDeclarations']>
): Answer<'keepDeclarations'> {
  // In one order, so that processes that start together wait for each other and do not deadlock.
  const ordered = [...kept].sort((one, other) => (one.capability < other.capability ? -1 : 1));
  yield* sql.put(KEEP, ordered);
  if (gone.length > 0) yield* sql.run(FORGET, gone);
}

export function* staleApprovals(
  sql: SqlReader,
  ...[{ capability, fits = NOTHING_FITS, now, limit }]: Parameters<
    DeclarationStore['staleApprovals']
  >
): Answer<'staleApprovals'> {
  const { contract_version, declaration_digest } = fits;
  const values = [capability, now, limit, contract_version, declaration_digest];
  const requests = yield* sql.one(STALE_REQUESTS, ...values);
  const grants = yield* sql.one(STALE_GRANTS, ...values);
  return staleAnswer(limit, requests ?? NONE, grants ?? NONE);
}

const NONE: StaleCount = { looked: 0, stale: 0 };

const KEPT = statement('kept_declarations', DECLARATIONS)`
  SELECT ${columns(DECLARATIONS)} FROM declarations ORDER BY capability LIMIT $1`;

const KEEP = insertion('keep_declarations', DECLARATIONS, '(capability)');

const FORGET = statement('forget_declarations')`
  DELETE FROM declarations WHERE capability = ANY ($1::text[])`;

const COUNT: Shape<StaleCount> = { fields: { looked: 'integer', stale: 'integer' } };

function staleIn(name: string, table: string, isOpen: string) {
  return statement(name, COUNT)`
    SELECT count(*) AS looked, count(*) FILTER (
      WHERE NOT (contract_version = $4 AND declaration_digest = $5)) AS stale
    FROM (SELECT contract_version, declaration_digest FROM ${table}
      WHERE ${isOpen} AND capability = $1 AND expires_at > $2
      ORDER BY expires_at LIMIT $3::integer) looked`;
}

export const STALE_REQUESTS = staleIn('stale_requests', 'approval_requests', "status = 'pending'");
export const STALE_GRANTS = staleIn('stale_grants', 'grants', 'uses < max_uses');
