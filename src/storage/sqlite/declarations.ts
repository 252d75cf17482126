/**
 * Declarations in SQLite: those that the service last ran with, and what a change of one makes unusable.
 *
 * @module
 */

import {
  type DeclarationRecord,
  type DeclarationStore,
  NOTHING_FITS,
  type StaleApprovals,
  type StaleQuery,
  staleAnswer,
} from '../port/declaration-store.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import { DECLARATIONS } from './rows.ts';

export function keptDeclarations(connection: Connection, limit: number): DeclarationRecord[] {
  const rows = connection.all<Row>('SELECT * FROM declarations ORDER BY capability LIMIT ?', limit);
  return rows.map(DECLARATIONS.read);
}

export function keepDeclarations(
  connection: Connection,
  ...[kept, gone]: Parameters<DeclarationStore['keepDeclarations']>
): void {
  for (const each of kept) connection.run(KEEP, ...DECLARATIONS.values(each));
  for (const name of gone) connection.run('DELETE FROM declarations WHERE capability = ?', name);
}

const KEEP = `INSERT OR REPLACE INTO declarations (${DECLARATIONS.list()})
  VALUES (${DECLARATIONS.slots})`;

export function staleApprovals(
  connection: Connection,
  { capability, fits = NOTHING_FITS, now, limit }: StaleQuery,
): StaleApprovals {
  const countIn = (query: string) => {
    const { contract_version, declaration_digest } = fits;
    const values = [capability, now, limit, contract_version, declaration_digest];
    const row = connection.get<{ looked: bigint; stale: bigint }>(query, ...values);
    return { looked: Number(row?.looked), stale: Number(row?.stale) };
  };
  return staleAnswer(limit, countIn(STALE_REQUESTS), countIn(STALE_GRANTS));
}

function staleIn(table: string, isOpen: string): string {
  return `SELECT count(*) AS looked, count(*) FILTER (
      WHERE NOT (contract_version = ?4 AND declaration_digest = ?5)) AS stale
    FROM (SELECT contract_version, declaration_digest FROM ${table}
      WHERE ${isOpen} AND capability = ?1 AND expires_at > ?2 ORDER BY expires_at LIMIT ?3)`;
}

export const STALE_REQUESTS: string = staleIn('approval_requests', "status = 'pending'");
export const STALE_GRANTS: string = staleIn('grants', 'uses < max_uses');
