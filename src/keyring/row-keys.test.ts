import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../test/support/ends.ts';
import { openKeyring } from './keyring.ts';
import { folderRowKeys, listedRowKeys, readRowKeys, rotateRowKey } from './row-keys.ts';

const START = Date.parse('2030-01-01T00:00:00.000Z');
const LEAD_MS = 600_000;
let folder: string;
let now: number;
const clock = () => new Date(now);

beforeEach(() => {
  folder = temporaryFolder();
  now = START;
});

const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');

function fileText(name: string): { jwk: { k: string } } & Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, name), 'utf8'));
}

test('folderRowKeys() makes one private file in a folder that has none, and uses it from then on', () => {
  const mac = folderRowKeys(folder, clock).macOf('a row');

  const again = folderRowKeys(folder, clock);

  assert.deepEqual(readdirSync(folder), ['row-0001.json']);
  assert.equal(statSync(join(folder, 'row-0001.json')).mode & 0o777, 0o600);
  assert.ok(again.isMacOf('a row', mac));
  assert.equal(again.macOf('a row'), mac);
});

test('openKeyring() gives an older folder a row key, and publishes nothing of it', () => {
  const older = openKeyring({ folder }, { now: clock, onWarning: assert.fail });
  older.close();
  rmSync(join(folder, 'row-0001.json'));

  const keyring = closedAtEnd(openKeyring({ folder }, { now: clock, onWarning: assert.fail }));

  const { jwk } = fileText('row-0001.json');
  assert.equal(keyring.jwks().keys.length, 2);
  assert.ok(!JSON.stringify(keyring.jwks()).includes(jwk.k));
  assert.ok(!JSON.stringify(keyring.jwks()).includes(keyring.rows.kid()));
});

test('isMacOf() takes one spelling of a MAC, and nothing after it', () => {
  const rows = listedRowKeys(keyOf(1), clock);
  const mac = rows.macOf('a row');
  const last = mac.at(-1) as string;
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  // The last letter has two bits that stand for nothing.
  const twin = mac.slice(0, -1) + letters[letters.indexOf(last) + 1];
  const bytes = (text: string) => Buffer.from(text.split('.')[1] ?? '', 'base64url');

  assert.deepEqual(bytes(twin), bytes(mac));
  assert.ok(rows.isMacOf('a row', mac));
  for (const other of [twin, `${mac}=`, `${mac}.x`, `${mac} `]) {
    assert.ok(!rows.isMacOf('a row', other), other);
  }
});

test('isMacOf() refuses another text, a changed MAC, another key and what is no MAC', () => {
  const rows = listedRowKeys(keyOf(1), clock);
  const other = listedRowKeys(keyOf(2), clock);
  const mac = rows.macOf('a row');

  assert.ok(rows.isMacOf('a row', mac));
  assert.ok(!rows.isMacOf('another row', mac));
  assert.ok(!other.isMacOf('a row', mac));
  const [kid, value = ''] = mac.split('.');
  const swapped = `${other.kid()}.${value}`;
  const cut = `${kid}.${value.slice(0, -4)}`;
  for (const wrong of ['', '.', `${kid}`, `${kid}.`, value, swapped, cut, `${mac}AAAA`]) {
    assert.ok(!rows.isMacOf('a row', wrong), wrong);
    assert.ok(!other.isMacOf('a row', wrong), wrong);
  }
});

test('rotateRowKey() overlaps: the new key verifies at once, makes MACs after the lead, and the old one stays', () => {
  const rows = folderRowKeys(folder, clock);
  const before = rows.macOf('a row');

  const { file, kid } = rotateRowKey(folder, { now: clock(), leadMs: LEAD_MS });
  assert.deepEqual(rows.refresh(), []);
  const during = rows.macOf('a row');
  now += LEAD_MS;
  const after = rows.macOf('a row');

  assert.equal(file, 'row-0002.json');
  assert.equal(during, before);
  assert.ok(after.startsWith(`${kid}.`));
  assert.ok(folderRowKeys(folder, () => new Date(START)).isMacOf('a row', after));
  now += 365 * 24 * 3_600_000;
  assert.ok(rows.isMacOf('a row', before));
});

