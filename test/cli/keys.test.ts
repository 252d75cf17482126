/**
 * `writ keys list` and `writ keys compromise`, beside a service that runs.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { openDesk } from '../client/desk.ts';
import { temporaryFolder } from '../support/ends.ts';
import { atService, jsonLines } from './run.ts';

let keys: string;
let desk: Awaited<ReturnType<typeof openDesk>>;
let writ: ReturnType<typeof atService>;

beforeEach(async () => {
  keys = temporaryFolder();
  desk = await openDesk({ keys });
  writ = atService(desk.url);
});

const list = (...more: string[]) => writ(['keys', 'list', '--folder', keys, ...more]);

test('writ keys list shows every key of a folder, for people and for programs', async () => {
  await writ(['keys', 'rotate', 'token', '--folder', keys]);
  await writ(['keys', 'rotate', 'row', '--folder', keys, '--at-once']);

  const shown = await list();
  const printed = jsonLines(await list('--json'));

  assert.equal(shown.status, 0, shown.err);
  assert.match(shown.out, /^use +state +since +until +kid +file\n/);
  assert.match(shown.out, /\ntoken +next +\S+Z +[\w-]{43} +token-0002\.json\n/);
  assert.deepEqual(
    printed.map(({ use, state, file, published }) => [use, state, file, published]),
    [
      ['token', 'current', 'token-0001.json', null],
      ['token', 'next', 'token-0002.json', null],
      ['log', 'current', 'log-0001.json', null],
      ['row', 'old', 'row-0001.json', null],
      ['row', 'current', 'row-0002.json', null],
    ],
  );
  assert.ok(printed[0].until > printed[1].since);
});

test('writ keys list compares the folder with what a service publishes', async () => {
  await writ(['keys', 'rotate', 'log', '--folder', keys]);
  const before = jsonLines(await list('--service', desk.url, '--json'));
  desk.service.refreshKeys();
  const after = jsonLines(await list('--service', desk.url, '--json'));
  const other = await openDesk();
  const foreign = await writ(['keys', 'list', '--folder', keys, '--service', other.url]);

  const publishedOf = (lines: { file: string; published: boolean }[]) =>
    lines.map(({ file, published }) => `${file} ${published}`);
  assert.deepEqual(publishedOf(before), [
    'token-0001.json true',
    'log-0001.json true',
    'log-0002.json false',
    'row-0001.json false',
  ]);
  assert.ok(publishedOf(after).includes('log-0002.json true'));
  assert.match(foreign.out, /\nrow +current .* row-0001\.json +never\n/);
  assert.equal(foreign.out.match(/not in the folder .* yes/g)?.length, 2);
});

test('every command of writ keys takes the folder of the configuration', async () => {
  const env = { WRIT_CONFIG: join(keys, 'writ.config.json') };
  writeFileSync(env.WRIT_CONFIG, JSON.stringify({ keys }));

  const rotated = await writ(['keys', 'rotate', 'token', '--at-once'], { env });
  const marked = await writ(['keys', 'compromise', 'token-0001.json'], { env });
  const listed = await writ(['keys', 'list', '--json'], { env });

  assert.deepEqual([rotated.status, marked.status, listed.status], [0, 0, 0], rotated.err);
  assert.deepEqual(
    jsonLines(listed).map(({ use, state }) => `${use} ${state}`),
    ['token compromised', 'token current', 'log current', 'row current'],
  );
  const inVariables = { ...env, WRIT_KEYS: keys };
  assert.equal((await writ(['keys', 'rotate', 'log'], { env: inVariables })).status, 0);
});

test('writ keys says when the keys are elsewhere', async () => {
  const none = await writ(['keys', 'list', '--folder', join(keys, 'none')]);
  const away = await list('--service', 'http://127.0.0.1:9');

  assert.deepEqual([none.status, away.status], [2, 5]);
  assert.match(none.err, /Cannot read key folder ".*none": ENOENT/);
});

test('writ keys compromise withdraws a key after its successor signs, and no key in use', async () => {
  const agent = await desk.client(['travel.search']);
  const [first] = jsonLines(await list('--json'));
  const args = ['keys', 'compromise', first.kid, '--folder', keys];
  // An id may begin with a dash.
  const named = ['keys', 'compromise', '--folder', keys, '--', first.kid];

  const early = await writ(named);
  await writ(['keys', 'rotate', 'token', '--folder', keys, '--at-once']);
  const marked = await writ(first.kid.startsWith('-') ? named : args);
  const again = jsonLines(
    await writ(['keys', 'compromise', first.file, '--folder', keys, '--json']),
  );
  const unknown = await writ(['keys', 'compromise', 'x', '--folder', keys]);
  desk.service.refreshKeys();
  const refused = await agent.ask('permissions', {});
  const next = await desk.client(['travel.search']);

  assert.equal(early.status, 2);
  assert.match(early.err, /it is in use; first run: writ keys rotate token --at-once/);
  assert.equal(marked.status, 0, marked.err);
  assert.match(marked.out, /^token-0001\.json "[\w-]{43}" is compromised/);
  assert.equal(again[0].state, 'compromised');
  assert.deepEqual([unknown.status, unknown.err], [2, `Cannot find the key "x" in "${keys}"\n`]);
  assert.equal(refused.ok, false);
  assert.ok((await next.ask('permissions', {})).ok);
  const published = jsonLines(await list('--service', desk.url, '--json'));
  assert.deepEqual(
    published.slice(0, 2).map(({ state, published: isOut }) => [state, isOut]),
    [
      ['compromised', false],
      ['current', true],
    ],
  );
});

test('writ keys compromise asks about a key that waits for its turn, or takes a flag', async () => {
  await writ(['keys', 'rotate', 'token', '--folder', keys]);
  const rotated = await writ(['keys', 'rotate', 'token', '--folder', keys, '--at-once']);
  const mark = (more: string[] = [], ask?: () => Promise<string>) =>
    writ(['keys', 'compromise', 'token-0001.json', '--folder', keys, ...more], { ask });
  const states = async () => jsonLines(await list('--json')).map(({ state }) => state);

  const silent = await mark();
  const unclear = await mark([], async () => 'yes');
  const both = await mark(['--drop-next', '--keep-next']);
  const untouched = await states();
  const kept = await mark(['--keep-next']);
  const waiting = await states();
  const dropped = await mark(['--json'], async () => 'drop');

  assert.match(rotated.err, /^token-0002\.json was made before and signs from 20.*asks whether/);
  for (const refused of [silent, unclear]) {
    assert.equal(refused.status, 2);
    assert.match(refused.err, /nothing is marked: .*: token-0002\.json \(signs from 20/);
    assert.match(refused.err, /--drop-next marks them as compromised, --keep-next lets them sign/);
  }
  assert.match(both.err, /expected one of --drop-next and --keep-next/);
  assert.deepEqual(untouched.slice(0, 3), ['old', 'next', 'current']);
  assert.equal(kept.status, 0, kept.err);
  assert.deepEqual(waiting.slice(0, 3), ['compromised', 'next', 'current']);
  assert.deepEqual(
    jsonLines(dropped).map(({ file, state }) => `${file} ${state}`),
    ['token-0001.json compromised', 'token-0002.json compromised'],
  );
});

test('the service logs the id of its log with its keys at the start, also without a witness', async () => {
  const lines = desk.service.log.filter((text) => text.includes('"log keys"'));

  assert.equal(lines.length, 1);
  const { log_id, keys: vkeys } = JSON.parse(lines[0] ?? '{}');
  assert.match(log_id, /^[\w-]{8,}$/);
  assert.ok(vkeys.length > 0 && vkeys.every((vkey: string) => vkey.includes(log_id)));
});
