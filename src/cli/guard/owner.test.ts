import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { configOf } from '../../config/config.ts';
import { ownerIdentity, ownerOf } from './owner.ts';

const configIn = (folder: string, more: object = {}) =>
  configOf({ data: join(folder, '.writ'), ...more }, folder);

test('ownerOf() makes a key that only this user can read, once', () => {
  const config = configIn(temporaryFolder());

  const owner = ownerOf(config);
  const again = ownerOf(config);

  assert.ok(owner);
  assert.equal(statSync(owner.file).mode & 0o777, 0o600);
  assert.equal(Buffer.from(owner.key, 'base64url').length, 32);
  assert.equal(readFileSync(owner.file, 'utf8'), `${owner.key}\n`);
  assert.deepEqual(again, owner);
});

test('ownerOf() makes none where people are configured', () => {
  const identities = [{ principal: 'human:a@example.com', key: 'k', scopes: [] }];

  assert.equal(ownerOf(configIn(temporaryFolder(), { identities })), undefined);
});

const REACHED: [what: string, settings: object][] = [
  ['the host is open', { host: '0.0.0.0' }],
  ['the published address is elsewhere', { public_url: 'https://guard.example.com' }],
  ['a proxy forwards requests', { trusted_proxies: ['127.0.0.1/32'] }],
];
for (const [what, settings] of REACHED) {
  test(`ownerOf() refuses to make a key when ${what}`, () => {
    assert.throws(
      () => ownerOf(configIn(temporaryFolder(), settings)),
      /other machines reach this service/,
    );
  });
}

test('ownerOf() refuses a file that others can read, and one without a key', () => {
  const config = configIn(temporaryFolder());
  const { file } = ownerOf(config) ?? assert.fail();

  chmodSync(file, 0o644);
  assert.throws(() => ownerOf(config), /others have access/);
  chmodSync(file, 0o600);
  writeFileSync(file, '\n');
  assert.throws(() => ownerOf(config), /it has no key/);
});

test('ownerIdentity() adds only scopes of the policy that the own prefix does not cover', () => {
  const owner = { principal: 'human:owner@localhost', key: 'k', file: 'f' };

  const { scopes } = ownerIdentity(owner, { id: 'files', scopes: ['files.read', 'crm.write'] });

  assert.deepEqual(scopes, ['files.*', 'approver:*', 'operator:*', 'crm.write']);
});
