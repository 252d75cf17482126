import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { at, entry } from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../../test/support/postgres.ts';
import type { EntryRecord } from '../../../domain/log/entry.ts';
import { addTo, BLOCK_ENTRIES, createColumns } from '../../log/blocks.ts';
import { type Segment, segmentsOf } from '../../log/segment.ts';
import type { Store } from '../../port/store.ts';
import { openPostgres } from '../store.ts';
import { createRecent, type SegmentShape } from './recent.ts';

/** In milliseconds. */
const SLOW = { timeout: 60_000 };

function shapeOf(entries: readonly EntryRecord[]): SegmentShape {
  const [segment] = segmentsOf(0, entries, Number.POSITIVE_INFINITY);
  const { leaves, personal, ...rest } = segment as Segment;
  return { ...rest, leaves: leaves.length, personal: personal.length };
}

test('knows() has every entry that was added, and addTo() adds what its columns are', () => {
  const recent = createRecent();
  const entries = [entry(), entry({ task_id: 'a task' }), entry({ capability: undefined })];
  const [columns, expected] = [createColumns(), createColumns()];
  for (const each of entries) addTo(expected, each);
  recent.add(entries);

  const shape = shapeOf(entries);
  entries.forEach((_, index) => {
    recent.addTo(columns, index, shape, index);
  });

  assert.equal(recent.knows(shape), true);
  assert.deepEqual(columns, expected);
});

for (const [what, change] of [
  ['has an entry that was not added', (known) => shapeOf([...known, entry()])],
  ['lost bytes of a leaf', (known) => less(shapeOf(known), 'leaves')],
  ['lost bytes of personal fields', (known) => less(shapeOf(known), 'personal')],
  ['counts fewer entries than hashes', (known) => less(shapeOf(known), 'count')],
] as [string, (known: readonly EntryRecord[]) => SegmentShape][]) {
  test(`knows() is false for a segment that ${what}`, () => {
    const recent = createRecent();
    const entries = [entry(), entry()];
    recent.add(entries);

    assert.equal(recent.knows(change(entries)), false);
  });
}

function less(shape: SegmentShape, part: 'leaves' | 'personal' | 'count'): SegmentShape {
  return { ...shape, [part]: shape[part] - 1 };
}

test('add() forgets the oldest entries beyond the number it keeps, also of one added twice', () => {
  const recent = createRecent(3);
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => entry()) as [
    ...[EntryRecord, EntryRecord, EntryRecord, EntryRecord],
  ];

  recent.add([first, second]);
  recent.add([second, third, fourth]);

  const isKnown = (each: EntryRecord) => recent.knows(shapeOf([each]));
  assert.deepEqual([first, second, third, fourth].map(isKnown), [false, true, true, true]);
});

/** Resolves when the first block is there. */
async function indexed(url: string): Promise<void> {
  const admin = await connectedTo(url);
  while ((await admin.query('SELECT FROM blocks')).rowCount === 0) {
    await new Promise((done) => setTimeout(done, 10));
  }
}

const some = (count: number) => Array.from({ length: count }, () => entry());

test('a block of entries from two processes has all of them', SLOW, async () => {
  const { url } = await freshDatabase();
  const stores = [await openPostgres(url), await openPostgres(url)].map(closedAtEnd) as [
    ...[Store, Store],
  ];
  for (let round = 0; round < 4; round++) {
    for (const store of stores) await store.append(some(BLOCK_ENTRIES / 8));
  }
  await stores[0].sequence();

  await indexed(url);

  assert.deepEqual(await stores[0].inspect(), []);
});

test('a block has nothing of what retention erased before it was made', SLOW, async () => {
  const { url } = await freshDatabase();
  const store = closedAtEnd(await openPostgres(url));
  const erased = Array.from({ length: 20 }, (_, n) => {
    return entry({ root_principal: `human:${n}@example.com`, timestamp: at(0).toISOString() });
  });
  await store.append(erased);
  await store.append(some(100));
  await store.sequence();
  const count = await store.erase({ what: 'personal', until: at(1), limit: 1_000 });
  await store.append(some(BLOCK_ENTRIES - 120));
  await store.sequence();

  await indexed(url);

  assert.ok(count >= 20);
  assert.deepEqual(await store.inspect(), []);
});
