/**
 * The contract of `LogStore`: order, places and queries of entries.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { EntryRecord } from '../../../src/domain/log/entry.ts';
import type { EntryQuery, Store } from '../../../src/storage/port/store.ts';
import { at, entry, newId } from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, foundIn, same } from '../observe.ts';

export const LOG_CASES: Cases = {
  'append() gives entries contiguous places, in the order of one call': async (store) => {
    const first = [entry(), entry(), entry()];
    const second = [entry()];
    await store.append(first);
    await store.append(second);

    const head = await store.sequence();

    assert.equal(head.size, 4);
    const expected = [...first, ...second].map((one, sequence) => ({ ...one, sequence }));
    same(await store.scanEntries(0, 10), expected);
  },

  'append() stores every column and the exact bytes': async (store) => {
    const one = entry({
      invocation_id: newId('inv-'),
      capability: 'book_flight',
      failure_type: 'frozen',
      client_reference_id: 'ref "ü" 🛫',
      task_id: 'task',
      upstream_service: 'up',
      parent_invocation_id: newId('inv-'),
      token_id: newId('tok_'),
      event_class: 'high_risk_failure',
      success: false,
      state: 'refused',
      timestamp: at(123).toISOString(),
      detail: { a: [1.5, null] },
      entry_type: 'replay',
    });

    await store.append([one]);

    same(await entriesSince(store, 0), [{ ...one, sequence: 0 }]);
  },

  'append() of nothing changes nothing': async (store) => {
    await store.append([]);

    assert.equal((await store.sequence()).size, 0);
  },

  'append() of many at once gives each one place': async (store) => {
    const batches = Array.from({ length: 40 }, () => [entry(), entry(), entry()]);

    await Promise.all(batches.map((batch) => store.append(batch)));

    const { size } = await store.sequence();
    const stored = await store.scanEntries(0, 1_000);
    assert.equal(size, 120);
    assert.deepEqual(
      stored.map(({ sequence }) => sequence),
      Array.from({ length: 120 }, (_, place) => place),
    );
    const given = batches.flat().map(({ entry_id }) => entry_id);
    assert.deepEqual(stored.map(({ entry_id }) => entry_id).sort(), given.sort());
  },

  'append() stores an entry once when its id is repeated, and the others': async (store) => {
    const one = entry();
    await store.append([one]);
    await store.sequence();

    await store.append([entry(), one], [], undefined, true);
    await store.append([one, entry()], [], undefined, true);
    await store.sequence();

    const stored = await store.scanEntries(0, 10);
    assert.equal(stored.length, 3);
    assert.equal(stored.filter(({ entry_id }) => entry_id === one.entry_id).length, 1);
    assert.deepEqual(
      stored.map(({ sequence }) => sequence),
      stored.map((_, place) => place),
    );
  },

  'append() never cuts a text at U+0000': async (store) => {
    const one = entry({ client_reference_id: 'before\u0000after' });

    await store.append([one]).catch(() => undefined);

    for (const kept of await entriesSince(store, 0)) {
      assert.equal(kept.client_reference_id, one.client_reference_id);
    }
  },

  'sequence() resolves when everything acknowledged before has its place': async (store) => {
    for (let size = 1; size <= 5; size++) {
      await store.append([entry()]);
      assert.equal((await store.sequence()).size, size);
    }
    assert.deepEqual(store.backlog(), { waiting: 0, overloaded: false });
  },

  'scanEntries() returns pages in order, from a given place': async (store) => {
    await fill(store, 7);

    const page = await store.scanEntries(2, 3);

    assert.deepEqual(
      page.map(({ sequence }) => sequence),
      [2, 3, 4],
    );
    same(await store.scanEntries(7, 3), []);
  },

  'findLeaf() finds by hash and by invocation, and nothing else': async (store) => {
    await fill(store, 3);
    const invocation_id = newId('inv-');
    const one = entry({ invocation_id, root_principal: 'human:found@example.com' });
    const afterwards = entry({ invocation_id, entry_type: 'settlement' });
    await store.append([one]);
    await store.append([afterwards]);
    await store.sequence();

    const { leaf_hash, root_principal } = one;
    const expected = { sequence: 3, leaf_hash, root_principal };
    same(await store.findLeaf({ leaf_hash }), expected);
    same(await store.findLeaf({ invocation_id }), expected);
    assert.equal(await store.findLeaf({ leaf_hash: new Uint8Array(32) }), undefined);
    assert.equal(await store.findLeaf({ invocation_id: newId('inv-') }), undefined);
  },
};

/** Each filter with a value that the fourth entry of five alone has. */
const FILTERS: [name: string, fields: Parameters<typeof entry>[0], query: Partial<EntryQuery>][] = [
  [
    'root principal',
    { root_principal: 'human:x@example.com' },
    { rootPrincipal: 'human:x@example.com' },
  ],
  ['entry type', { entry_type: 'issuance' }, { entryType: 'issuance' }],
  ['capability', { capability: 'cancel_flight' }, { capability: 'cancel_flight' }],
  ['invocation', { invocation_id: 'inv-0123456789ab' }, { invocationId: 'inv-0123456789ab' }],
  ['client reference', { client_reference_id: 'ref 7' }, { clientReferenceId: 'ref 7' }],
  ['empty client reference', { client_reference_id: '' }, { clientReferenceId: '' }],
  ['task', { task_id: 'task 7' }, { taskId: 'task 7' }],
  [
    'parent invocation',
    { parent_invocation_id: 'inv-0123456789ab' },
    { parentInvocationId: 'inv-0123456789ab' },
  ],
];

