import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import {
  type Entitlement,
  entitlementFault,
  entitlementRuleFault,
  unentitledClass,
  unentitledScope,
  unentitledSubject,
} from './entitlement.ts';

const ALICE: Entitlement = {
  principal: 'human:alice@example.com',
  scopes: ['travel.*', 'approver:*', 'audit'],
  subjects: ['agent:*', 'service:desk-*', 'human:bob@example.com'],
  caller_class: 'internal',
  caller_classes: ['partner', 'default'],
};
const NO_INSTANCE: Entitlement = {
  principal: 'agent:x',
  scopes: [],
  subjects: [],
  caller_class: 'default',
  caller_classes: [],
};

describe('unentitledScope()', () => {
  test('names exactly the missing scopes', () => {
    const found = unentitledScope(ALICE, ['x', 'travel.search', 'y']);

    assert.deepEqual(found?.resolution.requires, ['x', 'y']);
    assert.equal(
      found?.detail,
      'Cannot issue scope "x", "y": human:alice@example.com is not entitled to it',
    );
  });

  test('says that a token names each scope by itself', () => {
    assert.equal(
      unentitledScope(ALICE, ['travel.*'])?.detail,
      'Cannot issue scope "travel.*": a token names each scope by itself, without "*"',
    );
  });

  test('says of a pattern that a token can have that the identity lacks it', () => {
    assert.match(unentitledScope(ALICE, ['other:*'])?.detail ?? '', /is not entitled to it$/);
    assert.match(unentitledScope(ALICE, ['travel.*', 'x'])?.detail ?? '', /is not entitled to it$/);
  });

  test('allows nothing by default', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z.:*]{1,12}$/), (scope) => {
        assert.equal(unentitledScope(NO_INSTANCE, [scope])?.type, 'not_entitled');
      }),
    );
  });
});

describe('unentitledSubject()', () => {
  for (const subject of [
    'human:alice@example.com',
    'agent:x',
    'service:desk-1',
    'human:bob@example.com',
  ]) {
    test(`allows ${subject}`, () => {
      assert.equal(unentitledSubject(ALICE, subject), undefined);
    });
  }

  for (const subject of [
    'human:carol@example.com',
    'service:desk-',
    'service:x',
    'oidc:x',
    'agent:',
    'agent:*',
    'human:Alice@example.com',
  ]) {
    test(`finds ${subject}`, () => {
      const found = unentitledSubject(ALICE, subject);

      assert.equal(found?.type, 'not_entitled');
      assert.match(found.detail, /may not name that subject$/);
    });
  }

  test('by default allows only the identity itself as subject', () => {
    assert.equal(unentitledSubject(NO_INSTANCE, 'agent:x'), undefined);
    assert.equal(unentitledSubject(NO_INSTANCE, 'agent:y')?.type, 'not_entitled');
  });
});

describe('unentitledClass()', () => {
  test('allows its own class, the listed classes, and an absent class', () => {
    for (const name of ['internal', 'partner', 'default', undefined]) {
      assert.equal(unentitledClass(ALICE, name), undefined);
    }
  });

  test('finds every other class, including "default" when it is not listed', () => {
    assert.equal(unentitledClass(ALICE, 'automated_agent')?.type, 'not_entitled');
    const partner = { ...NO_INSTANCE, caller_class: 'partner' };
    assert.equal(unentitledClass(partner, 'default')?.type, 'not_entitled');
  });
});

describe('entitlementFault()', () => {
  test('finds no fault in entitlements that can match', () => {
    assert.equal(entitlementFault(ALICE), undefined);
    assert.equal(entitlementFault(NO_INSTANCE), undefined);
    assert.equal(entitlementRuleFault({ principals: ['human:*', 'agent:a*b'] }), undefined);
  });

  const rows: [field: keyof Entitlement, value: string][] = [
    ['principal', 'alice'],
    ['principal', 'human:'],
    ['principal', 'agent:*'],
    ['scopes', '*'],
    ['scopes', 'travel*'],
    ['scopes', 'a:b:*'],
    ['scopes', '*.x'],
    ['scopes', '.*x'],
    ['scopes', 'two words'],
    ['scopes', ''],
    ['subjects', '*'],
    ['subjects', 'agent:'],
    ['subjects', 'agent:*x*'],
    ['subjects', 'robot:*'],
    ['subjects', '*:x'],
    ['subjects', 'agent:a b'],
  ];
  for (const [field, value] of rows) {
    test(`finds "${value}" in ${field}: it can never match`, () => {
      const changed = field === 'principal' ? value : [value];

      const found = entitlementFault({ ...ALICE, [field]: changed });

      assert.equal(found?.field, field);
      assert.ok(/^ is (not|neither) a /.test(found.fault.slice(value.length + 2)), found.fault);
    });
  }

  test('finds a rule whose principals cannot exist', () => {
    for (const principal of ['alice@*', '*', 'human:', 'human:**']) {
      const found = entitlementRuleFault({ principals: ['human:*', principal] });
      assert.equal(found?.field, 'principals', principal);
    }
  });

  test('reports no pattern that matches a principal', () => {
    const name = fc.stringMatching(/^[a-z]{1,6}$/);
    fc.assert(
      fc.property(name, name, (before, after) => {
        const pattern = `agent:${before}*${after}`;
        assert.equal(
          unentitledSubject({ ...NO_INSTANCE, subjects: [pattern] }, `agent:${before}-${after}`),
          undefined,
        );
        assert.equal(entitlementFault({ ...NO_INSTANCE, subjects: [pattern] }), undefined);
      }),
    );
  });
});
