/**
 * Writes entries at given places: of a new log, or from a backup.
 *
 * The sequencer places queued entries inside the database and does not use this.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import { firstPlaceOf, leafIndexOf } from '../../../domain/log/origin.ts';
import { tileNumber } from '../../log/numbers.ts';
import { refuseUnfit, type Storable, segmentsOf } from '../../log/segment.ts';
import { growTiles } from '../../log/tiles.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Session, Statement } from '../connection.ts';
import { closeBlock, indexNext } from './blocks.ts';

/** Entries that are written together. */
const TOGETHER = 256;

/**
 * In bytes of leaves and personal fields. The server cuts entries out of a segment, so larger ones than SQLite
 * has cost little, and fewer rows save work.
 */
export const PLACED_BYTES_MAX = 32_768;

export interface HeadRow {
  /** The place of the next entry. */
  readonly size: bigint;
  readonly peaks: Uint8Array[];
}

export function headOf({ size, peaks }: HeadRow): TreeHead {
  const next = Number(size);
  return { first: firstPlaceOf(next), size: leafIndexOf(next), peaks };
}

/**
 * Writes entries in order of their places, above the tree `head`, with their index blocks. Returns the tree
 * with them; the head row stays. Only inside a transaction.
 */
export async function insertPlaced(
  session: Session,
  head: TreeHead,
  entries: readonly StoredEntry[],
): Promise<TreeHead> {
  let tree = head;
  for (let at = 0; at < entries.length; ) {
    const first = firstPlaceOf((entries[at] as StoredEntry).sequence);
    if (first !== tree.first) {
      await closeBlock(session, tree);
      tree = { first, size: 0, peaks: [] };
    }
    const part = entries.slice(at, at + TOGETHER);
    const own = part.filter(({ sequence }) => firstPlaceOf(sequence) === first);
    refuseUnfit(own, tree.first + tree.size);
    tree = await insertEntries(session, tree, own);
    while (await indexNext(session, tree));
    at += own.length;
  }
  return tree;
}

/** Writes entries at the next places, in order. Returns the tree with them. Only inside a transaction. */
export async function insertEntries(
  session: Session,
  head: TreeHead,
  entries: readonly Storable[],
): Promise<TreeHead> {
  const place = head.first + head.size;
  const parts = segmentsOf(place, entries, PLACED_BYTES_MAX);
  for (const { first, count, hashes, leaves, personal } of parts) {
    await session.run(INSERT_SEGMENT, [first, count, hashes, leaves, personal]);
  }
  const stated = entries.flatMap(({ retain_until, leaf }, index) => {
    return retain_until && leaf ? [{ retain_until, place: place + index }] : [];
  });
  if (stated.length > 0) {
    const times = stated.map(({ retain_until }) => retain_until);
    await session.run(INSERT_RETENTIONS, [times, stated.map((each) => each.place)]);
  }
  const grown = growTiles(
    head,
    entries.map(({ leaf_hash }) => leaf_hash),
  );
  if (grown.tiles.length > 0) {
    const hashes = grown.tiles.map((tile) => tile.hashes);
    await session.run(GROW_TILES, [grown.tiles.map(tileNumber), hashes]);
  }
  return grown.head;
}

export async function writeHead(session: Session, tree: TreeHead): Promise<void> {
  await session.run(MOVE_HEAD, [tree.first + tree.size, [...tree.peaks]]);
}

const INSERT_SEGMENT: Statement = {
  name: 'insert_segment',
  text: `INSERT INTO segments (first, count, hashes, leaves, personal) VALUES ($1, $2, $3, $4, $5)`,
};

const INSERT_RETENTIONS: Statement = {
  name: 'insert_retentions',
  text: `INSERT INTO retentions (retain_until, place)
    SELECT * FROM unnest($1::timestamptz[], $2::bigint[])`,
};

/**
 * Two parameters: the numbers of the tiles, and what each gets at its end. For every row of `held`, if there is such
 * a table.
 */
export function growTilesAt(first: number, held = '(SELECT)'): string {
  return `INSERT INTO tiles (id, hashes) SELECT grown.* FROM ${held} AS once,
      unnest($${first}::bigint[], $${first + 1}::bytea[]) AS grown
    ON CONFLICT (id) DO UPDATE SET hashes = tiles.hashes || EXCLUDED.hashes`;
}

const GROW_TILES: Statement = { name: 'grow_tiles', text: growTilesAt(1) };

const MOVE_HEAD: Statement = { name: 'move_head', text: 'UPDATE head SET size = $1, peaks = $2' };
