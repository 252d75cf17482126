import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { rotateKey } from './key-folder.ts';
import { type DecideOnNext, folderKeys, markCompromised } from './key-states.ts';
import { type Keyring, openKeyring } from './keyring.ts';
import { rotateRowKey } from './row-keys.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const HOUR = 3_600_000;
const at = (ms: number) => new Date(START + ms);

let folder: string;
let keyring: Keyring;
let now: number;

beforeEach(() => {
  folder = temporaryFolder();
  now = START;
  keyring = openKeyring(
    { folder },
    { now: () => new Date(now), onWarning: () => undefined, tokenLifetimeMaxMs: HOUR },
  );
  keyring.close();
});

const keep: DecideOnNext = async () => 'keep';

const statesAt = (ms: number) =>
  folderKeys(folder, at(ms)).map(({ file, state }) => `${file} ${state}`);

test('folderKeys() says of each key what it is, from before its turn until after its end', () => {
  for (const use of ['token', 'log'] as const)
    rotateKey(folder, use, { now: at(0), leadMs: 1_000 });
  rotateRowKey(folder, { now: at(0), leadMs: 1_000 });

  assert.deepEqual(statesAt(0), [
    'token-0001.json current',
    'token-0002.json next',
    'log-0001.json current',
    'log-0002.json next',
    'row-0001.json current',
    'row-0002.json next',
  ]);
  assert.deepEqual(statesAt(1_000), [
    'token-0001.json old',
    'token-0002.json current',
    'log-0001.json old',
    'log-0002.json current',
    'row-0001.json old',
    'row-0002.json current',
  ]);
  const end = 1_000 + HOUR + 60_000;
  assert.deepEqual(statesAt(end - 1).slice(0, 1), ['token-0001.json old']);
  assert.deepEqual(statesAt(end).slice(0, 3), [
    'token-0001.json retired',
    'token-0002.json current',
    'log-0001.json old',
  ]);
  const [first] = folderKeys(folder, at(0));
  assert.deepEqual([first?.since, first?.until], [at(0), at(end)]);
});

test('folderKeys() agrees with the keyring about what is published and what signs', () => {
  rotateKey(folder, 'token', { now: at(0), leadMs: 1_000 });
  keyring.refresh();
  for (const ms of [0, 999, 1_000, HOUR, HOUR + 60_999, HOUR + 61_000, 9 * HOUR]) {
    now = START + ms;
    const signers = folderKeys(folder, at(ms)).filter(({ use }) => use !== 'row');
    const published = signers.filter(({ state }) => state !== 'retired').map(({ kid }) => kid);

    assert.deepEqual(
      published,
      keyring.jwks().keys.map(({ kid }) => kid),
    );
    const [signing] = signers.filter(({ use, state }) => use === 'token' && state === 'current');
    assert.equal(signing?.kid, keyring.kid('token'));
  }
});

for (const use of ['token', 'log', 'row'] as const) {
  test(`markCompromised() refuses the ${use} key that is in use, and takes it once another is`, async () => {
    const file = `${use}-0001.json`;
    const [, kid] = /"kid": "([^"]+)"/.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
    await assert.rejects(
      markCompromised(folder, kid ?? '', at(0), keep),
      new RegExp(`it is in use; first run: writ keys rotate ${use} --at-once`),
    );
    if (use === 'row') rotateRowKey(folder, { now: at(0), leadMs: 0 });
    else rotateKey(folder, use, { now: at(0), leadMs: 0 });

    const [marked] = await markCompromised(folder, kid ?? '', at(0), keep);
    const [again] = await markCompromised(folder, file, at(0), keep);

    assert.deepEqual([marked?.file, marked?.state], [file, 'compromised']);
    assert.equal(again?.state, 'compromised');
    assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.tmp')),
      [],
    );
    keyring.refresh();
    const kids = [...keyring.states(), ...keyring.rows.states()].map((each) => each.kid);
    assert.equal(kids.includes(kid ?? ''), false);
  });
}

for (const use of ['token', 'log', 'row'] as const) {
  test(`markCompromised() asks about the ${use} keys that wait, before it marks anything`, async () => {
    const rotate = (leadMs: number) =>
      use === 'row'
        ? rotateRowKey(folder, { now: at(0), leadMs })
        : rotateKey(folder, use, { now: at(0), leadMs });
    // Keys of another use that wait are another question.
    rotateKey(folder, use === 'log' ? 'token' : 'log', { now: at(0), leadMs: HOUR });
    rotate(HOUR);
    rotate(0);
    const files = (word: string) =>
      statesAt(2 * HOUR).filter((line) => line.startsWith(use) && line.endsWith(word));
    const asked: string[][] = [];
    const before = statesAt(0);

    await assert.rejects(
      markCompromised(folder, `${use}-0001.json`, at(0), async (next) => {
        asked.push(next.map(({ file }) => file));
        throw new Error('not decided');
      }),
      /not decided/,
    );
    assert.deepEqual(statesAt(0), before);
    await markCompromised(folder, `${use}-0001.json`, at(0), keep);
    assert.deepEqual(files('current'), [`${use}-0002.json current`]);
    await markCompromised(folder, `${use}-0001.json`, at(0), async () => 'drop');

    assert.deepEqual(asked, [[`${use}-0002.json`]]);
    assert.deepEqual(files('current'), [`${use}-0003.json current`]);
    assert.equal(files('compromised').length, 2);
  });
}

test('folderKeys() and markCompromised() name what they cannot read, and nothing of a key', async () => {
  const secret = /"d": "([^"]+)"/.exec(readFileSync(join(folder, 'token-0001.json'), 'utf8'))?.[1];
  const unknown = markCompromised(folder, 'unknown', at(0), keep);
  await assert.rejects(unknown, /Cannot find the key "unknown"/);
  assert.throws(() => folderKeys(join(folder, 'none'), at(0)), /Cannot read key folder/);
  chmodSync(join(folder, 'token-0001.json'), 0o644);
  assert.throws(() => folderKeys(folder, at(0)), /others have access to it/);
  chmodSync(join(folder, 'token-0001.json'), 0o600);
  writeFileSync(join(folder, 'token-0001.json'), `{"d": "${secret}"`);
  assert.throws(
    () => folderKeys(folder, at(0)),
    (error: Error) => {
      assert.equal(error.message.includes(secret ?? 'none'), false);
      return /it is not JSON/.test(error.message);
    },
  );
});
