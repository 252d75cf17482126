import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { identity, identityEntry, removedIdentity } from '../../../test/support/sign-in.ts';
import { EntitlementRule, Identity } from '../../config/parts.ts';
import { system } from '../../platform.ts';
import { openStore } from '../../storage/open.ts';
import type { IdentityStore } from '../../storage/port/identity-store.ts';
import type { Authenticate } from '../author/define.ts';
import { createIdentities } from './identities.ts';
import type { ExternalIdentities } from './oidc.ts';

const ALICE = Identity.parse({
  principal: 'human:alice',
  key: 'alice-key',
  scopes: ['travel.*'],
  subjects: ['agent:*'],
  caller_class: 'internal',
  caller_classes: ['partner'],
});
const DESK = Identity.parse({
  principal: 'service:desk',
  key_sha256: createHash('sha256').update('desk-key').digest('hex'),
});
const RULES = [
  { principals: ['human:bob', 'oidc:b*'], scopes: ['travel.read'], caller_class: 'partner' },
  { principals: ['human:*'], scopes: ['travel.search'], subjects: ['agent:*'] },
].map((rule) => EntitlementRule.parse(rule));

const CONFIG = { identities: [ALICE, DESK], entitlements: RULES };

const NONE: Pick<IdentityStore, 'findIdentity' | 'identitiesOf'> = {
  findIdentity: () => assert.fail('the store was asked'),
  identitiesOf: async () => [],
};

function identitiesOf(
  config: Parameters<typeof createIdentities>[0],
  authenticate?: Authenticate,
  external?: ExternalIdentities,
) {
  return createIdentities(config, { platform: system, stored: NONE, authenticate, external });
}

const KEY = `wk_${'k'.repeat(43)}`;
const digestOf = (key: string) => createHash('sha256').update(key).digest('hex');

/** Identities on a store that has one for `KEY`. */
async function storing(config = CONFIG, authenticate?: Authenticate) {
  const store = closedAtEnd(await openStore('memory:'));
  const kept = identity({ key_sha256: digestOf(KEY), scopes: ['approver:*'] });
  await store.insertIdentity(kept, identityEntry(kept), 9);
  const remove = () => store.removeIdentity(kept.identity_id, removedIdentity, identityEntry);
  const sources = { platform: system, stored: store, authenticate };
  return { kept, remove, identities: createIdentities(config, sources) };
}

test('identify() finds a key in the store, until it is removed', async () => {
  const { identities, kept, remove } = await storing();
  const { principal, scopes, subjects, caller_class, caller_classes } = kept;
  const entitlement = { principal, scopes, subjects, caller_class, caller_classes };

  assert.deepEqual(await identities.identify(KEY), entitlement);
  assert.deepEqual(await identities.byKey(KEY), entitlement);
  assert.deepEqual(await identities.byDigest(kept.key_sha256), entitlement);
  assert.equal(await identities.isEntitled(principal, 'approver:pay'), true);
  await remove();

  assert.equal(await identities.identify(KEY), undefined);
  assert.equal(await identities.byKey(KEY), undefined);
  assert.equal(await identities.byDigest(kept.key_sha256), undefined);
  assert.equal(await identities.isEntitled(principal, 'approver:pay'), false);
});

test('identify() takes the configured identity of a key that the store has, too', async () => {
  const own = { ...ALICE, key: KEY };
  const { identities, kept } = await storing({ ...CONFIG, identities: [own] });

  assert.equal((await identities.identify(KEY))?.principal, 'human:alice');
  assert.equal((await identities.byDigest(kept.key_sha256))?.principal, 'human:alice');
  assert.equal(identities.isConfiguredDigest(kept.key_sha256), true);
});

test('identify() asks the hook about a key that was removed', async () => {
  const { identities, remove } = await storing(CONFIG, () => null);
  await remove();

  assert.equal(await identities.identify(KEY), undefined);
});

test('identify() asks the store only about texts in the form of a key', async () => {
  const { identify } = identitiesOf(CONFIG);
  const others = ['jwt', 'a.b.c', KEY.slice(1), `${KEY}x`, `${KEY}\n`, KEY.replace('wk_', 'wk-')];

  for (const bearer of others) assert.equal(await identify(bearer), undefined);
  await assert.rejects(async () => identify(KEY), /the store was asked/);
});

test('identify() finds no key by its digest', async () => {
  const { identities, kept } = await storing();

  assert.equal(await identities.identify(kept.key_sha256), undefined);
});