export const QUERY_CASES: Cases = {
  'queryEntries() gives the newest first, in pages without gaps or repetitions': async (store) => {
    await fill(store, 5);

    const { entries: first } = await store.queryEntries({ limit: 2 });
    const { entries: second } = await store.queryEntries({
      limit: 2,
      before: first.at(-1)?.sequence,
    });
    const { entries: third } = await store.queryEntries({
      limit: 2,
      before: second.at(-1)?.sequence,
    });

    const places = [first, second, third].map((page) => page.map(({ sequence }) => sequence));
    assert.deepEqual(places, [[4, 3], [2, 1], [0]]);
    same((await store.queryEntries({ limit: 2, before: 0 })).entries, []);
  },

  'queryEntries() sees what was acknowledged before': async (store) => {
    const one = entry();
    await store.append([one]);

    const { entries: found } = await store.queryEntries({ limit: 10 });

    same(found, [{ ...one, sequence: 0 }]);
  },

  ...Object.fromEntries(
    FILTERS.map(([name, fields, query]) => [
      `queryEntries() filters by ${name}`,
      async (store: Store) => {
        const usual = { capability: 'book_flight', task_id: 'task', client_reference_id: 'ref' };
        const entries = [0, 1, 2, 3, 4].map((place) =>
          entry({ ...usual, ...(place === 3 ? fields : {}) }),
        );
        await store.append(entries);

        const { entries: found } = await store.queryEntries({ limit: 10, ...query });

        same(found, [{ ...entries[3], sequence: 3 }]);
      },
    ]),
  ),

  'queryEntries() gives what is later than since, by its own time, in order of place': async (
    store,
  ) => {
    const times = [30, 10, 20, 11, 40];
    await store.append(times.map((time) => entry({ timestamp: at(time).toISOString() })));

    const { entries: found } = await store.queryEntries({ limit: 10, since: at(11) });
    const first = new Date('0000-01-01T00:00:00.000Z');
    const last = new Date('9999-12-31T23:59:59.999Z');
    const { entries: every } = await store.queryEntries({ limit: 10, since: first });
    const { entries: none } = await store.queryEntries({ limit: 10, since: last });

    assert.deepEqual(
      found.map(({ sequence }) => sequence),
      [4, 2, 0],
    );
    assert.deepEqual([every.length, none.length], [5, 0]);
  },

  'queryEntries() applies all filters together, also over pages': async (store) => {
    const entries = Array.from({ length: 12 }, (_, i) =>
      entry({
        root_principal: `human:${i % 2}@example.com`,
        capability: `c${i % 3}`,
        timestamp: at(i).toISOString(),
      }),
    );
    await store.append(entries);
    const query = { rootPrincipal: 'human:0@example.com', capability: 'c0', since: at(0) };

    const { entries: first } = await store.queryEntries({ ...query, limit: 1 });
    const { entries: rest } = await store.queryEntries({
      ...query,
      limit: 9,
      before: first[0]?.sequence,
    });

    // Even and divisible by three, later than the first: 6 alone.
    assert.deepEqual(
      first.map(({ sequence }) => sequence),
      [6],
    );
    same(rest, []);
  },
};

const EITHER = {
  rootPrincipal: 'human:1@example.com',
  entryType: 'dry_run',
  capability: 'c1',
  taskId: 't1',
  clientReferenceId: 'r1',
  parentInvocationId: 'inv-000000000001',
} as const;

