import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { redactedFrames, redactedText } from './redaction.ts';

/** Text as libraries put it into their messages, and the part that must not be logged. */
const SECRETS: [name: string, text: string, secret: string][] = [
  ['a password in an address', 'connect postgres://app:hunter2@db:5432/x failed', 'hunter2'],
  ['a password with an @', 'GET https://me:p@ss@host/path 500', 'p@ss'],
  ['a user alone', 'redis://verysecret@cache', 'verysecret'],
  ['a bearer token', 'sent Authorization: Bearer abc.def-123', 'abc.def-123'],
  ['a bearer token in lower case', 'header bearer  0a1b2c3d', '0a1b2c3d'],
  ['a basic credential', 'Basic dXNlcjpwYXNz was refused', 'dXNlcjpwYXNz'],
  ['a JWT', 'claims of eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln bad', 'eyJzdWIiOiJ4In0'],
  ['a password by name', 'login failed: password=hunter2, user=a', 'hunter2'],
  ['a password in JSON', '{"user":"a","password":"hunter2"}', 'hunter2'],
  ['an API key by name', 'x-api-key: 12ab', '12ab'],
  ['a token by name', 'refused access_token=6f1a03 at once', '6f1a03'],
  ['a query with a key', 'GET /v1/quotes?api_key=s3&x=1', '=s3'],
  ['a cookie', 'cookie: sid=abcdef', 'abcdef'],
  ['a key of a known maker', 'used sk_live_4eC39HqLyjWD', '4eC39HqLyjWD'],
  ['a key of another', 'AKIAIOSFODNN7EXAMPLE is not allowed', 'IOSFODNN7EXAMPLE'],
  ['a random text', 'no match for Zx81kQ0fP2nRt5Yw7Lm3', 'Zx81kQ0fP2nRt5Yw7Lm3'],
  ['a long hex text', 'key 00112233445566778899aabbccddeeff is old', 'aabbccddeeff'],
  [
    'a private key',
    'read -----BEGIN EC PRIVATE KEY-----\nMHcCAQ\n-----END EC PRIVATE KEY----- from disk',
    'MHcCAQ',
  ],
];

for (const [name, text, secret] of SECRETS) {
  test(`redactedText() replaces ${name}`, () => {
    const shown = redactedText(text, 1_000);

    assert.ok(!shown.includes(secret), shown);
    assert.ok(shown.includes('[secret]'), shown);
  });
}

const PLAIN = [
  'Cannot use the token: it was revoked',
  'Cannot reach "db-1.internal:5432": ECONNREFUSED',
  'at run (file:///srv/app/node_modules/pg/lib/client.js:120:15)',
  'Cannot seat 4 people in 12A: the plane has 3 seats',
];
for (const text of PLAIN) {
  test(`redactedText() does not change "${text}"`, () => {
    assert.equal(redactedText(text, 1_000), text);
  });
}

test('redactedText() removes the beginning of a credential that the cut splits', () => {
  const secret = 'hunter2hunter2';
  for (let space = 4_060; space <= 4_100; space++) {
    const text = `${' '.repeat(space)}postgres://app:${secret}@db`;
    assert.ok(!redactedText(text, 10_000).includes('hunter2'), String(space));
  }
});

test('redactedText() is bounded, for any value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(100), (text, lengthMax) => {
      assert.ok(redactedText(text, lengthMax).length <= lengthMax + 1);
    }),
  );
  assert.equal(redactedText('x y '.repeat(2_000_000), 10), 'x y x y x …');
});

test('redactedFrames() keeps the places of frames, and redacts everything else', () => {
  const folder = '/srv/releases/20261118T194145Zab12CD34ef56GH78/desk';
  const frames = [
    `    at charge (file://${folder}/src/pay.ts:12:9)`,
    `    at async ${folder}/src/main.ts:3:1`,
    '    at Bearer abcd1234efgh5678 (/app/x.ts:1:1)',
    '    at https://user:hunter2@host.example/x.ts:1:1',
  ].join('\n');

  const [first, second, third, fourth] = redactedFrames(frames, 4_000).split('\n');

  assert.equal(first, `    at charge (file://${folder}/src/pay.ts:12:9)`);
  assert.equal(second, `    at async ${folder}/src/main.ts:3:1`);
  assert.equal(third, '    at Bearer [secret] (/app/x.ts:1:1)');
  assert.doesNotMatch(fourth ?? '', /hunter2/);
  assert.equal(redactedFrames(undefined, 4_000), '');
});
