import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createBodies } from './bodies.ts';

const BOUNDS = { heldBytesMax: 100_000, strangerBytesMax: 50_000 };
const unjudged = async () => undefined;

test('add() keeps many small chunks as one piece, and none of what surrounds them', () => {
  const body = createBodies(BOUNDS).begin({}, unjudged, assert.fail);
  const segment = Buffer.alloc(65_536, 'abc');
  for (let at = 0; at < 3_000; at += 1) body.add(segment.subarray(at, at + 1));

  const whole = body.done();

  assert.equal(Buffer.from(whole).toString(), 'abc'.repeat(1_000));
  assert.ok(whole.buffer.byteLength <= 2 * 3_000, `${whole.buffer.byteLength} bytes`);
});

test('add() keeps one whole body as it came', () => {
  const body = createBodies(BOUNDS).begin({}, unjudged, assert.fail);
  const chunk = new Uint8Array(1_000).fill(7);
  body.add(chunk);

  assert.equal(body.done().buffer, chunk.buffer);
});

test('add() ends the largest bodies when all of them hold too much, and counts no ended one', async () => {
  const ended: string[] = [];
  const bodies = createBodies(BOUNDS);
  const begin = async (name: string, bytes: number) => {
    const body = bodies.begin({ name }, unjudged, () => void ended.push(name));
    await body.admit();
    body.add(new Uint8Array(bytes));
    return body;
  };
  const small = await begin('small', 30_000);
  await begin('large', 45_000);
  await begin('last', 40_000);

  assert.deepEqual(ended, ['large']);
  assert.equal(bodies.bytes(), 70_000);
  assert.equal(small.done().length, 30_000);
  assert.equal(bodies.bytes(), 40_000);
});
