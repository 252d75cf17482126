import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import {
  type Claims,
  type MappingRules,
  principalOfClaims,
  unfitToken,
} from './external-identity.ts';
import { parsePrincipal } from './principal.ts';

const PLAIN: MappingRules = { require_email_verified: false, service_accounts: [] };
const STRICT: MappingRules = { ...PLAIN, require_email_verified: true };
const ACCOUNTS: MappingRules = {
  ...PLAIN,
  service_accounts: [
    { claim: 'sub', prefix: 'system:serviceaccount:', class: 'service' },
    { claim: 'client_id', prefix: 'agent-', class: 'agent' },
    { claim: 'client_id', prefix: 'a', class: 'service' },
  ],
};

// Specification, Bootstrap authentication 3; decision 7 for what it leaves open.
const mapped: [claims: Claims, rules: MappingRules, principal: string | undefined][] = [
  [{ sub: 's', email: 'ann@example.com' }, PLAIN, 'human:ann@example.com'],
  [{ sub: 's', email: 'ann@example.com', email_verified: true }, PLAIN, 'human:ann@example.com'],
  [{ sub: 's', email: 'ANN@Example.COM' }, PLAIN, 'human:ann@example.com'],
  [{ sub: 's', email: 'ann@example.com', email_verified: false }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'ann@example.com', email_verified: 'true' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'ann@example.com', email_verified: null }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'ann@example.com' }, STRICT, 'oidc:s'],
  [{ sub: 's', email: 'ann@example.com', email_verified: true }, STRICT, 'human:ann@example.com'],
  [{ sub: 's' }, PLAIN, 'oidc:s'],
  [{ sub: 'auth0|5f7c' }, PLAIN, 'oidc:auth0|5f7c'],
  [{ sub: 's' }, { ...PLAIN, name: 'corp' }, 'oidc:corp/s'],
  [{ sub: 'human:alice@example.com' }, { ...PLAIN, name: 'corp' }, undefined],
  [{ sub: 'agent:x' }, { ...PLAIN, name: 'corp' }, undefined],
  [{ sub: '\uff28uman:bob' }, { ...PLAIN, name: 'corp' }, undefined],
  [{ sub: 'zoe\u0308' }, PLAIN, undefined],
  [{ sub: 'zoe\u0308' }, { ...PLAIN, name: 'corp' }, undefined],
  [{ sub: 'zo\u00eb' }, { ...PLAIN, name: 'corp' }, 'oidc:corp/zo\u00eb'],
  [{ email: 'ann@example.com' }, { ...PLAIN, name: 'corp' }, 'human:ann@example.com'],

  [{ sub: 'system:serviceaccount:ci' }, ACCOUNTS, 'service:ci'],
  [{ sub: 's', client_id: 'agent-planner' }, ACCOUNTS, 'agent:planner'],
  [{ sub: 's', client_id: 'billing' }, ACCOUNTS, 'oidc:s'],
  [{ sub: 's', client_id: 'ab' }, ACCOUNTS, 'service:b'],
  [{ sub: 's', client_id: 'agent-x' }, { ...ACCOUNTS, name: 'corp' }, 'agent:corp/x'],
  [{ sub: 's', client_id: 'agent-x', email: 'a@b.c' }, ACCOUNTS, 'agent:x'],
  [{ sub: 's', client_id: 'Agent-x' }, ACCOUNTS, 'oidc:s'],
  [{ sub: 's', client_id: ['agent-x'] }, ACCOUNTS, 'oidc:s'],
  [{ sub: 's', client_id: 'agent-' }, ACCOUNTS, undefined],
  [{ sub: 's', client_id: 'agent-' }, { ...ACCOUNTS, name: 'corp' }, undefined],
  [{ sub: 's', client_id: 'agent-human:bob' }, ACCOUNTS, undefined],
  [{ sub: 's', client_id: 'agent-human:bob' }, { ...ACCOUNTS, name: 'corp' }, undefined],
  [{ sub: 's', client_id: 'agent-zoe\u0308' }, ACCOUNTS, undefined],
  [{ sub: 's', client_id: 'agent-a b' }, ACCOUNTS, undefined],

  [
    { sub: 's', email: 'a@x.example' },
    { ...PLAIN, email_domains: ['x.example'] },
    'human:a@x.example',
  ],
  [
    { sub: 's', email: 'a@X.example' },
    { ...PLAIN, email_domains: ['x.example'] },
    'human:a@x.example',
  ],
  [{ sub: 's', email: 'a@y.x.example' }, { ...PLAIN, email_domains: ['x.example'] }, 'oidc:s'],
  [{ sub: 's', email: 'a@x.example.' }, { ...PLAIN, email_domains: ['x.example'] }, 'oidc:s'],
  [{ sub: 's', email: 'x.example@y' }, { ...PLAIN, email_domains: ['x.example'] }, 'oidc:s'],

  [{ sub: 's', email: 'human:bob@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'HUMAN:bob@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'agent:planner@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'bob' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: '@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'bob@example.com@evil.example' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'bob @example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'bob@example.com\n' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'bob\u200b@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: '*@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: '\u212aim@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'zoe\u0308@example.com' }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: 'zo\u00eb@example.com' }, PLAIN, 'human:zo\u00eb@example.com'],
  [{ sub: 's', email: 'b\u043eb@example.com' }, PLAIN, 'human:b\u043eb@example.com'],
  [{ sub: 's', email: { toString: 'bob@example.com' } }, PLAIN, 'oidc:s'],
  [{ sub: 's', email: `${'a'.repeat(300)}@example.com` }, PLAIN, 'oidc:s'],

  [{ sub: 'human:bob' }, PLAIN, undefined],
  [{ sub: 'Agent:x' }, PLAIN, undefined],
  [{ sub: ' s' }, PLAIN, undefined],
  [{ sub: 's\u200b' }, PLAIN, undefined],
  [{ sub: '' }, PLAIN, undefined],
  [{ sub: '' }, { ...PLAIN, name: 'corp' }, undefined],
  [{ sub: 7 }, PLAIN, undefined],
  [{}, PLAIN, undefined],
];
for (const [claims, rules, principal] of mapped) {
  const by = JSON.stringify({ ...rules, service_accounts: rules.service_accounts.length });
  test(`principalOfClaims() maps ${JSON.stringify(claims)} to ${principal} under ${by}`, () => {
    assert.equal(principalOfClaims(claims, rules), principal);
  });
}

