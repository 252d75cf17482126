import assert from 'node:assert/strict';
import type pg from 'pg';
import { beforeAll, test } from 'vitest';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { at, entry } from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../../test/support/postgres.ts';
import { INDEX_LOCK } from '../../log/block-index.ts';
import {
  BLOCK_ENTRIES,
  bucketOf,
  FIELDS,
  keyOf,
  MERGED_BLOCKS,
  offsetsIn,
} from '../../log/blocks.ts';
import { bucketNumber } from '../../log/numbers.ts';
import type { EntryQuery, Store } from '../../port/store.ts';
import { openPostgres } from '../store.ts';

/** In milliseconds. Tens of thousands of entries are written. */
const SLOW = 120_000;

/** One large block, one small one, and a tail. */
const SIZE = (MERGED_BLOCKS + 1) * BLOCK_ENTRIES + 300;

/** Places of entries that differ from all others: in each block and in the tail. */
const RARE = [5, 1_023, 1_024, 20_000, 32_767, 32_768, 33_900, SIZE - 2];
const RARE_ROOT = 'human:rare@example.com';

let url: string;
let store: Store;
let admin: pg.Client;

beforeAll(async () => {
  ({ url } = await freshDatabase());
  store = closedAtEnd(await openPostgres(url, { poolSize: 4 }));
  admin = await connectedTo(url);
  for (let from = 0; from < SIZE; from += BLOCK_ENTRIES) {
    const count = Math.min(BLOCK_ENTRIES, SIZE - from);
    await store.append(Array.from({ length: count }, (_, index) => entryAtPlace(from + index)));
    await store.sequence();
  }
  await untilIndexed();
}, SLOW);

function entryAtPlace(place: number) {
  const timestamp = at(place * 1_000).toISOString();
  if (!RARE.includes(place)) return entry({ timestamp, capability: 'common' });
  const rare = { root_principal: RARE_ROOT, capability: 'rare', task_id: `task ${place}` };
  return entry({ timestamp, ...rare });
}

/** Resolves when the blocks are one large and one small one. */
async function untilIndexed(): Promise<void> {
  for (;;) {
    const { rows } = await admin.query('SELECT count FROM blocks ORDER BY first');
    if (rows.length === 2 && rows[0].count === MERGED_BLOCKS * BLOCK_ENTRIES) return;
    // A search that sees a long tail calls for upkeep.
    await store.queryEntries({ limit: 1 });
    await turn();
  }
}

const turn = () => new Promise((done) => setTimeout(done, 10));

/** The places that a query finds, over all its pages. */
async function placesOf(query: Partial<EntryQuery>, from: Store = store): Promise<number[]> {
  const places: number[] = [];
  for (let before: number | undefined; ; ) {
    const page = await from.queryEntries({ limit: 50, ...query, before });
    places.push(...page.entries.map(({ sequence }) => sequence));
    if (page.next === undefined) return places;
    before = page.next;
  }
}

const QUERIES: [name: string, query: Partial<EntryQuery>, expected: readonly number[]][] = [
  ['by root principal', { rootPrincipal: RARE_ROOT }, RARE],
  ['by two fields', { rootPrincipal: RARE_ROOT, capability: 'rare' }, RARE],
  ['by fields of different entries', { rootPrincipal: RARE_ROOT, capability: 'common' }, []],
  ['by a task', { taskId: 'task 20000' }, [20_000]],
  ['since a time', { capability: 'rare', since: at(32_767 * 1_000) }, RARE.slice(5)],
  ['by a value that no entry has', { taskId: 'task 6' }, []],
];

for (const [name, query, expected] of QUERIES) {
  test(`queryEntries() finds entries in large blocks, small blocks and the tail ${name}`, async () => {
    assert.deepEqual(await placesOf(query), [...expected].reverse());
  });
}

test('findLeaf() finds a leaf in every block, and none that does not exist', async () => {
  for (const place of RARE) {
    const [one] = await store.scanEntries(place, 1);
    const found = await store.findLeaf({ leaf_hash: one?.leaf_hash as Uint8Array });
    assert.equal(found?.sequence, place);
  }

  assert.equal(await store.findLeaf({ leaf_hash: entry().leaf_hash }), undefined);
});

