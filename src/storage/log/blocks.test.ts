import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entry } from '../../../test/support/entries.ts';
import {
  addTo,
  BLOCK_ENTRIES,
  type Block,
  blockOf,
  bucketOf,
  bucketsOf,
  countsOf,
  createColumns,
  FIELDS,
  type Field,
  headFrom,
  isWhole,
  keyOf,
  mergedPostings,
  offsetsIn,
  type Postings,
  postingsOf,
  withoutOffsets,
} from './blocks.ts';

const ENTRIES = Array.from({ length: 3 * BLOCK_ENTRIES }, (_, n) =>
  entry({
    invocation_id: `inv-${n.toString(16).padStart(12, '0')}`,
    root_principal: `human:${n % 7}@example.com`,
    ...(n % 3 === 0 && { capability: `c${n % 5}` }),
    ...(n % 11 === 0 && { client_reference_id: `ref ${n}` }),
  }),
);

/** For each value, what a walk over all entries finds. */
function walked(field: Field): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [n, { [field]: value }] of ENTRIES.entries()) {
    if (value === undefined) continue;
    const name = nameOf(value);
    places.set(name, [...(places.get(name) ?? []), n]);
  }
  return places;
}

function nameOf(value: string | Uint8Array): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString('hex');
}

function found(buckets: readonly Uint8Array[], value: string | Uint8Array): number[] {
  const key = keyOf(value);
  return offsetsIn(buckets[bucketOf(key, buckets.length)] as Uint8Array, key);
}

const COLUMNS = createColumns();
for (const each of ENTRIES) addTo(COLUMNS, each);

const BLOCKS = [0, 1, 2].map((n) => blockOf(COLUMNS, n * BLOCK_ENTRIES, (n + 1) * BLOCK_ENTRIES));

for (const [place, field] of FIELDS.entries()) {
  const merged = mergedPostings(BLOCKS.map(({ postings }) => postings[place] as Postings));
  const buckets = bucketsOf(merged);

  test(`a merged block finds what a walk over the entries finds by ${field}`, () => {
    const values = new Set(ENTRIES.slice(0, 300).flatMap((each) => each[field] ?? []));
    const expected = walked(field);
    for (const value of values)
      assert.deepEqual(found(buckets, value), expected.get(nameOf(value)));
    assert.deepEqual(found(buckets, 'no such value'), []);
  });

  test(`buckets of ${field} have all postings`, () => {
    assert.ok(buckets.every(isWhole));
    assert.deepEqual(postingsOf(buckets), merged);
  });
}

test('withoutOffsets() forgets the entries', () => {
  const postings = BLOCKS[0]?.postings[FIELDS.indexOf('invocation_id')] as Postings;

  const less = withoutOffsets(postings, new Set([0, 5]));

  assert.equal(less.length, postings.length - 2);
  assert.deepEqual(found(bucketsOf(less), ENTRIES[5]?.invocation_id as string), []);
  assert.deepEqual(found(bucketsOf(less), ENTRIES[6]?.invocation_id as string), [6]);
});

test('a bucket with any byte changed, one more or one less is not whole', () => {
  const [bucket] = bucketsOf((BLOCKS[0] as Block).postings[0] as Postings);
  const bytes = bucket as Uint8Array;
  assert.ok(isWhole(bytes));
  for (let at = 0; at < bytes.length; at += at < 16 ? 1 : 97) {
    const other = Uint8Array.from(bytes);
    other[at] = (other[at] as number) ^ 1;
    assert.equal(isWhole(other), false, `byte ${at}`);
  }
  for (const other of [bytes.subarray(1), bytes.subarray(0, -8), Buffer.concat([bytes, bytes])]) {
    assert.equal(isWhole(other), false);
  }
  assert.equal(isWhole(new Uint8Array()), false);
});

test('a head of a block with any fact changed is not believed', () => {
  const head = { first: 1_024, count: 1_024, newest: 5, latest: 7, buckets: FIELDS.map(() => 2) };
  const counts = countsOf(head);
  assert.deepEqual(headFrom(head, counts), head);
  for (const fact of ['first', 'count', 'newest', 'latest'] as const) {
    assert.equal(headFrom({ ...head, [fact]: head[fact] + 1 }, counts), undefined);
  }
  assert.equal(headFrom(head, Uint8Array.from(counts).fill(1, 0, 1)), undefined);
  assert.equal(headFrom(head, counts.subarray(1)), undefined);
});

test('keyOf() gives different keys to nearly all of a hundred thousand similar values', () => {
  const keys = new Set(Array.from({ length: 100_000 }, (_, n) => keyOf(`inv-${n.toString(16)}`)));
  assert.ok(keys.size >= 99_999, `${keys.size}`);
});

test('keyOf() spreads keys over all buckets', () => {
  const counts = new Array<number>(64).fill(0);
  for (let n = 0; n < 64_000; n++) {
    const bucket = bucketOf(keyOf(`inv-${n.toString(16)}`), 64);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  assert.ok(Math.max(...counts) < 1_300 && Math.min(...counts) > 700, counts.join(' '));
});
