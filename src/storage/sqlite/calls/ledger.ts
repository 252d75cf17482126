/**
 * Every row of authority and money in SQLite, for fsck (`stories/ledger.ts`). Runs in the snapshot of its caller.
 *
 * @module
 */

import type { LedgerSight } from '../../port/ledger-store.ts';
import { beginLedger } from '../../stories/ledger.ts';
import type { Connection } from '../connection.ts';
import { segmentsFrom } from '../log/segments.ts';
import { atOnce, readerOn } from '../sql.ts';

export function readLedger(connection: Connection, from: number, see: LedgerSight): void {
  const reading = atOnce(beginLedger(readerOn(connection), from, see));
  for (const segment of segmentsFrom(connection, 0)) atOnce(reading.take(segment));
  atOnce(reading.rest());
}
