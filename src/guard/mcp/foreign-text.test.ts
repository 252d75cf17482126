import assert from 'node:assert/strict';
import { test } from 'vitest';
import { secretsOf, visibleLine } from './foreign-text.ts';

test('secretsOf() replaces a credential with and without its scheme', () => {
  const secrets = secretsOf(['Bearer abc-123-def']);

  assert.equal(secrets.inText('sent Bearer abc-123-def'), 'sent [secret]');
  assert.equal(secrets.inText('bad token: abc-123-def!'), 'bad token: [secret]!');
});

test('secretsOf() replaces a credential in every text and name of a result', () => {
  const secrets = secretsOf(['abc-123-def']);

  assert.deepEqual(secrets.inValue({ 'abc-123-def': ['x', { y: 'is abc-123-def' }], n: 1 }), {
    '[secret]': ['x', { y: 'is [secret]' }],
    n: 1,
  });
});

const settings = ['production', '/srv/data/files', 'https://example.com/path', '8080'];
test('secretsOf() leaves ordinary settings in a result, and replaces them in a message', () => {
  for (const value of settings) {
    const secrets = secretsOf([value]);

    assert.equal(secrets.inValue(`is ${value}`), `is ${value}`);
    assert.equal(secrets.inText(`is ${value}`), 'is [secret]');
  }
});

test('secretsOf() takes an address with a password for a secret', () => {
  const value = 'https://user:password@example.com/';

  assert.equal(secretsOf([value]).inValue(`to ${value}`), 'to [secret]');
});

test('visibleLine() is one bounded line of visible characters', () => {
  assert.equal(visibleLine(' a\n\tb ', 10), 'a b');
  assert.equal(visibleLine('\u001b[31mred\u202e', 20), '⟨U+001B⟩[31mred⟨U+202E⟩');
  assert.equal(visibleLine('abcdef', 3), 'abc…');
  assert.equal(visibleLine('x'.repeat(1_000), 3), 'xxx…');
});
