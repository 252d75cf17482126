import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  CLAIMS,
  grant,
  JWKS,
  manifest,
  NOW,
  SERVICE,
  signedManifest,
  TOKEN_KID,
  token,
} from '../../test/verify/artefacts.ts';
import { verifyGrant } from './grant.ts';
import { type Keys, readKeys } from './keys.ts';
import { verifyManifest } from './manifest.ts';
import type { Report } from './report.ts';
import { verifyToken } from './token.ts';

const anchors = { keys: keysOf({ jwks: JWKS, pinned: [TOKEN_KID] }), now: NOW, serviceId: SERVICE };
const unpinned = { ...anchors, keys: keysOf({ jwks: JWKS }) };
const LATER = new Date('2091-01-01T00:00:00.000Z');

function keysOf(source: Parameters<typeof readKeys>[0]): Keys {
  const keys = readKeys(source);
  assert.ok('keys' in keys);
  return keys;
}

/** The names of the checks that came out so. */
function named({ checks }: Report, outcome: string): string[] {
  return checks.filter((check) => check.outcome === outcome).map(({ what }) => what);
}

test('verifyToken() verifies a token as the service signs it, and says what it cannot tell', async () => {
  const report = await verifyToken(token(), anchors);

  assert.equal(report.verdict, 'verified');
  assert.equal(report.claims?.sub, 'agent:planner');
  assert.match(report.limits.join(), /revoked/);
});

test('verifyToken() does not count keys of the service itself as known', async () => {
  const report = await verifyToken(token(), unpinned);

  assert.equal(report.verdict, 'incomplete');
  assert.deepEqual(named(report, 'not_checked'), ['key']);
});

test('verifyToken() could not check a token of a key that is not at hand', async () => {
  const keys = keysOf({ jwks: { keys: JWKS.keys.slice(1) }, pinned: 'all' });
  const report = await verifyToken(token(), { ...anchors, keys });

  assert.equal(report.verdict, 'incomplete');
  assert.equal(report.claims, undefined);
});

const tokens: [name: string, text: string, failed: string, change?: object][] = [
  ['a claim that we do not write', token({ ...CLAIMS, admin: true }), 'claims'],
  ['another audience', token({ ...CLAIMS, aud: 'hotel-desk' }), 'audience'],
  ['two times of expiry', token({ ...CLAIMS, exp: CLAIMS.exp + 1 }), 'expiry'],
  ['a time that has passed', token(), 'time', { now: LATER }],
  ['another service', token(), 'service', { serviceId: 'hotel-desk' }],
  ['a space at its end', `${token()} `, 'form'],
  ['the signature of a manifest', manifest().signature, 'form'],
];
for (const [name, text, failed, change] of tokens) {
  test(`verifyToken() refuses a token with ${name}`, async () => {
    const report = await verifyToken(text, { ...anchors, ...change });

    assert.equal(report.verdict, 'failed');
    assert.deepEqual(named(report, 'failed'), [failed]);
  });
}

test('verifyToken() verifies no token of which one character was changed', async () => {
  const text = token();
  for (let at = 0; at < text.length; at++) {
    const changed = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
    const { verdict, claims } = await verifyToken(changed, anchors);

    assert.notEqual(verdict, 'verified', `character ${at}`);
    assert.equal(claims, undefined);
  }
});

test('verifyManifest() verifies a body with the header that came with it', async () => {
  const report = await verifyManifest(manifest(), anchors);

  assert.equal(report.verdict, 'verified');
  assert.equal(report.manifest?.service_identity.id, SERVICE);
});

const DECLARED = {
  description: 'Pay',
  contract_version: '1.0.0',
  inputs: [{ name: 'amount', type: 'number' }],
  output: { type: 'payment', fields: [] },
  side_effect: { type: 'write' },
  minimum_scope: ['pay'],
};
const GRANT_POLICY = {
  allowed_grant_types: ['one_time'],
  default_grant_type: 'one_time',
  expires_in_seconds: 900,
  max_uses: 1,
};

