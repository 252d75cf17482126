/**
 * Compares tiles and index blocks with the segments in SQLite.
 *
 * Reads every entry once. Only reads, in the snapshot of its caller.
 *
 * @module
 */

import type { BlockHead } from '../../log/blocks.ts';
import { createBlockCheck, createTileCheck } from '../../log/derived.ts';
import { bucketRange } from '../../log/numbers.ts';
import type { Connection } from '../connection.ts';
import { eachBlock } from './blocks.ts';
import { segmentsFrom } from './segments.ts';

/** One sentence for each fault. */
export function derivedFaults(connection: Connection): string[] {
  const tiles = createTileCheck();
  const blocks = createBlockCheck([...eachBlock(connection)]);
  for (const segment of segmentsFrom(connection, 0)) {
    tiles.see(segment);
    for (const due of blocks.see(segment)) {
      blocks.compare(due, bucketsIn(connection, due.head));
    }
  }
  const stored = connection
    .all<{ id: bigint; hashes: Uint8Array }>('SELECT id, hashes FROM tiles')
    .map(({ id, hashes }) => ({ id: Number(id), hashes }));
  const row = connection.get<{ count: bigint }>('SELECT count(*) AS count FROM buckets');
  return [...tiles.faults(stored), ...blocks.faults(Number(row?.count))];
}

function bucketsIn(connection: Connection, head: BlockHead): Map<number, Uint8Array> {
  const { begin, end } = bucketRange(head);
  const rows = connection.all<{ id: bigint; data: Uint8Array }>(
    'SELECT id, data FROM buckets WHERE id >= ? AND id < ?',
    begin,
    end,
  );
  return new Map(rows.map(({ id, data }) => [Number(id), data]));
}
