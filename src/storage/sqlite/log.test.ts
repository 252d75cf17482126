import assert from 'node:assert/strict';
import { beforeEach, test, vi } from 'vitest';
import { foundIn } from '../../../test/store/observe.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import {
  at,
  entry,
  insert,
  rootToken,
  unstorableEntry,
  variedEntry,
} from '../../../test/support/fixtures.ts';
import { appendLeaves, peaksOf } from '../../domain/log/merkle.ts';
import { mergeBlocks } from '../log/block-index.ts';
import { BLOCK_ENTRIES } from '../log/blocks.ts';
import { treeHead } from '../log/tree.ts';
import type { EntryQuery, Store } from '../port/store.ts';
import { type Connection, openConnection } from './connection.ts';
import { atOnce, rowsOn } from './sql.ts';
import { createSqliteStore } from './store.ts';

let connection: Connection;
let store: Store;

beforeEach(() => {
  connection = openConnection(':memory:');
  store = closedAtEnd(createSqliteStore(connection));
});

test('append() leaves no gap and no leaf where a transition of the same batch was undone', async () => {
  const token = rootToken();
  const taken = entry();
  const [first, second] = [entry(), entry()];

  const results = await Promise.allSettled([
    store.append([taken]),
    // Its first entry has a place already when the second one fails.
    store.append([entry(), unstorableEntry()]),
    store.append([first]),
    store.insertRoot({ ...token, lineage: ['tok_other'] }, entry()),
    insert(store, token),
    store.append([second]),
  ]);

  const rejected = results.map(({ status }) => status === 'rejected');
  assert.deepEqual(rejected, [false, true, false, true, false, false]);
  const entries = await store.scanEntries(0, 10);
  assert.deepEqual(
    entries.map(({ sequence }) => sequence),
    [0, 1, 2, 3],
  );
  assert.deepEqual(
    [0, 1, 3].map((place) => entries[place]?.entry_id),
    [taken, first, second].map(({ entry_id }) => entry_id),
  );
  const { size, peaks } = appendLeaves(
    0,
    [],
    entries.map(({ leaf_hash }) => leaf_hash),
  );
  assert.deepEqual(await store.treeHead(), { first: 0, size, peaks });
  assert.deepEqual(await store.nodes(peaksOf(size)), peaks);
});

test('nodes() rejects when a node is missing', async () => {
  await store.append([entry()]);

  await assert.rejects(store.nodes([{ level: 0, index: 1 }]), /Cannot read tree node 1 of level 0/);
  await assert.rejects(store.nodes([{ level: 1, index: 0 }]), /Cannot read tree node 0 of level 1/);
});

test('queryEntries() finds by time whatever the order in which entries came', async () => {
  const size = 3 * BLOCK_ENTRIES;
  // Mostly later and later, as they come, with some that are late or early by a lot.
  const times = Array.from({ length: size }, (_, i) => {
    if (i % 97 === 0) return at(i + 1_500);
    return i % 89 === 0 ? at(Math.max(0, i - 1_500)) : at(i);
  });
  for (let start = 0; start < size; start += 500) {
    const page = times.slice(start, start + 500);
    await store.append(page.map((time) => entry({ timestamp: time.toISOString() })));
  }

  for (const since of [-1, 0, 1, 1_000, 1_024, 1_600, 2_048, 3_000, size + 1_500].map(at)) {
    const found = await foundIn(store, { since, limit: size });

    const expected = times.flatMap((time, sequence) => (time > since ? [sequence] : [])).reverse();
    assert.deepEqual(
      found.map(({ sequence }) => sequence),
      expected,
    );
  }
  const blocks = connection.get<{ count: bigint }>('SELECT count(*) AS count FROM blocks');
  assert.equal(blocks?.count, 3n);
});

/** Entries of a few principals and capabilities, over several blocks. */
const MANY = Array.from({ length: 3 * BLOCK_ENTRIES + 100 }, (_, n) => variedEntry(n, at(n)));

const QUERIES: readonly Omit<EntryQuery, 'limit'>[] = [
  {},
  { rootPrincipal: 'human:4' },
  { entryType: 'operator' },
  { capability: 'c2', entryType: 'invocation' },
  { rootPrincipal: 'human:1', capability: 'c1', entryType: 'invocation' },
  { taskId: 't14' },
  { clientReferenceId: 'ref 150', rootPrincipal: 'human:6' },
  { parentInvocationId: `inv-${'0'.repeat(11)}1` },
  { invocationId: 'inv-000000000800' },
  { rootPrincipal: 'human:4', since: at(2_000) },
  { rootPrincipal: 'human:4', before: 1_500 },
  { capability: 'no such capability' },
];

