/**
 * Reads one state of a PostgreSQL store: one transaction that sees what was committed when it began.
 *
 * Rows come through a cursor, so that neither side holds a table in memory. While the transaction is open the
 * server keeps rows that others delete.
 *
 * @module
 */

import { run } from '../../../steps.ts';
import {
  checkedStoreRow,
  type Snapshot,
  type StoreRow,
  snapshotFacts,
} from '../../backup/backup.ts';
import { copiedRow, readingOf } from '../../backup/columns.ts';
import { type CopiedRow, type CopiedTable, LOG } from '../../backup/tables.ts';
import { segmentsFrom } from '../../log/segments.ts';
import { treeHead } from '../../log/tree.ts';
import { queued } from '../calls/ledger.ts';
import { openDatabase, type Session } from '../connection.ts';
import { settingsOf } from '../options.ts';
import { migrate } from '../schema/migrations.ts';
import { readerOn } from '../sql.ts';
import { COLUMNS } from './columns.ts';

/** Rows in one answer of the server; fewer of the tables whose rows have up to one mebibyte. */
const SLICE_ROWS = 500;
const LARGE_SLICE_ROWS = 20;
const LARGE_TABLES: ReadonlySet<string> = new Set([
  ...['idempotency', 'steps', 'intents', 'approval_requests', 'grants', 'deliveries'],
]);

/** A row may be long to come: sorting a table of tokens takes a while. */
const SILENCE_MS = 30 * 60_000;

export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const settings = settingsOf({ create: false });
  const database = openDatabase(url, settings, 1);
  try {
    await migrate(database, settings);
    // The transaction ends when `close` is called.
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let done: Promise<void> = Promise.resolve();
    const snapshot = await new Promise<Omit<Snapshot, 'close'>>((resolve, reject) => {
      done = database
        .reading(async (session) => {
          await session.run(ISOLATION);
          await session.run(UNLIMITED);
          resolve(await snapshotOn(session));
          await ended;
        })
        .catch(reject);
    });
    return {
      ...snapshot,
      async close() {
        end();
        await done;
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function snapshotOn(session: Session): Promise<Omit<Snapshot, 'close'>> {
  const [found] = await session.run<StoreRow>(STORE);
  const row = checkedStoreRow(found);
  const sql = readerOn(session.run);
  const head = await run(treeHead(sql));
  return {
    kind: 'postgres',
    ...snapshotFacts(row, head),
    segments: (table) => (table === LOG ? segmentsFrom(sql, 0).next : queued(sql)),
    rows: (table) => tableRows(session, table),
  };
}

async function* tableRows(session: Session, table: CopiedTable): AsyncGenerator<CopiedRow[]> {
  const count = LARGE_TABLES.has(table.name) ? LARGE_SLICE_ROWS : SLICE_ROWS;
  const fetch = { name: '', text: `FETCH ${count} FROM copied`, silenceMs: SILENCE_MS };
  await session.run({
    name: '',
    text: `DECLARE copied NO SCROLL CURSOR FOR ${readingOf(COLUMNS, table)}`,
  });
  for (;;) {
    const slice = await session.run(fetch);
    if (slice.length > 0) yield slice.map((row) => copiedRow(table, row));
    if (slice.length < count) break;
  }
  await session.run({ name: '', text: 'CLOSE copied' });
}

const ISOLATION = {
  name: '',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY',
};

const UNLIMITED = {
  name: '',
  text: `SELECT set_config('statement_timeout', '0', true),
    set_config('idle_in_transaction_session_timeout', '0', true)`,
};

const STORE = {
  name: '',
  text: `SELECT m.log_id, m.row_seal,
    (SELECT o.log_id FROM origins o WHERE o.first = 0) AS first_id,
    (SELECT coalesce(max(c.sequence), 0)::text FROM checkpoints c) AS checkpoint
    FROM meta m`,
};