/** Every set of these filters. */
const FILTER_SETS = Array.from({ length: 2 ** Object.keys(EITHER).length }, (_, set) =>
  Object.fromEntries(Object.entries(EITHER).filter((_filter, place) => set & (2 ** place))),
) as readonly Partial<typeof EITHER>[];

/** In entries: more than any index of a store may skip at once. */
const LONG_LOG = 1_500;

export const LONG_LOG_CASES: Cases = {
  'queryEntries() agrees with a plain filter over a long, unordered log': async (store) => {
    const entries = Array.from({ length: LONG_LOG }, (_, i) =>
      entry({
        root_principal: `human:${i % 3}@example.com`,
        capability: `c${i % 5}`,
        timestamp: at((i * 7_919) % LONG_LOG).toISOString(),
      }),
    );
    for (let from = 0; from < LONG_LOG; from += 100) {
      await store.append(entries.slice(from, from + 100));
    }

    for (const since of [0, 1, 700, LONG_LOG - 40, LONG_LOG - 1].map(at)) {
      for (const rootPrincipal of [undefined, 'human:1@example.com']) {
        for (const before of [undefined, 37, 900]) {
          const found = await foundIn(store, { since, rootPrincipal, before, limit: 200 });
          const expected = entries
            .map((one, sequence) => ({ ...one, sequence }))
            .filter(({ timestamp }) => timestamp > since)
            .filter((one) => !rootPrincipal || one.root_principal === rootPrincipal)
            .filter(({ sequence }) => sequence < (before ?? LONG_LOG))
            .reverse();
          same(found, expected);
        }
      }
    }
  },

  'queryEntries() continues at next when matches are rare during appends': async (store) => {
    const rare = { task_id: 'task', capability: 'rare' };
    const entries = Array.from({ length: LONG_LOG }, (_, i) =>
      entry({ ...rare, ...(i % 600 === 7 ? {} : { capability: 'common' }) }),
    );
    for (let from = 0; from < LONG_LOG; from += 100) {
      await store.append(entries.slice(from, from + 100));
    }

    const found: number[] = [];
    let before: number | undefined;
    do {
      const page = await store.queryEntries({
        taskId: 'task',
        capability: 'rare',
        since: at(-1),
        before,
        limit: 1,
      });
      await store.append([entry(rare)]);
      found.push(...page.entries.map(({ sequence }) => sequence));
      assert.ok(page.next === undefined || page.next < (before ?? LONG_LOG));
      before = page.next;
    } while (before !== undefined);

    assert.deepEqual(found, [1_207, 607, 7]);
  },

  'queryEntries() agrees with a plain filter for every set of filters': async (store) => {
    const pick = (i: number, of: number) => Math.floor(i / 2 ** of) % 2;
    const entries = Array.from({ length: 192 }, (_, i) =>
      entry({
        root_principal: `human:${pick(i, 0)}@example.com`,
        capability: `c${pick(i, 1)}`,
        task_id: `t${pick(i, 2)}`,
        client_reference_id: `r${pick(i, 3)}`,
        parent_invocation_id: `inv-00000000000${pick(i, 4)}`,
        entry_type: pick(i, 5) ? 'dry_run' : 'invocation',
      }),
    );
    await store.append(entries);

    for (const query of FILTER_SETS) {
      const { entries: found } = await store.queryEntries({ ...query, before: 150, limit: 30 });

      const expected = entries
        .map((one, sequence) => ({ ...one, sequence }))
        .filter((one) => one.sequence < 150)
        .filter((one) => !query.rootPrincipal || one.root_principal === query.rootPrincipal)
        .filter((one) => !query.entryType || one.entry_type === query.entryType)
        .filter((one) => !query.capability || one.capability === query.capability)
        .filter((one) => !query.taskId || one.task_id === query.taskId)
        .filter(
          (one) => one.client_reference_id === (query.clientReferenceId ?? one.client_reference_id),
        )
        .filter(
          (one) =>
            one.parent_invocation_id === (query.parentInvocationId ?? one.parent_invocation_id),
        );
      same(found, expected.reverse().slice(0, 30));
    }
  },
};

/** Adds so many entries, one by one, and waits until they have their places. */
export async function fill(store: Store, count: number): Promise<EntryRecord[]> {
  const entries = Array.from({ length: count }, () => entry());
  for (const one of entries) await store.append([one]);
  await store.sequence();
  return entries;
}
