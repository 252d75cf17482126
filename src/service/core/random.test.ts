import assert from 'node:assert/strict';
import { afterEach, test, vi } from 'vitest';
import { toHex } from '../../domain/wire/hash.ts';
import { ID_PATTERNS } from '../../domain/wire/ids.ts';
import { newEntryId, newId, newInvocationId, newOperationId, randomBytes } from './random.ts';

afterEach(() => vi.useRealTimers());

test('randomBytes() never gives a byte twice, across many fillings of its pool', () => {
  const taken = Array.from({ length: 5_000 }, (_, i) => randomBytes(16 + (i % 17)));

  assert.ok(taken.every((bytes, i) => bytes.length === 16 + (i % 17)));
  const starts = new Set(taken.map((bytes) => toHex(bytes.subarray(0, 16))));
  assert.equal(starts.size, taken.length);
});

test('randomBytes() gives bytes that nothing changes later', () => {
  const bytes = randomBytes(32);
  const before = toHex(bytes);
  for (let i = 0; i < 1_000; i += 1) randomBytes(32);
  assert.equal(toHex(bytes), before);
});

test('randomBytes() refuses more than it holds rather than give fewer', () => {
  assert.throws(() => randomBytes(8_193), /Cannot take 8193 random bytes/);
});

test('newId() makes an id of its kind', () => {
  assert.match(newId('inv-'), ID_PATTERNS['inv-']);
  assert.match(newId('tok_'), ID_PATTERNS.tok_);
});

test('newEntryId() begins with the time, so that later ids sort later, and is never the same twice', () => {
  const times = [0, 1, 255, 256, 1_763_000_000_000, 1_763_000_000_001, 2 ** 47];
  const ids = times.map((time) => newEntryId(new Date(time)));

  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids) assert.match(id, ID_PATTERNS.ent_);
  assert.equal(new Set(Array.from({ length: 1_000 }, () => newEntryId(new Date(5)))).size, 1_000);
});

test('newOperationId() begins with the time and is never the same twice', () => {
  const ids = [1, 256, 2 ** 40].map((time) => newOperationId(new Date(time)));

  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(
    new Set(Array.from({ length: 1_000 }, () => newOperationId(new Date(5)))).size,
    1_000,
  );
});

test('newInvocationId() makes ids of one moment begin alike, and beginnings go round evenly', () => {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  const beginnings = new Map<string, number>();
  const rests = new Set<string>();
  const ids = new Set<string>();
  for (let step = 0; step < 4 * 4_096; step += 1) {
    vi.setSystemTime(step * 64 + 63);
    const id = newInvocationId();
    ids.add(id);
    beginnings.set(id.slice(4, 7), (beginnings.get(id.slice(4, 7)) ?? 0) + 1);
    rests.add(id.slice(7, 8));
  }

  assert.equal(newInvocationId().slice(0, 7), newInvocationId().slice(0, 7));
  assert.equal(beginnings.size, 4_096);
  assert.deepEqual(new Set(beginnings.values()), new Set([4]));
  assert.equal(rests.size, 16);
  assert.equal(ids.size, 4 * 4_096);
  for (const id of ids) assert.match(id, ID_PATTERNS['inv-']);
});
