/**
 * `writ audit stream` to an HTTP receiver, as a SIEM is one: slow, busy, strict and silent ones.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import type { Store } from '../../src/storage/port/store.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import { exportDesk, operator, placesOf, running, upTo, writ } from './desk.ts';
import { type Posted, receiver } from './receivers.ts';

/** How often the service read entries from its store. */
let reads = 0;
const counted = (store: Store): Store => ({
  ...store,
  queryEntries(query) {
    reads += 1;
    return store.queryEntries(query);
  },
});

const desk = await exportDesk({ wrap: counted });
await desk.sealed(9);
const total = (await desk.service.ask('GET', '/svc/checkpoints?limit=1')).body.checkpoints[0]
  .entry_count as number;

function asked(url: string, ...more: string[]): string[] {
  const state = join(temporaryFolder(), 'state');
  return desk.stream('--to', `${url}/ingest`, '--state', state, '--once', ...more);
}

function places(posts: readonly Posted[]): number[] {
  return posts.flatMap(({ body }) => placesOf(body));
}

test('audit stream posts JSON lines with the headers of a file, and together they verify', async () => {
  const { posts, url } = await receiver();
  const folder = temporaryFolder();
  const headers = join(folder, 'siem.headers');
  writeFileSync(headers, 'Authorization: Splunk a-secret-token\nX-Source: desk\n', { mode: 0o600 });
  const ran = await writ(asked(url, '--header-file', headers, '--batch-bytes', '4000', '--json'));
  const delivered = JSON.parse(ran.out);
  writeFileSync(join(folder, delivered.name), posts.map(({ body }) => body).join(''));
  const verified = await writ(['verify', 'stream', folder, ...desk.pins]);

  assert.equal(ran.status, 0, ran.err);
  assert.ok(posts.length > 2);
  assert.deepEqual(places(posts), upTo(total));
  assert.equal(verified.status, 0, verified.out);
  assert.equal(ran.out.includes('a-secret-token') || ran.err.includes('a-secret-token'), false);
  for (const { method, path, headers: sent, body } of posts) {
    assert.deepEqual([method, path], ['POST', '/ingest']);
    assert.equal(sent['content-type'], 'application/x-ndjson');
    assert.equal(sent.authorization, 'Splunk a-secret-token');
    assert.equal(sent['x-source'], 'desk');
    assert.match(String(sent['idempotency-key']), /^[0-9a-f]{64}$/);
    assert.ok(body.length <= 4000 || body.trim().split('\n').length === 1);
  }
});

test('audit stream halves a batch that is too long for the receiver', async () => {
  const { posts, url } = await receiver(({ body }) => (body.length > 6_000 ? 413 : 202));
  const ran = await writ(asked(url));
  const accepted = posts.filter(({ body }) => body.length <= 6_000);
  const { url: strict } = await receiver(() => 413);
  const never = await writ(asked(strict));

  assert.equal(ran.status, 0, ran.err);
  assert.ok(accepted.length < posts.length);
  assert.deepEqual(places(accepted), upTo(total));
  assert.equal(never.status, 1);
  assert.match(never.err, /answered 413 to \d+ bytes: one line is more than it accepts/);
});

test('audit stream waits for a busy receiver, and sends the same bytes again', async () => {
  const { posts, url } = await receiver((_, index) => {
    if (index === 0) return { status: 429, headers: { 'retry-after': '1' } };
    return index === 1 ? 503 : 200;
  });
  const ran = await writ(asked(url));

  assert.equal(ran.status, 0, ran.err);
  assert.match(ran.err, /^Waiting: ".*" answered 429\n$/);
  assert.deepEqual(
    posts.map(({ body, headers }) => [body, headers['idempotency-key']]),
    posts.map(() => [posts[0]?.body, posts[0]?.headers['idempotency-key']]),
  );
});

