/**
 * `writ audit stream` to an object store.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { exportDesk, operator, placesIn, upTo, writ } from './desk.ts';
import { objectStore, receiver, STORE_KEYS } from './receivers.ts';

const desk = await exportDesk();
await desk.sealed(4);
await desk.sealed(6);
const env = { ...operator, ...STORE_KEYS };

function asked(endpoint: string, state: string, ...more: string[]): string[] {
  const to = ['--to', 's3://audit/desk one', '--endpoint', endpoint, '--state', state];
  return desk.stream(...to, '--once', '--chunk-entries', '5', ...more);
}

/** The objects as files, as a person downloads them. */
function downloaded(objects: ReadonlyMap<string, string>): string {
  const folder = temporaryFolder();
  for (const [path, body] of objects) writeFileSync(join(folder, basename(path)), body);
  return folder;
}

for (const conditions of ['yes', 'ignored', 'refused'] as const) {
  test(`audit stream puts signed objects into a store (conditions ${conditions}), which verify`, async () => {
    const { objects, posts, url } = await objectStore(conditions);
    const state = join(temporaryFolder(), 'new', 's3.state');
    const first = await writ(asked(url, state), env);
    const folder = downloaded(objects);
    const verified = await writ(['verify', 'stream', folder, ...desk.pins]);

    assert.equal(first.status, 0, first.err);
    assert.ok(
      objects.has('/audit/desk%20one/chunk-000000000001.jsonl'),
      [...objects.keys()].join(),
    );
    assert.equal(verified.status, 0, verified.out);
    assert.deepEqual(placesIn(folder), upTo(placesIn(folder).length));
    assert.equal(statSync(state).mode & 0o777, 0o600);
    for (const text of [readFileSync(state, 'utf8'), first.out, first.err, JSON.stringify(posts)]) {
      assert.equal(text.includes(STORE_KEYS.AWS_SECRET_ACCESS_KEY), false);
    }
  });
}

test('audit stream takes an object of its own that is there already, and overwrites no other', async () => {
  const { objects, url } = await objectStore();
  const folder = temporaryFolder();
  const [state, other] = [join(folder, 'one'), join(folder, 'other')];
  const first = await writ(asked(url, state), env);
  const kept = new Map(objects);
  rmSync(state);
  const lost = await writ(asked(url, state), env);
  const files = downloaded(objects);
  const last = join(files, [...objects.keys()].map((path) => basename(path)).at(-1) as string);
  const early = await writ(
    asked(url, other, '--resume-from', join(files, 'chunk-000000000001.jsonl')),
    env,
  );
  await desk.sealed(2);
  const resumed = await writ(asked(url, state, '--resume-from', last), env);

  assert.equal(first.status, 0, first.err);
  assert.equal(lost.status, 2);
  assert.match(lost.err, /the target has chunks and there is no state; give its state/);
  assert.equal(early.status, 2);
  assert.match(early.err, /the target has "chunk-000000000002\.jsonl" too/);
  assert.equal(resumed.status, 0, resumed.err);
  for (const [path, body] of kept) assert.equal(objects.get(path), body);
  const whole = await writ(['verify', 'stream', downloaded(objects), ...desk.pins]);
  assert.equal(whole.status, 0, whole.out);
});

test('audit stream ends when the store refuses: wrong secret, no bucket, another object', async () => {
  const { objects, url } = await objectStore();
  const folder = temporaryFolder();
  const at = (name: string) => join(folder, name);
  mkdirSync(at('d'));
  const wrong = await writ(asked(url, at('a')), { ...env, AWS_SECRET_ACCESS_KEY: 'wrong-secret' });
  const bucket = desk.stream(
    '--to',
    's3://no-bucket',
    '--endpoint',
    url,
    '--state',
    at('b'),
    '--once',
  );
  const none = await writ(bucket, env);
  const unset = await writ(asked(url, at('c')), operator);
  objects.set('/audit/desk%20one/chunk-000000000002.jsonl', 'of another writer');
  const taken = await writ(asked(url, at('e')), env);

  assert.equal(wrong.status, 4);
  assert.match(wrong.err, /answered 403 SignatureDoesNotMatch/);
  assert.equal(wrong.err.includes('wrong-secret'), false);
  assert.equal(none.status, 1);
  assert.match(none.err, /answered 404 NoSuchBucket/);
  assert.equal(unset.status, 4);
  assert.match(unset.err, /set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/);
  assert.equal(taken.status, 1);
  assert.match(taken.err, /is there already, with other contents/);
  assert.equal(objects.get('/audit/desk%20one/chunk-000000000002.jsonl'), 'of another writer');
});

test('audit stream waits for a store that is busy', async () => {
  const { posts, url } = await receiver(({ method }, index) => {
    if (method === 'GET') return 404;
    return index < 3 ? { status: 503, headers: { 'retry-after': '0' } } : 200;
  });
  const { status, err } = await writ(asked(url, join(temporaryFolder(), 'state')), env);

  assert.equal(status, 0, err);
  assert.match(err, /^Waiting: "http:\/\/127\.0\.0\.1:\d+" answered 503\n$/);
  assert.equal(posts[1]?.body, posts[3]?.body);
});
