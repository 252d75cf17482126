import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { EntryPage } from '../port/log-store.ts';
import {
  type BlockHead,
  bucketBytes,
  createColumns,
  FIELDS,
  keyOf,
  type Postings,
} from './blocks.ts';
import { type Answer, type Read, searchEntries } from './query.ts';

const LARGE = 32_768;

/** Blocks of a log in which every other entry is an invocation, and the others are of one capability. */
function answered(read: Read, seen: { blocks: number }): Answer {
  if (read.read === 'heads') {
    const heads = Array.from({ length: read.limit }, (_, n) => read.before - (n + 1) * LARGE);
    return heads.filter((first) => first >= 0).map(headAt);
  }
  if (read.read !== 'buckets') throw new Error(`Cannot answer "${read.read}": no entry matches`);
  seen.blocks += read.ids.length / 2;
  return read.ids.map(({ field }) => {
    const value = FIELDS[field] === 'entry_type' ? 'invocation' : 'pay';
    return bucketBytes(halfOf(keyOf(value), value === 'pay' ? 1 : 0));
  });
}

function headAt(first: number): BlockHead {
  return { first, count: LARGE, newest: 0, latest: 0, buckets: FIELDS.map(() => 1) };
}

function halfOf(key: number, odd: number): Postings {
  return Float64Array.from({ length: LARGE / 2 }, (_, n) => key * LARGE + 2 * n + odd);
}

test('a query for values that most entries have, and none together, stops and goes on in the next page', () => {
  const seen = { blocks: 0 };
  let before: number | undefined;
  let pages = 0;
  for (; before !== 0; pages++) {
    const query = { entryType: 'invocation', capability: 'pay', limit: 50, before } as const;
    const search = searchEntries(query, { first: 60 * LARGE, columns: createColumns() });
    const asked: number = seen.blocks;
    let page: EntryPage | undefined;
    for (let step = search.next(); page === undefined; ) {
      if (step.done) page = step.value;
      else step = search.next(answered(step.value, seen));
    }
    assert.deepEqual(page.entries, []);
    assert.ok(seen.blocks - asked <= 18, 'few of the sixty blocks');
    before = page.next ?? 0;
  }

  assert.equal(seen.blocks, 60);
  assert.ok(pages > 3);
});

test('a query for a rare value and one that most entries have asks for the common one only where the rare one is', () => {
  const rare = { first: 3 * LARGE, offset: 7 };
  const asked: string[] = [];
  const answer = (read: Read): Answer => {
    if (read.read !== 'buckets') return answered(read, { blocks: 0 });
    return read.ids.map(({ first, field }) => {
      asked.push(`${FIELDS[field]} ${first / LARGE}`);
      if (FIELDS[field] === 'entry_type') return bucketBytes(halfOf(keyOf('invocation'), 0));
      const posting = keyOf('human:rare') * LARGE + rare.offset;
      return bucketBytes(Float64Array.from(first === rare.first ? [posting] : []));
    });
  };
  const query = { entryType: 'invocation', rootPrincipal: 'human:rare', limit: 50 } as const;
  const search = searchEntries(query, { first: 60 * LARGE, columns: createColumns() });

  let page: EntryPage | undefined;
  for (let step = search.next(); page === undefined; ) {
    if (step.done) page = step.value;
    else step = search.next(answer(step.value));
  }

  assert.deepEqual(page, { entries: [], next: undefined }, 'one page is enough for all blocks');
  assert.equal(asked.length, 61);
  assert.deepEqual(
    asked.filter((name) => name.startsWith('entry_type')),
    ['entry_type 3'],
  );
});