function expectedOf(query: Omit<EntryQuery, 'limit'>): number[] {
  const { before = Number.POSITIVE_INFINITY, since } = query;
  const isFound = (each: (typeof MANY)[number], place: number) =>
    place < before &&
    (since === undefined || each.timestamp > since) &&
    (query.rootPrincipal ?? each.root_principal) === each.root_principal &&
    (query.entryType ?? each.entry_type) === each.entry_type &&
    (query.capability ?? each.capability) === each.capability &&
    (query.taskId ?? each.task_id) === each.task_id &&
    (query.clientReferenceId ?? each.client_reference_id) === each.client_reference_id &&
    (query.parentInvocationId ?? each.parent_invocation_id) === each.parent_invocation_id &&
    (query.invocationId ?? each.invocation_id) === each.invocation_id;
  return MANY.flatMap((each, place) => (isFound(each, place) ? [place] : [])).reverse();
}

async function appendMany(): Promise<void> {
  for (let start = 0; start < MANY.length; start += 301) {
    await store.append(MANY.slice(start, start + 301));
  }
}

const HARM: readonly (readonly [string, string])[] = [
  ['nothing is damaged', 'SELECT 1'],
  ['a bucket is damaged', 'UPDATE buckets SET data = zeroblob(length(data)) WHERE id % 3 = 0'],
  ['a bucket is missing', 'DELETE FROM buckets WHERE id % 5 = 0'],
  ['a block is missing', 'DELETE FROM blocks WHERE first = 1024'],
  ['all blocks are missing', 'DELETE FROM blocks; DELETE FROM buckets'],
];

for (const [name, harm] of HARM) {
  test(`queryEntries() finds what a walk over all entries finds where ${name}`, async () => {
    await appendMany();
    connection.script(harm);

    for (const query of QUERIES) {
      const found = await foundIn(store, { ...query, limit: 50 });

      assert.deepEqual(
        found.map(({ sequence }) => sequence),
        expectedOf(query),
        JSON.stringify(query),
      );
    }
  });
}

test('findLeaf() finds every entry by its hash and by its invocation, whatever is damaged', async () => {
  await appendMany();
  for (const [, harm] of HARM) {
    connection.script(harm);
    for (const place of [0, 1, 1_023, 1_024, 2_500, MANY.length - 1]) {
      const { leaf_hash, invocation_id = '' } = MANY[place] as (typeof MANY)[number];
      assert.equal((await store.findLeaf({ leaf_hash }))?.sequence, place);
      assert.equal((await store.findLeaf({ invocation_id }))?.sequence, place);
    }
    assert.equal(await store.findLeaf({ leaf_hash: new Uint8Array(32) }), undefined);
  }
});

test('merged blocks find what small ones found, though one was damaged, and have their entries once', async () => {
  const many = Array.from({ length: 33 }, (_, n) =>
    MANY.slice(0, BLOCK_ENTRIES).map((each) => {
      return entry({ root_principal: each.root_principal, capability: `c${n}` });
    }),
  );
  for (const page of many.slice(0, 20)) await store.append(page);
  connection.script('UPDATE blocks SET latest = latest + 1 WHERE first = 5 * 1024');
  for (const page of many.slice(20)) await store.append(page);
  const before = await foundIn(store, { rootPrincipal: 'human:3', limit: 1_000 });

  // The store may have merged them already.
  const sql = rowsOn(connection);
  while (atOnce(mergeBlocks(sql, atOnce(treeHead(sql)))));

  const blocks = connection.all<{ first: bigint; count: bigint }>(
    'SELECT first, count FROM blocks',
  );
  assert.deepEqual(
    blocks.map(({ first, count }) => [Number(first), Number(count)]),
    [
      [0, 32_768],
      [32_768, 1_024],
    ],
  );
  assert.deepEqual(await foundIn(store, { rootPrincipal: 'human:3', limit: 1_000 }), before);
  assert.equal((await foundIn(store, { capability: 'c7', limit: 2_000 })).length, BLOCK_ENTRIES);
  assert.deepEqual(await store.inspect(), []);
});

test('upkeep makes the missing last block of an ended log again', async () => {
  const sought = entry({ task_id: 'sought' });
  await store.append([sought, entry()]);
  await store.beginOrigin(await store.treeHead(), 'the next log', entry());
  connection.script('DELETE FROM blocks; DELETE FROM buckets');

  assert.equal((await foundIn(store, { taskId: 'sought', limit: 10 })).length, 1);
  await vi.waitFor(() => {
    assert.equal(connection.all('SELECT first FROM blocks').length, 1);
  });

  assert.deepEqual(await store.inspect(), []);
  assert.equal((await foundIn(store, { taskId: 'sought', limit: 10 })).length, 1);
});
