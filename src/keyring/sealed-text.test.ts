import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { folderRowKeys, listedRowKeys, missingRowKeys, rotateRowKey } from './row-keys.ts';

const clock = () => new Date('2030-01-01T00:00:00.000Z');
const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const rows = listedRowKeys(keyOf(1), clock);
const SECRET = 'refresh-token-canary-ü';
const ABOUT = 'account acc_1';

test('openText() gives back what sealText() sealed, and the sealed text shows nothing of it', () => {
  for (const text of [SECRET, '', 'x'.repeat(100_000)]) {
    const sealed = rows.sealText(text, ABOUT);
    assert.equal(rows.openText(sealed, ABOUT), text);
  }
  const sealed = rows.sealText(SECRET, ABOUT);
  const bytes = Buffer.from(sealed.slice(sealed.indexOf('.') + 1), 'base64url');
  assert.ok(!bytes.toString('latin1').includes('canary'));
  assert.ok(sealed.startsWith(`${rows.kid()}.`));
});

test('sealText() makes another text each time', () => {
  assert.notEqual(rows.sealText(SECRET, ABOUT), rows.sealText(SECRET, ABOUT));
});

test('openText() refuses a sealed text in which any character was changed', () => {
  const sealed = rows.sealText(SECRET, ABOUT);
  for (const [place, letter] of [...sealed].entries()) {
    const edited = `${sealed.slice(0, place)}${letter === 'A' ? 'B' : 'A'}${sealed.slice(place + 1)}`;
    assert.equal(rows.openText(edited, ABOUT), undefined, `character ${place}`);
  }
});

test('openText() refuses what is shorter, longer or no sealed text', () => {
  const sealed = rows.sealText(SECRET, ABOUT);
  const kid = rows.kid();
  const others = ['', '.', kid, `${kid}.`, `${kid}.AAAA`, SECRET, rows.macOf(SECRET)];
  const altered = [
    sealed.slice(0, -1),
    sealed.slice(0, -4),
    `${sealed}A`,
    `${sealed}=`,
    ` ${sealed}`,
  ];
  for (const other of [...others, ...altered]) {
    assert.equal(rows.openText(other, ABOUT), undefined, other);
  }
});

test('openText() refuses a text that was sealed about something else', () => {
  const sealed = rows.sealText(SECRET, ABOUT);

  for (const about of ['account acc_2', '', `${ABOUT} `, `\n${ABOUT}`]) {
    assert.equal(rows.openText(sealed, about), undefined, about);
  }
});

test('openText() refuses a text of another key, also under the name of its own', () => {
  const other = listedRowKeys(keyOf(2), clock);
  const [, content] = other.sealText(SECRET, ABOUT).split('.');

  assert.equal(rows.openText(other.sealText(SECRET, ABOUT), ABOUT), undefined);
  assert.equal(rows.openText(`${rows.kid()}.${content}`, ABOUT), undefined);
});

test('openText() opens texts of older keys after a rotation, and sealText() uses the new one', () => {
  const folder = temporaryFolder();
  const keys = folderRowKeys(folder, clock);
  const older = keys.sealText(SECRET, ABOUT);
  const { kid } = rotateRowKey(folder, { now: clock(), leadMs: 0 });

  assert.deepEqual(keys.refresh(), []);

  assert.equal(keys.openText(older, ABOUT), SECRET);
  assert.ok(keys.sealText(SECRET, ABOUT).startsWith(`${kid}.`));
});

test('openText() refuses a text whose key was marked as compromised', () => {
  const folder = temporaryFolder();
  const keys = folderRowKeys(folder, clock);
  const older = keys.sealText(SECRET, ABOUT);
  rotateRowKey(folder, { now: clock(), leadMs: 0 });
  const path = join(folder, 'row-0001.json');
  const file = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...file, compromised: true }));

  assert.deepEqual(keys.refresh(), []);

  assert.equal(keys.openText(older, ABOUT), undefined);
});

test('sealText() throws without a row key', () => {
  assert.throws(() => missingRowKeys().sealText(SECRET, ABOUT), /no row key may be used/);
});
