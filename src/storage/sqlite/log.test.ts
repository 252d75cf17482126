import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../test/ends.ts';
import { appendLeaves, peaksOf } from '../../domain/log/merkle.ts';
import { EntryType } from '../../protocol/audit.ts';
import { at, entry, insert, rootToken } from '../../testing/fixtures.ts';
import { foundIn } from '../../testing/store/observe.ts';
import type { EntryQuery, Store } from '../port/store.ts';
import { type Connection, openConnection, type Value } from './connection.ts';
import { findLeaf, queryEntries } from './log/reader.ts';
import { MARK_SPACING } from './log/writer.ts';
import { HASH_BLOCK } from './schema/schema.ts';
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
    store.append([entry(), { ...entry(), entry_id: taken.entry_id }]),
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
    const found = await foundIn(store, { since, limit: size });

    const expected = times.flatMap((time, sequence) => (time > since ? [sequence] : [])).reverse();
    assert.deepEqual(
      found.map(({ sequence }) => sequence),
      expected,
    );
  }
  const marks = connection.get<{ count: bigint }>('SELECT count(*) AS count FROM marks');
  assert.ok(Number(marks?.count) >= 2, `${marks?.count} marks`);
});

/** What a query can name, the rarest first: the column, and the end of the index's name. */
const NAMED = [
  ['invocationId', 'invocation_id', 'invocation'],
  ['parentInvocationId', 'parent_invocation_id', 'parent'],
  ['clientReferenceId', 'client_reference_id', 'reference'],
  ['taskId', 'task_id', 'task'],
  ['capability', 'capability', 'capability'],
] as const;

/** Every set of filters, each with the index that has the rarest, the trail and the type. */
const QUERIES = Array.from({ length: 2 ** (NAMED.length + 2) }, (_, set) => {
  const has = (place: number) => (set & (2 ** place)) !== 0;
  const named = NAMED.filter((_name, place) => has(place));
  const [isTrail, isTyped] = [has(NAMED.length), has(NAMED.length + 1)];
  const query: Omit<EntryQuery, 'limit'> = {
    ...Object.fromEntries(named.map(([field]) => [field, 'x'])),
    ...(isTrail && { rootPrincipal: 'r' }),
    ...(isTyped && { entryType: 'operator' }),
  };
  const [, column, suffix] = named[0] ?? ['', '', 'type'];
  const inTrail = isTrail && suffix !== 'invocation';
  const columns = [inTrail ? 'root_principal' : '', column, 'entry_type'].filter(Boolean);
  return { query, index: `${inTrail ? 'trail' : 'log'}_by_${suffix}`, columns };
});

/** How SQLite goes about what is asked through `ask`. */
function plansOf(ask: (explained: Connection) => void): string[] {
  const plans: string[] = [];
  const explain = (sql: string, values: Value[]) => {
    const rows = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    plans.push(...rows.map(({ detail }) => detail));
  };
  ask({
    ...connection,
    all: (sql, ...values) => {
      explain(sql, values);
      return [];
    },
    get: (sql, ...values) => {
      explain(sql, values);
      return connection.get(sql, ...values);
    },
  });
  return plans;
}

test('queryEntries() walks the one index that has what is asked for, and never sorts', () => {
  for (const { query, index, columns } of QUERIES) {
    const asked = { ...query, since: at(0), before: 9, limit: 50 };
    const plans = plansOf((explained) => queryEntries(explained, asked));

    const beside = /^(MERGE \(UNION ALL\)|LEFT|RIGHT|SEARCH marks .*)$/;
    const walks = plans.filter((plan) => !beside.test(plan));
    const equal = columns.map((column) => `${column}=?`).join(' AND ');
    const range = `${index} (${equal} AND rowid>? AND rowid<?)`;
    const types = query.entryType ? 1 : EntryType.options.length;
    // How far to look is read off the index alone.
    const expected = [
      ...Array(types).fill(`SEARCH log USING COVERING INDEX ${range}`),
      ...Array(types).fill(`SEARCH log USING INDEX ${range}`),
    ];
    assert.deepEqual(walks, expected, JSON.stringify(query));
  }
});

test('findLeaf() finds a hash in every block of its index, and reads nothing else', async () => {
  // As if a block but one entry were full: the tree of so many has as many peaks as the number has ones.
  const almost = HASH_BLOCK - 1;
  const peaks = new Uint8Array(32 * peaksOf(almost).length);
  connection.run('UPDATE head SET size = ?, peaks = ?', almost, peaks);
  const [last, first] = [entry(), entry()];
  await store.append([last, first]);

  const found = [last, first].map(({ leaf_hash }) => findLeaf(connection, { leaf_hash })?.sequence);
  assert.deepEqual(found, [almost, HASH_BLOCK]);

  const near = Uint8Array.from(last.leaf_hash, (byte, place) => (place === 31 ? byte ^ 1 : byte));
  const plans = plansOf((explained) => findLeaf(explained, { leaf_hash: near }));
  const search = 'SEARCH log USING INDEX log_by_leaf_hash (<expr>=? AND <expr>=?)';
  assert.deepEqual(plans.slice(1), [search, search]);
  assert.equal(findLeaf(connection, { leaf_hash: near }), undefined);
});
