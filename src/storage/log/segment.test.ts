import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entry } from '../../../test/support/entries.ts';
import {
  DamagedSegment,
  entriesOf,
  erasedFrom,
  padded,
  type Segment,
  segmentsOf,
} from './segment.ts';

const FIRST = 1_024;

const ENTRIES = [
  entry({ capability: 'pay', invocation_id: 'inv-000000000001', task_id: 'line\nbreak' }),
  entry({ client_reference_id: 'ref', retention: 'P1D', detail: { text: '\u2028 "x" \\n' } }),
  entry({ parent_invocation_id: 'inv-000000000009', failure_type: 'not_found' }),
];

function segment(): Segment {
  const [only, ...more] = segmentsOf(FIRST, ENTRIES);
  assert.ok(only);
  assert.deepEqual(more, []);
  return only;
}

test('entriesOf() returns every column and byte of what segmentsOf() was given', () => {
  const read = entriesOf(segment());

  for (const [index, given] of ENTRIES.entries()) {
    const found = read[index];
    assert.deepEqual(
      {
        ...found,
        leaf: Buffer.from(found?.leaf ?? []),
        personal: Buffer.from(found?.personal ?? []),
      },
      {
        ...given,
        leaf: Buffer.from(given.leaf),
        personal: Buffer.from(given.personal),
        sequence: FIRST + index,
      },
    );
  }
});

test('segmentsOf() divides a commit of many bytes, and each part has at least one entry', () => {
  const large = Array.from({ length: 12 }, (_, n) =>
    entry({ detail: { text: `${n}`.repeat(30_000) } }),
  );

  const parts = segmentsOf(FIRST, large);

  assert.ok(parts.length > 1);
  assert.deepEqual(
    parts.flatMap(entriesOf).map(({ sequence, entry_id }) => [sequence, entry_id]),
    large.map(({ entry_id }, index) => [FIRST + index, entry_id]),
  );
});

test('erasedFrom() takes personal fields or contents, and hashes and places stay', () => {
  const whole = segment();

  const less = erasedFrom(
    whole,
    new Map([
      [FIRST, 'personal'],
      [FIRST + 1, 'contents'],
    ]),
  );

  assert.ok(less);
  assert.deepEqual([less.first, less.count, less.hashes], [whole.first, whole.count, whole.hashes]);
  const [first, second, third] = entriesOf(less);
  assert.equal(first?.personal, undefined);
  assert.deepEqual([first?.root_principal, first?.task_id], ['', undefined]);
  assert.equal(first?.capability, 'pay');
  assert.equal(second?.leaf, undefined);
  const { entry_id, entry_type, event_class, state, timestamp } = ENTRIES[1] as (typeof ENTRIES)[0];
  assert.deepEqual(
    [second?.entry_id, second?.entry_type, second?.event_class, second?.state, second?.timestamp],
    [entry_id, entry_type, event_class, state, timestamp],
  );
  assert.deepEqual(third, entriesOf(whole)[2]);
});

test('erasedFrom() only removes bytes, and finds nothing to remove a second time', () => {
  const whole = segment();
  const due = new Map([[FIRST + 2, 'contents']] as const);

  const less = erasedFrom(whole, due) as Segment;

  assert.ok(less.leaves.length < whole.leaves.length);
  assert.ok(less.personal.length < whole.personal.length);
  assert.equal(erasedFrom(less, due), undefined);
});

test('padded() adds bytes to an erased entry and changes nothing that is read', () => {
  const due = new Map([[FIRST + 1, 'contents']] as const);
  const less = erasedFrom(segment(), due) as Segment;

  const longer = padded(less, FIRST + 1, { leaves: 3, personal: 5 });

  assert.equal(longer.leaves.length, less.leaves.length + 3);
  assert.equal(longer.personal.length, less.personal.length + 5);
  assert.deepEqual(entriesOf(longer), entriesOf(less));
  assert.equal(erasedFrom(longer, due), undefined);
});

for (const [name, change] of [
  ['a line is missing', ({ leaves }) => ({ leaves: leaves.slice(0, leaves.indexOf(10) + 1) })],
  ['the last line has no end', ({ leaves }) => ({ leaves: leaves.slice(0, -1) })],
  [
    'a personal line is missing',
    ({ personal }) => ({ personal: personal.slice(personal.indexOf(10) + 1) }),
  ],
  ['a hash is missing', ({ hashes }) => ({ hashes: hashes.slice(32) })],
] as const satisfies readonly (readonly [string, (whole: Segment) => Partial<Segment>])[]) {
  test(`entriesOf() names the places of a segment in which ${name}`, () => {
    const whole = segment();

    const read = () => entriesOf({ ...whole, ...change(whole) });

    assert.throws(read, (error) => {
      return error instanceof DamagedSegment && error.message.includes('entries 1024 to 1026');
    });
  });
}

for (const [name, byte] of [
  ['not JSON', 0x20],
  ['not UTF-8', 0xff],
] as const) {
  test(`entriesOf() returns the bytes of a leaf that is ${name}, and the other entries`, () => {
    const whole = segment();

    const [first, second] = entriesOf({ ...whole, leaves: whole.leaves.with(1, byte) });

    assert.equal(first?.entry_id, '');
    assert.equal(first?.leaf?.[1], byte);
    assert.equal(second?.entry_id, ENTRIES[1]?.entry_id);
  });
}
