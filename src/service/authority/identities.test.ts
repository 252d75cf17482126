import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'vitest';
import { EntitlementRule, Identity } from '../../config/parts.ts';
import { system } from '../../platform.ts';
import { createIdentities } from './identities.ts';

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

test('identify() finds a credential configured as text or as hash', async () => {
  const { identify } = createIdentities(CONFIG, system);

  assert.equal((await identify('alice-key'))?.principal, 'human:alice');
  assert.equal((await identify('desk-key'))?.principal, 'service:desk');
});

test('identify() rejects credentials that are only similar', async () => {
  const { identify } = createIdentities(CONFIG, system);
  const alike = ['alice-ke', 'alice-key ', 'Alice-key', '', 'alice-key\0', DESK.key_sha256 ?? ''];

  for (const bearer of alike) assert.equal(await identify(bearer), undefined, bearer);
});

test('identify() returns the configured entitlement, empty by default', async () => {
  const { identify } = createIdentities(CONFIG, system);

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
    const { identify } = createIdentities(CONFIG, system, hook);

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
  const { identify } = createIdentities(CONFIG, system, (bearer) => {
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
  const { identify } = createIdentities(CONFIG, system, () => null, external);

  assert.deepEqual((await identify('jwt'))?.scopes, ['travel.read']);
  assert.equal(await identify('other'), undefined);
});

test('identify() gives a principal of the hook no entitlement of a configured identity', async () => {
  const { identify } = createIdentities(CONFIG, system, () => 'human:alice');

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
    const { identify } = createIdentities(CONFIG, system, () => answer);

    await assert.rejects(identify('x'), /authenticate\(\) returned/);
  });
}

test('identify() refuses without the message of a hook that throws', async () => {
  const { identify } = createIdentities(CONFIG, system, () => {
    throw new Error('directory is down');
  });

  await assert.rejects(identify('x'), (error: Error) => {
    assert.equal(error.name, 'Refusal');
    assert.doesNotMatch(error.message, /directory is down/);
    return true;
  });
  assert.equal((await identify('alice-key'))?.principal, 'human:alice');
});

test('isEntitled() considers every credential of a principal and the rules', () => {
  const second = { ...ALICE, key: 'second-key', scopes: ['approver:*'] };
  const { isEntitled } = createIdentities({ ...CONFIG, identities: [ALICE, DESK, second] }, system);

  assert.equal(isEntitled('human:alice', 'travel.book'), true);
  assert.equal(isEntitled('human:alice', 'approver:pay'), true);
  assert.equal(isEntitled('human:alice', 'travel.search'), true);
  assert.equal(isEntitled('human:bob', 'travel.read'), true);
  assert.equal(isEntitled('human:bob', 'approver:pay'), false);
  assert.equal(isEntitled('service:desk', 'approver:pay'), false);
  assert.equal(isEntitled('agent:x', 'travel.read'), false);
});
