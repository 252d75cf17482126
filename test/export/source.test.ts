/**
 * `writ audit stream` at a service that is away for a while, or that does not show the log that it signed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { entry } from '../support/fixtures.ts';
import { eventually } from '../support/world.ts';
import { chunksIn, exportDesk, placesIn, running, upTo, writ } from './desk.ts';
import { type Posted, receiver } from './receivers.ts';

const desk = await exportDesk();
await desk.sealed(6);

interface Passed {
  readonly status: number;
  readonly headers: Record<string, string>;
  body: string;
}

/** A proxy before the desk that may change an answer, or answer by itself. */
async function proxy(change: (posted: Posted, passed: Passed) => Passed | 'hang' | number) {
  const { url } = await receiver(async (posted) => {
    const { method, path, headers } = posted;
    const sent: Record<string, string> = headers.authorization
      ? { authorization: headers.authorization }
      : {};
    const response = await fetch(`${desk.url}${path}`, { method, headers: sent });
    const type = response.headers.get('content-type') ?? '';
    const passed = { status: response.status, headers: { 'content-type': type } };
    return change(posted, { ...passed, body: await response.text() });
  });
  return url;
}

function stream(url: string, folder: string, ...more: string[]): string[] {
  return ['audit', 'stream', '--service', url, '--to', `file:${folder}`, ...more];
}

test('audit stream waits while the service is busy or away, and goes on by itself', async () => {
  const folder = temporaryFolder();
  let faults = 0;
  const url = await proxy(({ path }, passed) => {
    if (!path.startsWith('/svc/audit') || faults >= 3) return passed;
    faults += 1;
    return {
      ...passed,
      status: faults === 2 ? 503 : 429,
      body: faults === 1 ? refusal : 'no JSON',
    };
  });
  const command = running(stream(url, folder, '--interval', '1', '--chunk-entries', '2'));
  await eventually(() => placesIn(folder).length >= 7);
  command.stop();

  assert.equal(await command.done, 0, command.said.err);
  assert.equal(faults, 3);
  assert.deepEqual(placesIn(folder), upTo(placesIn(folder).length));
  assert.match(command.said.err, /^Waiting: /);
});

const refusal = JSON.stringify({
  success: false,
  failure: {
    type: 'rate_limited',
    detail: 'Cannot answer now: too many requests',
    retry: true,
    resolution: { action: 'wait_and_retry', recovery_class: 'wait_then_retry' },
  },
});

const forgeries: [name: string, path: RegExp, from: RegExp, to: string, found: RegExp][] = [
  [
    'an entry with a changed field',
    /^\/svc\/audit/,
    /"success":true/,
    '"success":false',
    /the entry at place \d+ is not genuine: "success" is not what its leaf says/,
  ],
  [
    'a log with a hidden entry',
    /^\/svc\/audit/,
    /"sequence":3,/,
    '"sequence":4,',
    /does not show the entry at place 3/,
  ],
  [
    'a leaf under another place',
    /^\/svc\/checkpoints\/.*leaf_index/,
    /"hashes":\["[0-9a-f]{4}/,
    '"hashes":["abcd',
    /does not begin with its 2 entries/,
  ],
  [
    'a checkpoint of another size',
    /^\/svc\/checkpoints/,
    /"entry_count":7/g,
    '"entry_count":6',
    /checkpoint \d+: signature: not by key/,
  ],
];
for (const [name, path, from, to, found] of forgeries) {
  test(`audit stream writes nothing of ${name}`, async () => {
    const folder = temporaryFolder();
    let isChanged = false;
    const url = await proxy((posted, passed) => {
      if (!path.test(posted.path)) return passed;
      isChanged ||= passed.body.search(from) >= 0;
      return { ...passed, body: passed.body.replace(from, to) };
    });
    const { status, err } = await writ(stream(url, folder, '--once', '--chunk-entries', '2'));

    assert.ok(isChanged);
    assert.equal(status, 1, err);
    assert.match(err, found);
    assert.deepEqual(chunksIn(folder), []);
  });
}

test('audit stream believes the first key of the log once, and then only its successors', async () => {
  const folder = temporaryFolder();
  const first = await writ(stream(desk.url, folder, '--once'));
  const state = join(folder, 'state.json');
  const text = readFileSync(state, 'utf8');
  const { key } = JSON.parse(text);
  const other = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs';
  writeFileSync(state, text.replace(key, other));
  await desk.sealed(1);
  const refused = await writ(stream(desk.url, folder, '--once'));
  const confirmed = await writ(stream(desk.url, folder, '--once', '--log-pin', key));

  assert.equal(first.status, 0, first.err);
  assert.equal(refused.status, 1);
  assert.match(refused.err, /is neither known nor a successor of a known key; .* give --log-pin/);
  assert.ok(refused.err.includes(key));
  assert.equal(confirmed.status, 0, confirmed.err);
  assert.equal(JSON.parse(readFileSync(state, 'utf8')).key, key);
});

test('audit stream holds chunks and blocks to their bytes, however long entries are', async () => {
  const long = await exportDesk();
  const root_principal = 'human:samuel@example.com';
  const detail = { verb: 'checkpoints', text: 'x'.repeat(60_000) };
  const record = () => entry({ root_principal, actor_key: root_principal, detail });
  // Short entries first, so that blocks have grown when the long ones come.
  await long.grow(200);
  await long.service.store.append(Array.from({ length: 150 }, record));
  await long.sealed(1);
  const folder = temporaryFolder();
  const { status, err, out } = await writ(stream(long.url, folder, '--once', '--json'));
  const chunks = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const verified = await writ(['verify', 'stream', folder, ...long.pins]);

  assert.equal(status, 0, err);
  assert.ok(chunks.length > 1);
  assert.ok(chunks.every(({ bytes }) => bytes < 9 * 1024 * 1024));
  assert.deepEqual(placesIn(folder), upTo(placesIn(folder).length));
  assert.equal(verified.status, 0, verified.out);
});
