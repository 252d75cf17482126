import assert from 'node:assert/strict';
import { test } from 'vitest';
import { csrfOf, isCsrf } from './csrf.ts';

test('isCsrf() accepts a token of the same secret and purpose', () => {
  const token = csrfOf('secret', 'consent');

  assert.match(token, /^[\w-]{43}$/);
  assert.equal(isCsrf(token, 'secret', 'consent'), true);
});

test('isCsrf() refuses a token of another session or purpose, an edited one and none', () => {
  const token = csrfOf('secret', 'consent');

  assert.equal(isCsrf(token, 'another', 'consent'), false);
  assert.equal(isCsrf(token, 'secret', 'end'), false);
  assert.equal(
    isCsrf(`${token.slice(0, -1)}${token.endsWith('A') ? 'E' : 'A'}`, 'secret', 'consent'),
    false,
  );
  assert.equal(isCsrf(token.slice(0, -1), 'secret', 'consent'), false);
  assert.equal(isCsrf(`${token}é`, 'secret', 'consent'), false);
  assert.equal(isCsrf('', 'secret', 'consent'), false);
  assert.equal(isCsrf(undefined, 'secret', 'consent'), false);
});

test('csrfOf() makes no token without a secret, which anyone could compute', () => {
  assert.throws(() => csrfOf('', 'consent'), /the secret is empty/);
});
