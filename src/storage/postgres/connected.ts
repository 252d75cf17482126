/**
 * Connected accounts.
 *
 * Connecting and ending lock the row before they queue their entries, so the log has them in the order of that lock.
 * Where there is no row to lock, the key of the table decides between two that connect at once.
 *
 * @module
 */

import type { ConnectedStore } from '../port/connected-store.ts';
import type { Row } from '../tables/table.ts';
import type { Database, Statement } from './connection.ts';
import { enqueue } from './log/entries.ts';
import { CONNECTED } from './rows.ts';

export function createConnected(database: Database): ConnectedStore {
  return {
    async findConnected({ principal, account }) {
      const [row] = await database.read<Row>(FIND, [principal, account]);
      return row && CONNECTED.read(row);
    },

    async listConnected(limit, after) {
      const values = [after?.principal ?? '', after?.account ?? '', limit];
      return (await database.read<Row>(LIST_CONNECTED, values)).map(CONNECTED.read);
    },

    connect: (record, seen, entry) =>
      database.transaction(async (transaction) => {
        const rows = CONNECTED.rows([record]);
        const stored = await (seen === undefined
          ? transaction.run(INSERT, [rows])
          : transaction.run(RECONNECT, [rows, seen]));
        if (stored.length === 0) return false;
        await enqueue(transaction, entry);
        return true;
      }),

    async replaceConnected(next, { connection_id, version }) {
      const values = [CONNECTED.rows([next]), connection_id, version];
      return (await database.write(REPLACE, values)).length > 0;
    },

    endConnected: ({ principal, account }, { connection_id, version }, entry) =>
      database.transaction(async (transaction) => {
        const values = [principal, account, connection_id, version ?? null];
        const [row] = await transaction.run<Row>(DELETE, values);
        if (!row) return undefined;
        await enqueue(transaction, entry);
        return CONNECTED.read(row);
      }),
  };
}

const FIND: Statement = {
  name: 'find_connected',
  text: `SELECT ${CONNECTED.list()} FROM connected_accounts WHERE principal = $1 AND account = $2`,
};

/** The columns compare by bytes, as SQLite does. */
const LIST_CONNECTED: Statement = {
  name: 'list_connected',
  text: `SELECT ${CONNECTED.list()} FROM connected_accounts
    WHERE (principal, account) > ($1, $2) ORDER BY principal, account LIMIT $3`,
};

const INSERT: Statement = {
  name: 'insert_connected',
  text: `${CONNECTED.insert(1)} ON CONFLICT (principal, account) DO NOTHING RETURNING principal`,
};

const REPLACEMENT = `UPDATE connected_accounts t SET (${CONNECTED.list()}) = ROW (${CONNECTED.list('new')})
  FROM jsonb_populate_record(NULL::connected_accounts, $1::jsonb -> 0) new
  WHERE t.principal = new.principal AND t.account = new.account AND t.connection_id = $2`;

const RECONNECT: Statement = { name: 'reconnect', text: `${REPLACEMENT} RETURNING t.principal` };

const REPLACE: Statement = {
  name: 'replace_connected',
  text: `${REPLACEMENT} AND t.version = $3 RETURNING t.principal`,
};

const DELETE: Statement = {
  name: 'end_connected',
  text: `DELETE FROM connected_accounts WHERE principal = $1 AND account = $2
    AND connection_id = $3 AND ($4::bigint IS NULL OR version = $4) RETURNING ${CONNECTED.list()}`,
};