test('verifyManifest() keeps the fields that a newer service declares', async () => {
  const newer = {
    ...DECLARED,
    later: 1,
    inputs: [{ name: 'amount', type: 'number', later: 1 }],
    side_effect: { type: 'write', later: 1 },
    approval: { when: { unless: { amount: 1 } }, grant_policy: GRANT_POLICY, later: [1] },
  };
  const report = await verifyManifest(manifest({}, { pay: newer }), anchors);

  assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
  const { pay } = report.manifest?.capabilities ?? {};
  assert.deepEqual(pay?.approval?.when, { unless: { amount: 1 } });
  assert.deepEqual(pay?.inputs, [{ ...newer.inputs[0], required: true }]);
});

test('verifyManifest() refuses a declaration whose known field is of another type', async () => {
  const report = await verifyManifest(manifest({}, { pay: { ...DECLARED, inputs: 1 } }), anchors);

  assert.deepEqual(named(report, 'failed'), ['body']);
});

test('verifyManifest() verifies no body of which one byte was flipped', async () => {
  const { body, signature } = manifest();
  for (let at = 0; at < body.length; at++) {
    const changed = body.with(at, (body[at] ?? 0) ^ 1);
    assert.equal((await verifyManifest({ body: changed, signature }, anchors)).verdict, 'failed');
  }
});

const manifests: [
  name: string,
  given: ReturnType<typeof manifest>,
  failed: string,
  change?: object,
][] = [
  ['a field that its digest does not cover', manifest({ more: 1 }), 'digest'],
  ['a body that is none', signedManifest(new TextEncoder().encode('{}')), 'body'],
  ['a time that has passed', manifest(), 'time', { now: LATER }],
  ['another service', manifest(), 'service', { serviceId: 'hotel-desk' }],
  ['a token for a signature', { ...manifest(), signature: token() }, 'form'],
];
for (const [name, given, failed, change] of manifests) {
  test(`verifyManifest() refuses a manifest with ${name}`, async () => {
    const report = await verifyManifest(given, { ...anchors, ...change });

    assert.deepEqual(named(report, 'failed'), [failed]);
  });
}

test('verifyGrant() verifies a grant, also with a field that it does not know', async () => {
  for (const value of [grant(), grant({ note: 'of a later version' })]) {
    const report = await verifyGrant(value, anchors);

    assert.equal(report.verdict, 'verified');
    assert.equal(report.grant?.capability, 'book_flight');
  }
});

test('verifyGrant() refuses a grant of which any field was changed, dropped or added', async () => {
  const whole = grant();
  const changes = Object.keys(whole).flatMap((field): object[] => {
    const { [field]: _, ...dropped } = whole;
    return [dropped, { ...whole, [field]: changed(whole[field]) }];
  });
  for (const value of [...changes, { ...whole, more: true }]) {
    const report = await verifyGrant(value, anchors);

    assert.notEqual(report.verdict, 'verified', JSON.stringify(value));
    assert.equal(report.grant, undefined);
  }
});

function changed(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string')
    return value.replace(/[0-9a-z](?=[^0-9a-z]*$)/, (last) => (last === 'q' ? 'p' : 'q'));
  return value === null ? 'session' : Array.isArray(value) ? [...value, ...value] : {};
}

test('verifyGrant() refuses a grant that has expired', async () => {
  const report = await verifyGrant(grant(), { ...anchors, now: LATER });

  assert.deepEqual(named(report, 'failed'), ['time']);
});

test('readKeys() refuses a set with a key that another name stands on', () => {
  const [first, second] = JWKS.keys;
  const swapped = { keys: [{ ...first, kid: second?.kid }, second] };

  assert.ok('fault' in readKeys({ jwks: swapped, pinned: 'all' }));
  assert.ok('fault' in readKeys({ jwks: { keys: [] } }));
  assert.ok('fault' in readKeys({ jwks: { keys: [{ ...first, x: 'A'.repeat(42) }] } }));
});

test('readKeys() takes a pinned thumbprint for one key only', () => {
  const { keys } = keysOf({ jwks: JWKS, pinned: [TOKEN_KID] });

  assert.deepEqual(
    keys.map(({ kid, isPinned }) => [kid === TOKEN_KID, isPinned]),
    [
      [true, true],
      [false, false],
    ],
  );
});