test('principalOfClaims() finds no service account in inherited properties', () => {
  const rules: MappingRules = {
    ...PLAIN,
    service_accounts: [{ claim: '__proto__', prefix: 'x', class: 'service' }],
  };
  const claims = Object.create({ client_id: 'agent-x' }) as Claims;

  assert.equal(principalOfClaims(claims, ACCOUNTS), undefined);
  assert.equal(principalOfClaims({ sub: 's' }, rules), 'oidc:s');
});

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.emailAddress(),
  fc.constantFrom('human:bob', 'agent:x', 'BOB@example.com', '\u212aim@example.com', 'agent-x'),
);
const anyClaims = fc.record(
  { sub: text, email: text, email_verified: fc.constantFrom(true, false, 'true'), client_id: text },
  { requiredKeys: [] },
);
const anyRules = fc.record(
  {
    require_email_verified: fc.boolean(),
    service_accounts: fc.constantFrom([], ACCOUNTS.service_accounts),
    name: fc.constantFrom('corp', 'a'),
    email_domains: fc.constantFrom([], ['example.com']),
  },
  { requiredKeys: ['require_email_verified', 'service_accounts'] },
);

test('principalOfClaims() names only principals of the class that the claim is for', () => {
  return fc.assert(
    fc.property(anyClaims, anyRules, (claims, rules) => {
      const principal = principalOfClaims(claims, rules);
      if (principal === undefined) return;
      const parsed = parsePrincipal(principal);
      assert.ok(parsed);
      const { client_id = '', sub = '' } = claims;
      const isAccount = rules.service_accounts.some(({ claim, prefix }) =>
        (claim === 'sub' ? sub : client_id).startsWith(prefix),
      );
      assert.equal(parsed.class === 'agent' || parsed.class === 'service', isAccount);
      if (parsed.class === 'human') assert.ok(claims.email_verified !== false);
    }),
    { numRuns: 2_000 },
  );
});

const address = fc
  .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }), fc.constantFrom('x.y', 'X.y'))
  .map(([local, domain]) => `${local}@${domain}`);

test('principalOfClaims() maps two addresses to one person only if they differ in ASCII case alone', () => {
  const folded = (email: string) => email.replace(/[A-Z]/g, (each) => each.toLowerCase());
  const kelvin = fc.constantFrom('k@x.y', 'K@x.y', '\u212a@x.y', '\u0131@x.y', 'I@x.y', 'i@x.y');
  const any = fc.oneof(address, kelvin);
  return fc.assert(
    fc.property(any, any, (one, other) => {
      const [a, b] = [one, other].map((email) => principalOfClaims({ email }, PLAIN));
      if (a === undefined || b === undefined) return;
      assert.equal(a === b, folded(one) === folded(other));
    }),
    { numRuns: 2_000 },
  );
});

test('principalOfClaims() never maps two named issuers to the same subject or service account', () => {
  return fc.assert(
    fc.property(text, text, (one, other) => {
      for (const claim of ['sub', 'client_id']) {
        const a = principalOfClaims({ sub: 's', [claim]: one }, { ...ACCOUNTS, name: 'a' });
        const b = principalOfClaims({ sub: 's', [claim]: other }, { ...ACCOUNTS, name: 'b' });
        assert.ok(a === undefined || a !== b);
      }
    }),
  );
});

const NOW = new Date('2030-01-01T00:00:00.000Z');
const SECOND = NOW.getTime() / 1_000;
const US = { audience: 'us' };

const tokens: [typ: unknown, claims: Claims, rules: object, why: RegExp | undefined][] = [
  [undefined, {}, US, undefined],
  ['application/at+JWT', {}, US, undefined],
  ['', {}, US, /another kind/],
  ['jwt ', {}, US, /another kind/],
  [['JWT', 'x'], {}, US, /another kind/],
  [undefined, { iat: SECOND + 60 }, US, undefined],
  [undefined, { iat: SECOND + 61 }, US, /future/],
  [undefined, { aud: ['us', 'x'], azp: ['us'] }, US, /another party/],
  [undefined, { azp: 'x' }, { ...US, authorized_parties: [] }, /another party/],
];
for (const [typ, claims, rules, why] of tokens) {
  const what = JSON.stringify({ typ, ...claims });
  test(`unfitToken() ${why ? 'refuses' : 'passes'} ${what} by ${JSON.stringify(rules)}`, () => {
    const given = { typ, claims: { iat: SECOND, aud: 'us', ...claims } };

    const found = unfitToken(given, { ...US, ...rules }, NOW);

    if (why) assert.match(found ?? '', why);
    else assert.equal(found, undefined);
  });
}
