import assert from 'node:assert/strict';
import { test } from 'vitest';
import { generateJwk, readPrivateJwk } from './es256.ts';
import {
  currentKey,
  type DatedKey,
  isPublished,
  RETIREMENT_SKEW_MS,
  timelineOf,
} from './timeline.ts';
import type { KeyUse } from './wire.ts';

const LIFETIME = 1_000_000;

test('currentKey() changes exactly when the turn of the next key comes', () => {
  const [first, second] = [dated('token', 100), dated('token', 200)];
  const timeline = timelineOf([second, first], LIFETIME);

  assert.equal(currentKey(timeline, 'token', new Date(199))?.kid, first.kid);
  assert.equal(currentKey(timeline, 'token', new Date(200))?.kid, second.kid);
});

test('currentKey() is the first key before its turn has come', () => {
  const [first, second] = [dated('token', 100), dated('token', 200)];
  const timeline = timelineOf([first, second], LIFETIME);

  assert.equal(currentKey(timeline, 'token', new Date(0))?.kid, first.kid);
});

test('currentKey() is the later listed of two keys of one instant', () => {
  const [first, second] = [dated('token', 100), dated('token', 100)];

  assert.equal(
    currentKey(timelineOf([first, second], LIFETIME), 'token', new Date(100))?.kid,
    second.kid,
  );
  assert.equal(
    currentKey(timelineOf([second, first], LIFETIME), 'token', new Date(100))?.kid,
    first.kid,
  );
});

test('currentKey() keeps the uses apart', () => {
  const [token, log] = [dated('token', 100), dated('log', 200)];
  const timeline = timelineOf([token, log], LIFETIME);

  assert.equal(currentKey(timeline, 'token', new Date(300))?.kid, token.kid);
  assert.equal(currentKey(timeline, 'log', new Date(300))?.kid, log.kid);
});

test('isPublished() ends for a token key when nothing it signed can be alive', () => {
  const timeline = timelineOf([dated('token', 100), dated('token', 200)], LIFETIME);
  const [first, second] = timeline.keys;
  const end = 200 + LIFETIME + RETIREMENT_SKEW_MS;

  assert.ok(first && second);
  assert.equal(isPublished(first, new Date(end - 1)), true);
  assert.equal(isPublished(first, new Date(end)), false);
  assert.equal(isPublished(second, new Date(8.64e15)), true);
});

test('isPublished() never ends for a log key', () => {
  const timeline = timelineOf([dated('log', 100), dated('log', 200)], LIFETIME);

  for (const key of timeline.keys) assert.equal(isPublished(key, new Date(8.64e15)), true);
});

test('timelineOf() lists token keys before log keys, each by their turn', () => {
  const keys = [dated('log', 1), dated('token', 3), dated('token', 2)];

  const { keys: listed } = timelineOf(keys, LIFETIME);
  assert.deepEqual(
    listed.map(({ use, signFrom }) => [use, signFrom]),
    [
      ['token', 2],
      ['token', 3],
      ['log', 1],
    ],
  );
});

function dated(use: KeyUse, signFrom: number): DatedKey {
  const reading = readPrivateJwk(generateJwk());
  assert.ok('key' in reading);
  return { ...reading.key, use, signFrom };
}
