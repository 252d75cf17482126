/**
 * Declarations: those that the service last ran with, and what a change of one makes unusable.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import { type DeclarationStore, NOTHING_FITS } from '../port/declaration-store.ts';
import type { Sql, SqlReader } from '../sql/sql.ts';
import { columns, GREATEST, insertion, type Shape, statement } from '../sql/statement.ts';
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
  const count = yield* sql.one(STALE, ...values);
  if (!count) throw new Error('Cannot count stale approvals: the database returned no row');
  const { requests, grants, looked } = count;
  return { requests, grants, isComplete: looked < limit };
}

const KEPT = statement('kept_declarations', DECLARATIONS)`
  SELECT ${columns(DECLARATIONS)} FROM declarations ORDER BY capability LIMIT $1`;

const KEEP = insertion('keep_declarations', DECLARATIONS, '(capability)');

const FORGET = statement('forget_declarations')`
  DELETE FROM declarations WHERE capability = ANY ($1::text[])`;

function staleIn(table: string, isOpen: string) {
  return `(
    SELECT count(*) AS looked, count(*) FILTER (
      WHERE NOT (contract_version = $4 AND declaration_digest = $5)) AS stale
    FROM (SELECT contract_version, declaration_digest FROM ${table}
      WHERE ${isOpen} AND capability = $1 AND expires_at > $2
      ORDER BY expires_at LIMIT $3::integer) open)`;
}

/** `looked` has the rows of the table of which more were looked at. */
const COUNT: Shape<Record<'requests' | 'grants' | 'looked', number>> = {
  fields: { requests: 'integer', grants: 'integer', looked: 'integer' },
};
export const STALE = statement('stale_approvals', COUNT)`
  SELECT r.stale AS requests, g.stale AS grants, ${GREATEST}(r.looked, g.looked) AS looked
  FROM ${staleIn('approval_requests', "status = 'pending'")} r,
    ${staleIn('grants', 'uses < max_uses')} g`;
