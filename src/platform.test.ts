import assert from 'node:assert/strict';
import { test } from 'vitest';
import { toHex } from './domain/wire/hash.ts';
import { atAnotherTime, newUuid, system } from './platform.ts';

test('random() never gives a byte twice, across many fillings of its pool', () => {
  const taken = Array.from({ length: 5_000 }, (_, i) => system.random(16 + (i % 17)));

  assert.ok(taken.every((bytes, i) => bytes.length === 16 + (i % 17)));
  const starts = new Set(taken.map((bytes) => toHex(bytes.subarray(0, 16))));
  assert.equal(starts.size, taken.length);
});

test('random() gives bytes that nothing changes later', () => {
  const bytes = system.random(32);
  const before = toHex(bytes);
  for (let i = 0; i < 1_000; i += 1) system.random(32);
  assert.equal(toHex(bytes), before);
});

test('random() refuses more than it holds rather than give fewer', () => {
  assert.throws(() => system.random(8_193), /Cannot take 8193 random bytes/);
});

test('newUuid() makes a random UUID of version 4', () => {
  const ids = Array.from({ length: 1_000 }, () => newUuid(system));

  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  assert.equal(new Set(ids).size, ids.length);
});

test('atAnotherTime() shifts every reading of the clock, and nothing after it', () => {
  const Real = Date;
  const year = new Date().getFullYear();
  const { called, made, ofText, isDate } = atAnotherTime(() => ({
    called: Date(),
    made: [new Date(), new Date(Date.now())],
    ofText: new Date('2030-01-01T00:00:00Z').toISOString(),
    isDate: new Date() instanceof Real && Date.UTC(1970, 0) === 0,
  }));
  const fail = () =>
    atAnotherTime(() => {
      throw new Error('no');
    });

  assert.ok([...made, new Date(called)].every((each) => each.getFullYear() > year));
  assert.equal(ofText, '2030-01-01T00:00:00.000Z');
  assert.ok(isDate);
  assert.throws(fail, /no/);
  assert.equal(Date, Real);
});
