import assert from 'node:assert/strict';
import { test } from 'vitest';
import { run, wait } from '../../steps.ts';
import {
  type BlockHead,
  bucketBytes,
  createColumns,
  FIELDS,
  keyOf,
  type Postings,
} from './blocks.ts';
import { type LogReads, searchEntries } from './query.ts';

const LARGE = 32_768;

/** Blocks of a log in which every other entry is an invocation, and the others are of one capability. */
function readsOf(buckets: LogReads['buckets']): LogReads {
  const noMatch = () => {
    throw new Error('Cannot read entries: none matches');
  };
  return {
    heads(before, limit) {
      const heads = Array.from({ length: limit }, (_, n) => before - (n + 1) * LARGE);
      return wait(heads.filter((first) => first >= 0).map(headAt));
    },
    ...{ buckets, segments: noMatch, places: noMatch },
  };
}

function headAt(first: number): BlockHead {
  return { first, count: LARGE, newest: 0, latest: 0, buckets: FIELDS.map(() => 1) };
}

function halfOf(key: number, odd: number): Postings {
  return Float64Array.from({ length: LARGE / 2 }, (_, n) => key * LARGE + 2 * n + odd);
}

test('a query for values that most entries have, and none together, stops and goes on in the next page', async () => {
  let blocks = 0;
  const reads = readsOf((ids) => {
    blocks += ids.length / 2;
    const found = ids.map(({ field }) => {
      const value = FIELDS[field] === 'entry_type' ? 'invocation' : 'pay';
      return bucketBytes(halfOf(keyOf(value), value === 'pay' ? 1 : 0));
    });
    return wait(found);
  });
  let before: number | undefined;
  let pages = 0;
  for (; before !== 0; pages++) {
    const query = { entryType: 'invocation', capability: 'pay', limit: 50, before } as const;
    const asked = blocks;
    const tail = { first: 60 * LARGE, columns: createColumns() };
    const page = await run(searchEntries(reads, query, tail));
    assert.deepEqual(page.entries, []);
    assert.ok(blocks - asked <= 18, 'few of the sixty blocks');
    before = page.next ?? 0;
  }

  assert.equal(blocks, 60);
  assert.ok(pages > 3);
});

test('a query for a rare value and one that most entries have asks for the common one only where the rare one is', async () => {
  const rare = { first: 3 * LARGE, offset: 7 };
  const asked: string[] = [];
  const reads = readsOf((ids) => {
    const found = ids.map(({ first, field }) => {
      asked.push(`${FIELDS[field]} ${first / LARGE}`);
      if (FIELDS[field] === 'entry_type') return bucketBytes(halfOf(keyOf('invocation'), 0));
      const posting = keyOf('human:rare') * LARGE + rare.offset;
      return bucketBytes(Float64Array.from(first === rare.first ? [posting] : []));
    });
    return wait(found);
  });
  const query = { entryType: 'invocation', rootPrincipal: 'human:rare', limit: 50 } as const;
  const tail = { first: 60 * LARGE, columns: createColumns() };
  const page = await run(searchEntries(reads, query, tail));

  assert.deepEqual(page, { entries: [], next: undefined }, 'one page is enough for all blocks');
  assert.equal(asked.length, 61);
  assert.deepEqual(
    asked.filter((name) => name.startsWith('entry_type')),
    ['entry_type 3'],
  );
});