test('identify() finds a credential configured as text or as hash', async () => {
  const { identify } = identitiesOf(CONFIG);

  assert.equal((await identify('alice-key'))?.principal, 'human:alice');
  assert.equal((await identify('desk-key'))?.principal, 'service:desk');
});

test('identify() rejects credentials that are only similar', async () => {
  const { identify } = identitiesOf(CONFIG);
  const alike = ['alice-ke', 'alice-key ', 'Alice-key', '', 'alice-key\0', DESK.key_sha256 ?? ''];

  for (const bearer of alike) assert.equal(await identify(bearer), undefined, bearer);
});

test('identify() returns the configured entitlement, empty by default', async () => {
  const { identify } = identitiesOf(CONFIG);

  assert.deepEqual((await identify('alice-key'))?.scopes, ['travel.*']);
  const desk = await identify('desk-key');
  assert.deepEqual(
    [desk?.scopes, desk?.subjects, desk?.caller_class, desk?.caller_classes],
    [[], [], 'default', []],
  );
});

for (const [kind, hook] of [
  ['a hook', (bearer: string) => (bearer === 'bob-key' ? 'human:bob' : null)],
  ['a promise', async (bearer: string) => (bearer === 'bob-key' ? 'human:bob' : null)],
] as const) {
  test(`identify() entitles the principal of ${kind} by the rules`, async () => {
    const { identify } = identitiesOf(CONFIG, hook);

    assert.deepEqual(await identify('bob-key'), {
      principal: 'human:bob',
      scopes: ['travel.read'],
      subjects: [],
      caller_class: 'partner',
      caller_classes: [],
    });
    assert.equal(await identify('nobody'), undefined);
  });
}

test('identify() asks the hook only about credentials that are not configured', async () => {
  const asked: string[] = [];
  const { identify } = identitiesOf(CONFIG, (bearer) => {
    asked.push(bearer);
    return 'human:mallory';
  });

  assert.equal((await identify('alice-key'))?.principal, 'human:alice');
  assert.equal((await identify('other'))?.principal, 'human:mallory');
  assert.deepEqual(asked, ['other']);
});

test('identify() asks an identity provider last', async () => {
  const external = {
    principal: async (bearer: string) => (bearer === 'jwt' ? 'oidc:b-7' : undefined),
  };
  const { identify } = identitiesOf(CONFIG, () => null, external);

  assert.deepEqual((await identify('jwt'))?.scopes, ['travel.read']);
  assert.equal(await identify('other'), undefined);
});

test('identify() gives a principal of the hook no entitlement of a configured identity', async () => {
  const { identify } = identitiesOf(CONFIG, () => 'human:alice');

  assert.deepEqual((await identify('x'))?.scopes, ['travel.search']);
});

for (const answer of [
  'bob',
  '',
  'human:',
  'Human:bob',
  'human:a b',
  'human:*',
  'agent:human:bob',
]) {
  test(`identify() throws a defect when the hook returns "${answer}"`, async () => {
    const { identify } = identitiesOf(CONFIG, () => answer);

    await assert.rejects(async () => identify('x'), /authenticate\(\) returned/);
  });
}

test('identify() refuses without the message of a hook that throws', async () => {
  const { identify } = identitiesOf(CONFIG, () => {
    throw new Error('directory is down');
  });

  await assert.rejects(
    async () => identify('x'),
    (error: Error) => {
      assert.equal(error.name, 'Refusal');
      assert.doesNotMatch(error.message, /directory is down/);
      return true;
    },
  );
  assert.equal((await identify('alice-key'))?.principal, 'human:alice');
});

test('isEntitled() considers every credential of a principal and the rules', async () => {
  const second = { ...ALICE, key: 'second-key', scopes: ['approver:*'] };
  const { isEntitled } = identitiesOf({ ...CONFIG, identities: [ALICE, DESK, second] });

  assert.equal(await isEntitled('human:alice', 'travel.book'), true);
  assert.equal(await isEntitled('human:alice', 'approver:pay'), true);
  assert.equal(await isEntitled('human:alice', 'travel.search'), true);
  assert.equal(await isEntitled('human:bob', 'travel.read'), true);
  assert.equal(await isEntitled('human:bob', 'approver:pay'), false);
  assert.equal(await isEntitled('service:desk', 'approver:pay'), false);
  assert.equal(await isEntitled('agent:x', 'travel.read'), false);
});
