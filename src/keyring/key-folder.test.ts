import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { keyFilesIn } from '../../test/support/key-files.ts';
import { DOCUMENT_MAX_AGE_SECONDS } from '../service/operations/documents.ts';
import { generateJwk } from './es256.ts';
import { REREAD_MS, ROTATION_LEAD_MS, rotateKey } from './key-folder.ts';
import { openKeyring } from './keyring.ts';

const NOW = new Date('2030-01-01T00:00:00.000Z');

test('openKeyring() makes a private folder with one private file for each use', () => {
  const folder = join(temporaryFolder(), 'a', 'keys');

  open(folder);

  assert.deepEqual(keyFilesIn(folder), ['log-0001.json', 'row-0001.json', 'token-0001.json']);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  for (const name of keyFilesIn(folder)) {
    assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  }
});

test('openKeyring() writes what a generation is, and when its turn comes', () => {
  const folder = temporaryFolder();
  const kid = open(folder).kid('log');

  const { jwk, ...content } = JSON.parse(readFileSync(join(folder, 'log-0001.json'), 'utf8'));
  const time = NOW.toISOString();
  assert.deepEqual(content, { use: 'log', kid, created_at: time, sign_from: time });
  assert.deepEqual(Object.keys(jwk).sort(), ['crv', 'd', 'kty', 'x', 'y']);
});

test('openKeyring() uses the keys that are there, also under a clock that is behind', () => {
  const folder = temporaryFolder();
  const kids = kidsOf(folder);

  const earlier = open(folder, new Date(NOW.getTime() - 60_000));

  assert.deepEqual([earlier.kid('token'), earlier.kid('log')], kids);
  assert.equal(keyFilesIn(folder).length, 3);
});

test('openKeyring() overlooks files that are no keys, such as what a crash has left', () => {
  const folder = temporaryFolder();
  const kids = kidsOf(folder);
  writeFileSync(join(folder, '.token-0002.json.0.tmp'), '{');
  writeFileSync(join(folder, 'README'), 'keys');
  writeFileSync(join(folder, 'token-2.json'), '{');

  assert.deepEqual(kidsOf(folder), kids);
});

test('openKeyring() refuses a folder that others may write to, and says how to mend it', () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o770);

  const mend = `others may write to it (mode 0770); run: chmod 700 "${folder}"`;
  assert.throws(() => open(folder), new Error(`Cannot use key folder "${folder}": ${mend}`));
});

test('openKeyring() names the folder that it cannot make', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');

  assert.throws(() => open(join(file, 'keys')), /^Error: Cannot make folder ".*\/file": /);
});

for (const mode of [0o640, 0o604, 0o660, 0o644, 0o610]) {
  const octal = mode.toString(8).padStart(4, '0');
  test(`openKeyring() refuses a key file of mode ${octal}, and says how to mend it`, () => {
    const { folder, path } = withKeys();
    chmodSync(path, mode);

    const mend = `others have access to it (mode ${octal}); run: chmod 600 "${path}"`;
    assert.throws(() => open(folder), new Error(`Cannot use key file "${path}": ${mend}`));

    chmodSync(path, 0o600);
    assert.doesNotThrow(() => open(folder));
  });
}

type Content = Record<string, unknown> & { jwk: Record<string, unknown> };
const edits: [name: string, edit: (content: Content) => unknown, fault: RegExp][] = [
  ['a list', () => [], /it has other members than use, kid/],
  ['a missing member', ({ kid: _, ...rest }) => rest, /it has other members/],
  ['a misspelt member', (content) => ({ ...content, comprimised: true }), /it has other members/],
  ['another use', (content) => ({ ...content, use: 'log' }), /it is not a token key/],
  ['a turn that is not a time', (content) => ({ ...content, sign_from: 'soon' }), /is not a time/],
  ['a day that does not exist', (c) => ({ ...c, sign_from: '2030-02-30T00:00:00Z' }), /not a time/],
  ['a mark that is a text', (c) => ({ ...c, compromised: 'false' }), /neither true nor false/],
  [
    'a kid of another key',
    (c) => ({ ...c, kid: 'x'.repeat(43) }),
    /its kid does not match its key/,
  ],
  ['another curve', (c) => ({ ...c, jwk: { ...c.jwk, crv: 'P-384' } }), /not an EC key on curve P/],
  [
    'no private half',
    ({ jwk: { d: _, ...jwk }, ...c }) => ({ ...c, jwk }),
    /not an EC key on curve/,
  ],
  ['another private half', (c) => ({ ...c, jwk: { ...c.jwk, d: generateJwk().d } }), /halves/],
  ['another public half', (c) => ({ ...c, jwk: { ...generateJwk(), d: c.jwk.d } }), /halves/],
];
for (const [name, edit, fault] of edits) {
  test(`openKeyring() refuses a key file with ${name}, and names the file and no secret`, () => {
    const { folder, path } = withKeys();
    const content: Content = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify(edit(content)));

    refuses(folder, path, { fault, secret: String(content.jwk.d) });
  });
}

