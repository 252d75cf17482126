/**
 * Keeps the seal of the rows.
 *
 * Sealing is one transaction under the migration lock: of replicas that start at once one seals, and the
 * others find it done.
 *
 * @module
 */

import { ROW_TABLES, type RowStore } from '../port/row-store.ts';
import type { Database, Statement } from './connection.ts';
import { MIGRATION_LOCK, PATIENCE } from './schema/migrations.ts';

export function createRows(database: Database): Pick<RowStore, 'sealRows'> {
  return {
    sealRows: (decide) =>
      database.transaction(async (session) => {
        await session.run(PATIENCE, []);
        await session.run(LOCK, [MIGRATION_LOCK]);
        const [state] = await session.run<StateRow>(STATE, []);
        if (!state) throw new Error('Cannot seal the rows: the table "meta" has no row');
        const { row_seal, is_empty } = state;
        const seal = decide({ seal: row_seal ?? undefined, isEmpty: is_empty });
        if (seal !== undefined) await session.run(SEAL, [seal]);
      }),
  };
}

interface StateRow {
  readonly row_seal: string | null;
  readonly is_empty: boolean;
}

const LOCK: Statement = { name: 'row_seal_lock', text: 'SELECT pg_advisory_xact_lock($1)' };

const STATE: Statement = {
  name: 'row_seal_state',
  text: `SELECT row_seal, NOT (${ROW_TABLES.map((table) => `EXISTS (SELECT FROM ${table})`).join(' OR ')})
    AS is_empty FROM meta`,
};

const SEAL: Statement = { name: 'row_seal', text: 'UPDATE meta SET row_seal = $1' };
