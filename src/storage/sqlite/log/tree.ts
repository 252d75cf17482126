/**
 * The head of the tree in SQLite.
 *
 * @module
 */

import { firstPlaceOf, leafIndexOf } from '../../../domain/log/origin.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Connection } from '../connection.ts';

const HASH_BYTES = 32;

export function readHead(connection: Connection): TreeHead {
  const row = connection.get<{ size: bigint; peaks: Uint8Array }>('SELECT size, peaks FROM head');
  if (!row) throw new Error('Cannot read the tree: it has no head');
  const next = Number(row.size);
  return { first: firstPlaceOf(next), size: leafIndexOf(next), peaks: peaksIn(row.peaks) };
}

/** Peaks as they are stored, one after the other. */
function peaksIn(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, place) => {
    return bytes.slice(HASH_BYTES * place, HASH_BYTES * (place + 1));
  });
}

export function writeHead(connection: Connection, { first, size, peaks }: TreeHead): void {
  connection.run('UPDATE head SET size = ?, peaks = ?', first + size, Buffer.concat(peaks));
}