const texts: [name: string, change: (text: string) => string | Uint8Array, fault: RegExp][] = [
  ['nothing in it', () => '', /it is not JSON/],
  ['half of its text', (text) => text.slice(0, text.length / 2), /it is not JSON/],
  ['a member twice', (text) => text.replace('{', '{"use":"token",'), /it is not JSON/],
  ['bytes that are not UTF-8', () => Buffer.of(0xff, 0xfe), /it is not JSON/],
  ['more than a key', (text) => text + ' '.repeat(16 * 1024), /it has \d+ bytes, a key has fewer/],
];
for (const [name, change, fault] of texts) {
  test(`openKeyring() refuses a key file with ${name}`, () => {
    const { folder, path } = withKeys();
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, change(text));

    refuses(folder, path, { fault, secret: JSON.parse(text).jwk.d });
  });
}

// Permissions do not stop the superuser, so what cannot be read is a folder and a dead link.
test('openKeyring() refuses a key file that cannot be read, and says how to mend it', () => {
  const { folder, path } = withKeys();
  rmSync(path);
  symlinkSync(join(folder, 'gone'), path);

  assert.throws(
    () => open(folder),
    /token-0001\.json": it cannot be read \(ENOENT\).* chmod 600 "/,
  );

  rmSync(path);
  mkdirSync(path, { mode: 0o700 });
  assert.throws(
    () => open(folder),
    /token-0001\.json": it cannot be read \(EISDIR\).* chmod 600 "/,
  );
});

test('openKeyring() refuses a key that stands in two files', () => {
  const { folder, path } = withKeys();
  const copy = join(folder, 'token-0002.json');
  copyFileSync(path, copy);

  assert.throws(
    () => open(folder),
    new Error(
      `Cannot use key file "${copy}": "token-0001.json" has the same key; move one of them away`,
    ),
  );
});

test('openKeyring() names every broken file at once', () => {
  const { folder } = withKeys();
  for (const name of keyFilesIn(folder)) chmodSync(join(folder, name), 0o644);

  assert.throws(() => open(folder), /token-0001\.json.*\n.*log-0001\.json/);
});

test('rotateKey() writes the next generation beside the others, to sign after the lead', () => {
  const { folder } = withKeys();

  const { file, kid, signFrom } = rotateKey(folder, 'token', { now: NOW });

  assert.equal(file, 'token-0002.json');
  assert.equal(signFrom.getTime(), NOW.getTime() + ROTATION_LEAD_MS);
  const content = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  assert.deepEqual([content.kid, content.sign_from], [kid, signFrom.toISOString()]);
  assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
  assert.equal(rotateKey(folder, 'token', { now: NOW }).file, 'token-0003.json');
  assert.equal(rotateKey(folder, 'log', { now: NOW }).file, 'log-0002.json');
});

test('rotateKey() leads by more than a cached JWKS and a re-reading can take', () => {
  assert.ok(ROTATION_LEAD_MS > DOCUMENT_MAX_AGE_SECONDS * 1_000 + REREAD_MS);
});

test('rotateKey() counts from the last generation, not from their number', () => {
  const { folder, path } = withKeys();
  rotateKey(folder, 'token', { now: NOW });
  rmSync(path);

  assert.equal(rotateKey(folder, 'token', { now: NOW }).file, 'token-0003.json');
});

test('rotateKey() makes no keys in a folder that has none', () => {
  const folder = temporaryFolder();

  assert.throws(() => rotateKey(folder, 'token', { now: NOW }), /Cannot find a token key/);
  assert.throws(() => rotateKey(join(folder, 'x'), 'log', { now: NOW }), /Cannot read key folder/);
  assert.deepEqual(keyFilesIn(folder), []);
});

test('rotateKey() refuses a folder with a broken file, and adds nothing to it', () => {
  const { folder, path } = withKeys();
  chmodSync(path, 0o644);

  assert.throws(() => rotateKey(folder, 'token', { now: NOW }), /chmod 600/);
  assert.equal(keyFilesIn(folder).length, 3);
});

for (const leadMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
  test(`rotateKey() refuses a lead of ${leadMs}`, () => {
    const { folder } = withKeys();

    assert.throws(() => rotateKey(folder, 'token', { now: NOW, leadMs }), /Cannot rotate/);
  });
}

test('rotateKey() ends at the last generation that has a name', () => {
  const { folder, path } = withKeys();
  const content = readFileSync(path, 'utf8');
  rmSync(path);
  writeFileSync(join(folder, 'token-9999.json'), content, { mode: 0o600 });

  assert.throws(() => rotateKey(folder, 'token', { now: NOW }), /has 9999 generations/);
});

function open(folder: string, now = NOW) {
  const keyring = openKeyring({ folder }, { now: () => now, onWarning: assert.fail });
  keyring.close();
  return keyring;
}

function kidsOf(folder: string): string[] {
  const keyring = open(folder);
  return [keyring.kid('token'), keyring.kid('log')];
}

/** A folder with its first generation, and the path of its token key. */
function withKeys(): { folder: string; path: string } {
  const folder = temporaryFolder();
  open(folder);
  return { folder, path: join(folder, 'token-0001.json') };
}

function refuses(
  folder: string,
  path: string,
  { fault, secret }: { fault: RegExp; secret: string },
) {
  assert.throws(
    () => open(folder),
    (error: Error) => {
      assert.match(error.message, fault);
      assert.ok(error.message.startsWith(`Cannot use key file "${path}": `));
      assert.match(error.message, /; restore it from a backup$/);
      // The cause is printed with the error, so it must not know more than the message.
      assert.equal(error.cause, undefined);
      assert.ok(!error.message.includes(secret));
      return true;
    },
  );
}
