/**
 * Keeps the seal of the rows in SQLite, in the transaction of its caller: under the file's write lock.
 *
 * @module
 */

import { ROW_TABLES, type RowStore } from '../port/row-store.ts';
import type { Connection } from './connection.ts';

export function sealRows(
  connection: Connection,
  decide: Parameters<RowStore['sealRows']>[0],
): void {
  const state = connection.get<{ row_seal: string | null; kept: bigint }>(
    `SELECT row_seal, ${ROW_TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ')}
       AS kept FROM store`,
  );
  if (!state) throw new Error('Cannot seal the rows: the table "store" has no row');
  const seal = decide({ seal: state.row_seal ?? undefined, isEmpty: state.kept === 0n });
  if (seal !== undefined) connection.run('UPDATE store SET row_seal = ?', seal);
}
