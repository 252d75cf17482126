/**
 * Every row of authority and money in PostgreSQL, for fsck (`stories/ledger.ts`).
 *
 * Reads one snapshot, so that other work continues. The snapshot includes queued entries, because it includes their rows.
 *
 * @module
 */

import { run, type Steps } from '../../../steps.ts';
import { readableIn, type Segment } from '../../log/segment.ts';
import type { LedgerSight, LedgerStore } from '../../port/ledger-store.ts';
import type { SqlReader } from '../../sql/sql.ts';
import { columns, type Shape, statement } from '../../sql/statement.ts';
import { readLedger } from '../../stories/ledger.ts';
import type { Database } from '../connection.ts';
import { PATIENCE } from '../inspect.ts';
import { readerOn } from '../sql.ts';

export function createLedgerReader(database: Database): LedgerStore['readLedger'] {
  return (from, see) =>
    database.snapshot(async (session) => {
      await session.run(PATIENCE);
      const sql = readerOn(session.run);
      await run(readLedger(sql, from, see, () => readQueue(sql, see)));
    });
}

/** The entries have no places yet, and no comparison needs one. */
function* readQueue(sql: SqlReader, see: LedgerSight): Steps<void> {
  const queue = queued(sql);
  for (let row = yield* queue(); row; row = yield* queue()) {
    for (const entry of readableIn(row)) see.entry({ ...entry, sequence: Number.NaN });
  }
}

/** Rows of the queue held at once: one has all entries of a statement. */
const QUEUE_PAGE = 16;

/** The rows of the queue one by one, in the order in which their entries get places. */
export function queued(sql: SqlReader): () => Steps<Segment | undefined> {
  let page: readonly QueueRow[] = [];
  let [index, after] = [0, 0];
  return function* () {
    if (index === page.length) {
      page = yield* sql.all(NEXT_QUEUED, after, QUEUE_PAGE);
      index = 0;
    }
    const row = page[index++];
    after = row?.id ?? after;
    return row && { ...row, first: 0 };
  };
}

type QueueRow = Omit<Segment, 'first'> & { readonly id: number };

/** Entries in the form of a segment. */
const QUEUED: Shape<QueueRow> = {
  fields: { id: 'long', count: 'integer', hashes: 'bytes', leaves: 'bytes', personal: 'bytes' },
};
const NEXT_QUEUED = statement('next_queued', QUEUED)`
  SELECT ${columns(QUEUED)} FROM queue WHERE id > $1 ORDER BY id LIMIT $2`;