test('folderRowKeys() lets a compromised key neither make nor verify MACs', () => {
  const rows = folderRowKeys(folder, clock);
  const mac = rows.macOf('a row');
  const revision = rows.revision();
  rotateRowKey(folder, { now: clock(), leadMs: 0 });

  const path = join(folder, 'row-0001.json');
  writeFileSync(path, JSON.stringify({ ...fileText('row-0001.json'), compromised: true }));
  assert.deepEqual(rows.refresh(), []);

  assert.ok(!rows.isMacOf('a row', mac));
  assert.notEqual(rows.revision(), revision);
  assert.ok(rows.isMacOf('a row', rows.macOf('a row')));
});

test('refresh() keeps the keys that it knows while a file is broken, and says which', () => {
  const rows = folderRowKeys(folder, clock);
  const mac = rows.macOf('a row');

  chmodSync(join(folder, 'row-0001.json'), 0o644);

  assert.match(rows.refresh().join(), /row-0001\.json": others have access to it/);
  assert.ok(rows.isMacOf('a row', mac));
});

const BROKEN: readonly [name: string, change: (content: object) => unknown, fault: RegExp][] = [
  ['no JSON', () => 'x', /not a JSON object/],
  ['an unknown member', (content) => ({ ...content, comprimised: true }), /is not a row key with/],
  ['another use', (content) => ({ ...content, use: 'token' }), /is not a row key with/],
  ['another kid', (content) => ({ ...content, kid: 'x' }), /its kid does not match its key/],
  ['a short key', (content) => ({ ...content, jwk: { k: 'AAAA' } }), /its kid does not match/],
  ['no time', (content) => ({ ...content, sign_from: 'soon' }), /sign_from is not a time/],
  ['a word for compromised', (content) => ({ ...content, compromised: 'no' }), /neither true nor/],
  ['only compromised keys', (content) => ({ ...content, compromised: true }), /is compromised/],
];
for (const [name, change, fault] of BROKEN) {
  test(`folderRowKeys() refuses a file with ${name}, and repeats nothing of the key`, () => {
    folderRowKeys(folder, clock);
    const content = fileText('row-0001.json');
    writeFileSync(join(folder, 'row-0001.json'), JSON.stringify(change(content)));

    assert.throws(
      () => folderRowKeys(folder, clock),
      (error: Error) => {
        assert.match(error.message, fault);
        assert.ok(!error.message.includes(content.jwk.k));
        return true;
      },
    );
    assert.match(readRowKeys(folder).faults.join(), fault);
  });
}

test('listedRowKeys() makes MACs with the first key and verifies by all', () => {
  const old = listedRowKeys(keyOf(1), clock).macOf('a row');

  const rows = listedRowKeys(`${keyOf(2)}, ${keyOf(1)}`, clock);

  assert.ok(rows.isMacOf('a row', old));
  assert.equal(rows.macOf('a row'), listedRowKeys(keyOf(2), clock).macOf('a row'));
});

test('listedRowKeys() names every key that it cannot use, and repeats nothing of it', () => {
  const secret = 'hunter2-canary';

  assert.throws(
    () => listedRowKeys(`${keyOf(1)} ${keyOf(1)} ${secret}`, clock),
    (error: Error) => {
      assert.match(
        error.message,
        /key 2 of WRIT_ROW_KEYS: the same key appears earlier in the list/,
      );
      assert.match(error.message, /key 3 of WRIT_ROW_KEYS: expected 32 bytes in base64/);
      assert.ok(!error.message.includes(secret));
      return true;
    },
  );
  assert.throws(() => listedRowKeys('  ', clock), /WRIT_ROW_KEYS: it has no key/);
  const many = Array.from({ length: 17 }, (_, place) => keyOf(place)).join(' ');
  assert.throws(() => listedRowKeys(many, clock), /more than 16 keys/);
});
