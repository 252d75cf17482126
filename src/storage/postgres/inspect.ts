/**
 * Damage that only the database can find: tiles, index blocks, guards, indexes.
 *
 * Only reads, in one snapshot, so appends may continue. Reads whole tables, so it runs longer than other
 * statements may.
 *
 * @module
 */

import {
  createBlockCheck,
  createRetentionCheck,
  createTileCheck,
  entriesToCheck,
  type Stated,
} from '../log/derived.ts';
import { OPEN_COUNTED_MAX, type StoreFigures } from '../port/store.ts';
import type { Database, Session, Statement } from './connection.ts';
import { allHeads, bucketsOfBlock } from './log/blocks.ts';
import { segmentsFrom } from './log/segments.ts';
import { INDEXES } from './schema/migrations.ts';

/** Long enough to read a log of hundreds of millions of entries from a slow disk. */
const INSPECTION_TIMEOUT_MS = 30 * 60_000;

export function inspectDatabase(database: Database): Promise<string[]> {
  return database.snapshot(async (session) => {
    await session.run(PATIENCE);
    return [
      ...(await derivedFaults(session)),
      ...(await missingGuards(session)),
      ...(await missingIndexes(session)),
    ];
  });
}

/** Reads every segment once. */
async function derivedFaults(session: Session): Promise<string[]> {
  const tiles = createTileCheck();
  // Upkeep makes the last blocks after the entries: those that are missing are no damage.
  const blocks = createBlockCheck(await allHeads(session), Number.POSITIVE_INFINITY);
  const retentions = createRetentionCheck();
  for await (const segment of segmentsFrom(session, 0)) {
    tiles.see(segment);
    const entries = entriesToCheck(segment);
    const stated = retentions.see(entries);
    retentions.compare(stated, await statedIn(session, stated));
    for (const due of blocks.see(segment, entries)) {
      blocks.compare(due, await bucketsOfBlock(session, due.head));
    }
  }
  const stored = await session.run<{ id: bigint; hashes: Uint8Array }>(TILES);
  const faults = tiles.faults(stored.map(({ id, hashes }) => ({ id: Number(id), hashes })));
  const [buckets] = await session.run<{ count: bigint }>(BUCKETS);
  const [times] = await session.run<{ count: bigint }>(TIMES);
  return [
    ...faults,
    ...blocks.faults(Number(buckets?.count)),
    ...retentions.faults(Number(times?.count)),
  ];
}

async function statedIn(session: Session, stated: readonly Stated[]): Promise<Set<number>> {
  if (stated.length === 0) return new Set();
  const times = stated.map(({ retain_until }) => retain_until);
  const places = stated.map(({ place }) => place);
  const rows = await session.run<{ place: bigint }>(STATED, [times, places]);
  return new Set(rows.map(({ place }) => Number(place)));
}

async function missingGuards(session: Session): Promise<string[]> {
  const rows = await session.run<GuardRow>(GUARDS, [
    GUARDED.map(([table]) => table),
    GUARDED.map(([, name]) => name),
  ]);
  const faults = rows.filter(({ state }) => state !== ALWAYS);
  return faults.map(({ name, state }) => {
    return `the guard "${name}" ${state === null ? 'is missing' : 'is not enabled always'}`;
  });
}

async function missingIndexes(session: Session): Promise<string[]> {
  const rows = await session.run<IndexRow>(INDEX_STATES, [
    INDEXES.map(({ name }) => name),
    INDEXES.map(({ table }) => table),
    INDEXES.map(({ isUnique }) => isUnique),
  ]);
  const faults = rows.filter(({ is_right }) => !is_right);
  return faults.map(({ name, is_right }) => {
    return `the index "${name}" ${is_right === null ? 'is missing' : 'was changed, or is not valid'}`;
  });
}

/**
 * The triggers that make the log, the tree and the list of logs append-only, enabled for every session role.
 */
const GUARDED: readonly (readonly [table: string, trigger: string])[] = [
  ['segments', 'segments_altered'],
  ['segments', 'segments_inserted'],
  ['segments', 'segments_deleted'],
  ['segments', 'segments_truncated'],
  ['tiles', 'tiles_altered'],
  ['tiles', 'tiles_deleted'],
  ['tiles', 'tiles_truncated'],
  ['origins', 'origins_changed'],
  ['origins', 'origins_truncated'],
];
const ALWAYS = 'A';

interface GuardRow {
  readonly name: string;
  readonly state: string | null;
}

interface IndexRow {
  readonly name: string;
  readonly is_right: boolean | null;
}

export const PATIENCE: Statement = {
  name: 'inspect_patience',
  text: `SELECT set_config('statement_timeout', '${INSPECTION_TIMEOUT_MS}', true)`,
};

const BUCKETS: Statement = {
  name: 'inspect_buckets',
  text: 'SELECT count(*) AS count FROM buckets',
};

const TIMES: Statement = {
  name: 'inspect_times',
  text: 'SELECT count(*) AS count FROM retentions',
};

const STATED: Statement = {
  name: 'inspect_stated',
  text: `SELECT r.place FROM unnest($1::timestamptz[], $2::bigint[]) AS s (retain_until, place)
    JOIN retentions r USING (retain_until, place)`,
};

const TILES: Statement = { name: 'inspect_tiles', text: 'SELECT id, hashes FROM tiles' };

const GUARDS: Statement = {
  name: 'inspect_guards',
  text: `SELECT g.name, t.tgenabled::text AS state
    FROM unnest($1::text[], $2::text[]) AS g (on_table, name)
    LEFT JOIN pg_trigger t ON t.tgrelid = to_regclass(g.on_table) AND t.tgname = g.name`,
};

/** Of the same table, unique where required, and valid: a failed concurrent build leaves an invalid index. */
const INDEX_STATES: Statement = {
  name: 'inspect_indexes',
  text: `SELECT i.name,
      x.indisvalid AND x.indrelid = to_regclass(i.on_table) AND x.indisunique = i.is_unique AS is_right
    FROM unnest($1::text[], $2::text[], $3::boolean[]) AS i (name, on_table, is_unique)
    LEFT JOIN pg_class t ON t.oid = to_regclass(i.on_table)
    LEFT JOIN pg_class c ON c.relname = i.name AND c.relnamespace = t.relnamespace
    LEFT JOIN pg_index x ON x.indexrelid = c.oid`,
};

/** What operators watch. The pending requests are counted in their partial index. */
export async function figures(database: Database, now: Date): Promise<StoreFigures> {
  const [row] = await database.read<{ bytes: unknown; open: unknown }>(FIGURES, [
    now,
    OPEN_COUNTED_MAX,
  ]);
  return { bytes: Number(row?.bytes ?? 0), openApprovals: Number(row?.open ?? 0) };
}

export const FIGURES: Statement = {
  name: 'figures',
  text: `SELECT pg_database_size(current_database()) AS bytes, (SELECT count(*) FROM (
    SELECT 1 FROM approval_requests WHERE status = 'pending' AND expires_at > $1 LIMIT $2) AS one) AS open`,
};
