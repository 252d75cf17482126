/**
 * Declarations: those that the service last ran with, and what a change of one makes unusable.
 *
 * @module
 */

import {
  type DeclarationStore,
  NOTHING_FITS,
  type StaleCount,
  staleAnswer,
} from '../port/declaration-store.ts';
import type { Row } from '../tables/table.ts';
import type { Database, Statement } from './connection.ts';
import { DECLARATIONS } from './rows.ts';

export function createDeclarations(database: Database): DeclarationStore {
  return {
    async keptDeclarations(limit) {
      return (await database.read<Row>(KEPT, [limit])).map(DECLARATIONS.read);
    },

    keepDeclarations: (kept, gone) =>
      database.transaction(async (session) => {
        // In one order, so that processes that start together wait for each other and do not deadlock.
        const ordered = [...kept].sort((one, other) =>
          one.capability < other.capability ? -1 : 1,
        );
        if (kept.length > 0) await session.run(KEEP, [DECLARATIONS.rows(ordered)]);
        if (gone.length > 0) await session.run(FORGET, [gone]);
      }),

    async staleApprovals({ capability, fits = NOTHING_FITS, now, limit }) {
      const { contract_version, declaration_digest } = fits;
      const values = [capability, now, limit, contract_version, declaration_digest];
      const countIn = async (statement: Statement) => {
        const [row] = await database.read<StaleCount>(statement, values);
        return { looked: Number(row?.looked), stale: Number(row?.stale) };
      };
      return staleAnswer(limit, await countIn(STALE_REQUESTS), await countIn(STALE_GRANTS));
    },
  };
}

const KEPT: Statement = {
  name: 'kept_declarations',
  text: `SELECT ${DECLARATIONS.list()} FROM declarations ORDER BY capability LIMIT $1`,
};

const KEEP: Statement = {
  name: 'keep_declarations',
  text: `${DECLARATIONS.insert(1)} ON CONFLICT (capability) DO UPDATE SET
    contract_version = EXCLUDED.contract_version, digest = EXCLUDED.digest,
    declaration = EXCLUDED.declaration, kept_at = EXCLUDED.kept_at`,
};

const FORGET: Statement = {
  name: 'forget_declarations',
  text: 'DELETE FROM declarations WHERE capability = ANY ($1::text[])',
};

function staleIn(table: string, isOpen: string): string {
  return `SELECT count(*) AS looked, count(*) FILTER (
      WHERE NOT (contract_version = $4 AND declaration_digest = $5)) AS stale
    FROM (SELECT contract_version, declaration_digest FROM ${table}
      WHERE ${isOpen} AND capability = $1 AND expires_at > $2
      ORDER BY expires_at LIMIT $3::integer) looked`;
}

export const STALE_REQUESTS: Statement = {
  name: 'stale_requests',
  text: staleIn('approval_requests', "status = 'pending'"),
};

export const STALE_GRANTS: Statement = {
  name: 'stale_grants',
  text: staleIn('grants', 'uses < max_uses'),
};
