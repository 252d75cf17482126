import assert from 'node:assert/strict';
import { afterEach, test, vi } from 'vitest';
import { ID_PATTERNS } from '../../domain/wire/ids.ts';
import { system } from '../../platform.ts';
import { newBindingId, newEntryId, newId, newInvocationId, newOperationId } from './random.ts';

afterEach(() => vi.useRealTimers());

test('newId() makes an id of its kind', () => {
  assert.match(newId(system, 'inv-'), ID_PATTERNS['inv-']);
  assert.match(newId(system, 'tok_'), ID_PATTERNS.tok_);
});

test('newEntryId() begins with the time, sorts by it and is unique', () => {
  const times = [0, 1, 255, 256, 1_763_000_000_000, 1_763_000_000_001, 2 ** 47];
  const ids = times.map((time) => newEntryId(system, new Date(time)));

  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids) assert.match(id, ID_PATTERNS.ent_);
  assert.equal(
    new Set(Array.from({ length: 1_000 }, () => newEntryId(system, new Date(5)))).size,
    1_000,
  );
});

test('newBindingId() begins with the time and has 128 random bits after it', () => {
  const filled = (byte: number) => ({ random: (size: number) => new Uint8Array(size).fill(byte) });
  const now = new Date(0x0123456789ab);

  for (const byte of [0x00, 0xff]) {
    const random = byte.toString(16).padStart(2, '0').repeat(16);
    assert.equal(newBindingId(filled(byte), now), `bnd_0123456789ab${random}`);
  }
  assert.match(newBindingId(system, now), ID_PATTERNS.bnd_);
});

test('newOperationId() begins with the time and is unique', () => {
  const ids = [1, 256, 2 ** 40].map((time) => newOperationId(system, new Date(time)));

  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(
    new Set(Array.from({ length: 1_000 }, () => newOperationId(system, new Date(5)))).size,
    1_000,
  );
});

test('newInvocationId() gives ids of one moment one beginning, spread evenly over time', () => {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  const beginnings = new Map<string, number>();
  const rests = new Set<string>();
  const ids = new Set<string>();
  for (let step = 0; step < 4 * 4_096; step += 1) {
    vi.setSystemTime(step * 64 + 63);
    const id = newInvocationId(system);
    ids.add(id);
    beginnings.set(id.slice(4, 7), (beginnings.get(id.slice(4, 7)) ?? 0) + 1);
    rests.add(id.slice(7, 8));
  }

  assert.equal(newInvocationId(system).slice(0, 7), newInvocationId(system).slice(0, 7));
  assert.equal(beginnings.size, 4_096);
  assert.deepEqual(new Set(beginnings.values()), new Set([4]));
  assert.equal(rests.size, 16);
  assert.equal(ids.size, 4 * 4_096);
  for (const id of ids) assert.match(id, ID_PATTERNS['inv-']);
});
