/**
 * Every row of authority and money in PostgreSQL, for fsck (`stories/ledger.ts`).
 *
 * Reads one snapshot, so that other work continues. The snapshot includes queued entries, because it includes their rows.
 *
 * @module
 */

import { run } from '../../../steps.ts';
import { readableIn } from '../../log/segment.ts';
import type { LedgerSight, LedgerStore } from '../../port/ledger-store.ts';
import { beginLedger } from '../../stories/ledger.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { PATIENCE } from '../inspect.ts';
import { type SegmentRow, segmentOf, segmentsFrom } from '../log/segments.ts';
import { readerOn } from '../sql.ts';

export function createLedgerReader(database: Database): LedgerStore['readLedger'] {
  return (from, see) =>
    database.reading(async (session) => {
      await session.run(ONE_SNAPSHOT);
      await session.run(PATIENCE);
      const reading = await run(beginLedger(readerOn(session.run), from, see));
      for await (const segment of segmentsFrom(session, 0)) await run(reading.take(segment));
      await readQueue(session, see);
      await run(reading.rest());
    });
}

/** Rows of the queue held at once: one has all entries of a statement. */
const QUEUE_PAGE = 16;

/** The entries have no places yet, and no comparison needs one. */
async function readQueue(session: Session, see: LedgerSight): Promise<void> {
  for (let after = 0n; ; ) {
    const page = await session.run<QueueRow>(WAITING, [after, QUEUE_PAGE]);
    for (const row of page) {
      const segment = segmentOf({ ...row, first: 0n });
      for (const entry of readableIn(segment)) see.entry({ ...entry, sequence: Number.NaN });
    }
    const last = page.at(-1);
    if (!last || page.length < QUEUE_PAGE) return;
    after = last.id;
  }
}

type QueueRow = SegmentRow & { readonly id: bigint };

const ONE_SNAPSHOT: Statement = {
  name: 'one_snapshot',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
};

/** Entries of the queue, in the form of a segment. */
const WAITING: Statement = {
  name: 'ledger_waiting',
  text: `SELECT id, count, hashes, leaves, personal FROM queue WHERE id > $1 ORDER BY id LIMIT $2`,
};
