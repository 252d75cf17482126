import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'vitest';
import { appendLeaves, peaksOf } from '../../domain/merkle.ts';
import { at, entry, keep, rootToken } from '../../testing/fixtures.ts';
import type { EntryQuery, Store } from '../store.ts';
import { type Connection, openConnection } from './connection.ts';
import { queryEntries } from './log-reader.ts';
import { MARK_SPACING } from './log-writer.ts';
import { createSqliteStore } from './store.ts';

let connection: Connection;
let store: Store;

beforeEach(() => {
  connection = openConnection(':memory:');
  store = createSqliteStore(connection);
});
afterEach(() => store.close());

test('append() leaves no gap and no leaf where a transition of the same batch was undone', async () => {
  const token = rootToken();
  const taken = entry();
  const [first, second] = [entry(), entry()];

  const results = await Promise.allSettled([
    store.append([taken]),
    // Its first entry has a place already when the second one fails.
    store.append([entry(), taken]),
    store.append([first]),
    store.insertRoot({ ...token, lineage: ['tok_other'] }, entry()),
    keep(store, token),
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
  assert.deepEqual(await store.treeHead(), { size, peaks });
  assert.deepEqual(await store.nodes(peaksOf(size)), peaks);
});

test('nodes() rejects when a node is missing', async () => {
  await store.append([entry()]);

  await assert.rejects(store.nodes([{ level: 0, index: 1 }]), /Cannot read tree node 1 of level 0/);
  await assert.rejects(store.nodes([{ level: 1, index: 0 }]), /Cannot read tree node 0 of level 1/);
});

test('queryEntries() finds by time whatever the order in which entries came', async () => {
  const size = 3 * MARK_SPACING;
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
    const found = await store.queryEntries({ since, limit: size });

    const expected = times.flatMap((time, sequence) => (time > since ? [sequence] : [])).reverse();
    assert.deepEqual(
      found.map(({ sequence }) => sequence),
      expected,
    );
  }
  const marks = connection.get<{ count: bigint }>('SELECT count(*) AS count FROM marks');
  assert.ok(Number(marks?.count) >= 2, `${marks?.count} marks`);
});

const QUERIES: Readonly<Record<string, Omit<EntryQuery, 'limit'>>> = {
  log_by_invocation: { rootPrincipal: 'r', invocationId: 'i', capability: 'c', since: at(0) },
  log_by_parent: { rootPrincipal: 'r', parentInvocationId: 'p' },
  log_by_reference: { rootPrincipal: 'r', clientReferenceId: 'c' },
  log_by_task: { rootPrincipal: 'r', taskId: 't', entryType: 'invocation' },
  log_by_root_principal: {
    rootPrincipal: 'r',
    capability: 'c',
    entryType: 'invocation',
    before: 9,
  },
  log_by_capability: { capability: 'c', since: at(0) },
  'INTEGER PRIMARY KEY': { entryType: 'operator', since: at(0), before: 9 },
};

for (const [index, query] of Object.entries(QUERIES)) {
  test(`queryEntries() walks ${index} for ${Object.keys(query).join(', ')}, and never sorts`, () => {
    const plans: string[] = [];
    const explained: Connection = {
      ...connection,
      all: (sql, ...values) => {
        const rows = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
        plans.push(...rows.map(({ detail }) => detail));
        return [];
      },
    };

    queryEntries(explained, { ...query, limit: 50 });

    assert.equal(plans.length, 1, plans.join('; '));
    assert.match(plans[0] ?? '', new RegExp(`^SEARCH log USING (INDEX )?${index} `));
  });
}