test('audit stream reads nothing more from the service while a receiver does not answer', async () => {
  const { posts, url } = await receiver((_, index) => (index === 0 ? 200 : 'hang'));
  const state = join(temporaryFolder(), 'state');
  const to = ['--to', `${url}/ingest`, '--state', state, '--chunk-entries', '2', '--timeout', '1'];
  const command = running(desk.stream(...to));
  atEnd(() => command.stop());
  await eventually(() => posts.length >= 2);
  const before = reads;
  // The second chunk timed out and was sent again, and nothing else was read, sent or stored.
  await eventually(() => posts.length >= 4);
  const after = reads;
  const saved = JSON.parse(readFileSync(state, 'utf8'));
  command.stop();
  const status = await command.done;

  assert.equal(status, 0, command.said.err);
  assert.match(command.said.err, /^Waiting: ".*" does not answer \(.*timeout.*\)\n$/);
  assert.equal(saved.place.chunk, 1);
  assert.equal(saved.pending.after.chunk, 2);
  assert.equal(new Set(posts.slice(1).map(({ body }) => body)).size, 1);
  assert.deepEqual(places(posts.slice(0, 2)), upTo(4));
  assert.equal(after, before);

  const { posts: later, url: healthy } = await receiver();
  const moved = readFileSync(state, 'utf8').replaceAll(url, healthy);
  writeFileSync(state, moved);
  const end = await writ(
    desk.stream('--to', `${healthy}/ingest`, '--state', state, '--chunk-entries', '2', '--once'),
  );
  assert.equal(end.status, 0, end.err);
  assert.equal(later[0]?.body, posts[1]?.body);
  assert.deepEqual([...upTo(2), ...places(later)], upTo(total));
});

test('audit stream ends with one line when the receiver refuses', async () => {
  const refusals: [status: number, exit: number, why: RegExp][] = [
    [400, 1, /answered 400 to \d+ bytes: it does not take the lines/],
    [401, 4, /answered 401 .*its credential is not accepted; see --header-file/],
    [404, 1, /there is no receiver at this address/],
    [307, 1, /answered 307/],
  ];
  for (const [answer, exit, why] of refusals) {
    const { url, posts } = await receiver(() => ({
      status: answer,
      headers: { location: 'http://127.0.0.1:1/' },
      body: 'x'.repeat(1_000_000),
    }));
    const { status, err } = await writ(asked(`${url}`));

    assert.equal(status, exit, err);
    assert.match(err, why);
    assert.equal(err.trim().split('\n').length, 1);
    assert.equal(posts.length, 1);
  }
});

test('audit stream --once gives up on a receiver that stays away, and loses nothing', async () => {
  const { url, server } = await receiver();
  server.close();
  const state = join(temporaryFolder(), 'state');
  const command = desk.stream(
    '--to',
    `${url}/ingest?key=secret-in-query`,
    '--state',
    state,
    '--once',
  );
  const { status, err } = await writ(command);

  assert.equal(status, 5);
  assert.match(err, /does not answer \(ECONNREFUSED\)/);
  const saved = readFileSync(state, 'utf8');
  assert.ok(JSON.parse(saved).pending);
  assert.equal(`${err}${saved}`.includes('secret-in-query'), false);
});

test('audit stream refuses a file of headers that others can read, or that has none', async () => {
  const file = join(temporaryFolder(), 'headers');
  writeFileSync(file, 'Authorization: secret-of-mine\n', { mode: 0o644 });
  chmodSync(file, 0o644);
  const open = await writ(asked('https://siem.example', '--header-file', file));
  chmodSync(file, 0o600);
  writeFileSync(file, 'secret-of-mine\n');
  const none = await writ(asked('https://siem.example', '--header-file', file));
  const variable = await writ(asked('https://siem.example'), {
    ...operator,
    WRIT_STREAM_HEADERS: 'secret-of-mine',
  });

  assert.deepEqual([open.status, none.status, variable.status], [2, 2, 2]);
  assert.match(open.err, /others have access to it \(mode 0644\); run: chmod 600/);
  assert.match(none.err, /line 1 of ".*" is not a header/);
  assert.match(variable.err, /line 1 of WRIT_STREAM_HEADERS is not a header/);
  assert.equal(`${open.err}${none.err}${variable.err}`.includes('secret-of-mine'), false);
});