test('inspect() finds nothing wrong', async () => {
  assert.deepEqual(await store.inspect(), []);
});

/** The bucket of the large block in which the rare root principal is. */
async function rareBucket(): Promise<{ id: number; offsets: number[] }> {
  const field = FIELDS.indexOf('root_principal');
  const blocks = await admin.query('SELECT buckets FROM blocks WHERE first = 0');
  const bucket = bucketOf(keyOf(RARE_ROOT), blocks.rows[0]?.buckets[field]);
  const id = bucketNumber({ first: 0, field, bucket });
  const { rows } = await admin.query('SELECT data FROM buckets WHERE id = $1', [id]);
  const data = rows[0]?.data;
  return { id, offsets: data ? offsetsIn(new Uint8Array(data), keyOf(RARE_ROOT)) : [] };
}

const DAMAGES: [name: string, statement: string][] = [
  [
    'a bucket with one byte changed',
    'UPDATE buckets SET data = set_byte(data, 20, 255) WHERE id = $1',
  ],
  ['a bucket that is gone', 'DELETE FROM buckets WHERE id = $1'],
  [
    'a block that ends too late',
    'UPDATE blocks SET count = count + 512 WHERE first = 32768 AND $1 > 0',
  ],
  ['a block that is gone', 'DELETE FROM blocks WHERE first = 0 AND $1 > 0'],
];

for (const [name, statement] of DAMAGES) {
  test(`queryEntries() does not believe ${name}, and has it made again`, async () => {
    const { id } = await rareBucket();
    assert.equal((await admin.query(statement, [id])).rowCount, 1);

    for (const [, query, expected] of QUERIES) {
      assert.deepEqual(await placesOf(query), [...expected].reverse());
    }

    await untilIndexed();
    const rare = RARE.filter((place) => place < 32_768);
    while ((await rareBucket()).offsets.join() !== rare.join()) await turn();
    // The head of a small block may still be made again.
    while ((await store.inspect()).length > 0) await turn();
  });
}

test('pages have no gap and no entry twice while entries get places and blocks are made', {
  timeout: SLOW,
}, async () => {
  const [writer, other] = [store, closedAtEnd(await openPostgres(url, { poolSize: 2 }))];
  let isOver = false;
  const writing = [writer, other].map(async (each) => {
    for (let round = 0; round < 40; round++) {
      await each.append(Array.from({ length: 64 }, () => entry({ capability: 'late' })));
    }
    isOver = true;
  });

  while (!isOver) {
    for (const each of [writer, other]) {
      const { entries } = await each.queryEntries({ limit: 200 });
      const places = entries.map(({ sequence }) => sequence);
      assert.deepEqual(
        places,
        places.map((_, index) => (places[0] as number) - index),
      );
    }
  }
  await Promise.all(writing);

  assert.equal((await placesOf({ capability: 'late' })).length, 2 * 40 * 64);
  while ((await store.inspect()).length > 0) await turn();
});

test('erase() waits for a change of the index, and takes erased values out of the blocks', async () => {
  const holder = await connectedTo(url);
  await holder.query('BEGIN');
  await holder.query('SELECT pg_advisory_xact_lock($1)', [INDEX_LOCK]);
  const policy = { what: 'personal', until: at(32_767 * 1_000), limit: 100_000 } as const;
  let isErased = false;
  const erased = store.erase(policy).then((count) => {
    isErased = true;
    return count;
  });
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event = 'advisory' AND query LIKE '%pg_advisory_xact_lock(%'`;
  while ((await admin.query(waiting)).rowCount === 0) await turn();
  assert.equal(isErased, false);

  await holder.query('ROLLBACK');

  assert.equal(await erased, 32_768);
  assert.deepEqual((await rareBucket()).offsets, []);
  assert.deepEqual(
    await placesOf({ rootPrincipal: RARE_ROOT }),
    RARE.filter((place) => place > 32_767).reverse(),
  );
  assert.deepEqual(await placesOf({ capability: 'rare' }), [...RARE].reverse());
  assert.deepEqual(await store.inspect(), []);
  const { rows } = await admin.query(
    `SELECT count(*)::int AS found FROM segments WHERE position('rare@example.com'::bytea in personal) > 0
       AND first < 32000`,
  );
  assert.deepEqual(rows, [{ found: 0 }]);
});
