/**
 * Compares tiles, index blocks and times of erasure with the segments in SQLite.
 *
 * Reads every entry once. Only reads, in the snapshot of its caller.
 *
 * @module
 */

import type { BlockHead } from '../../log/blocks.ts';
import {
  createBlockCheck,
  createRetentionCheck,
  createTileCheck,
  entriesToCheck,
  type Stated,
} from '../../log/derived.ts';
import { bucketRange } from '../../log/numbers.ts';
import type { Connection } from '../connection.ts';
import { eachBlock } from './blocks.ts';
import { segmentsFrom } from './segments.ts';

/** One sentence for each fault. */
export function derivedFaults(connection: Connection): string[] {
  const tiles = createTileCheck();
  const blocks = createBlockCheck([...eachBlock(connection)]);
  const retentions = createRetentionCheck();
  for (const segment of segmentsFrom(connection, 0)) {
    tiles.see(segment);
    const entries = entriesToCheck(segment);
    const stated = retentions.see(entries);
    retentions.compare(stated, statedIn(connection, stated));
    for (const due of blocks.see(segment, entries)) {
      blocks.compare(due, bucketsIn(connection, due.head));
    }
  }
  const stored = connection
    .all<{ id: bigint; hashes: Uint8Array }>('SELECT id, hashes FROM tiles')
    .map(({ id, hashes }) => ({ id: Number(id), hashes }));
  return [
    ...tiles.faults(stored),
    ...blocks.faults(countOf(connection, 'buckets')),
    ...retentions.faults(countOf(connection, 'retentions')),
  ];
}

function countOf(connection: Connection, table: 'buckets' | 'retentions'): number {
  return Number(connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM ${table}`)?.count);
}

function statedIn(connection: Connection, stated: readonly Stated[]): Set<number> {
  const found = stated.filter(({ retain_until, place }) => {
    return connection.get(RETENTION, retain_until, place) !== undefined;
  });
  return new Set(found.map(({ place }) => place));
}

const RETENTION = 'SELECT 1 FROM retentions WHERE retain_until = ? AND place = ?';

function bucketsIn(connection: Connection, head: BlockHead): Map<number, Uint8Array> {
  const { begin, end } = bucketRange(head);
  const rows = connection.all<{ id: bigint; data: Uint8Array }>(
    'SELECT id, data FROM buckets WHERE id >= ? AND id < ?',
    begin,
    end,
  );
  return new Map(rows.map(({ id, data }) => [Number(id), data]));
}
