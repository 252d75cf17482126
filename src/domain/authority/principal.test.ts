import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { PrincipalClass } from '../../protocol/primitives.ts';
import {
  isPrincipal,
  matchesPattern,
  matchesPrincipal,
  parsePrincipal,
  principalOf,
} from './principal.ts';

const principals: [text: string, principalClass: string, name: string][] = [
  ['human:alice@example.com', 'human', 'alice@example.com'],
  ['agent:planner', 'agent', 'planner'],
  ['service:billing/eu-1', 'service', 'billing/eu-1'],
  ['oidc:auth0|5f7c:x', 'oidc', 'auth0|5f7c:x'],
  ['oidc:https://issuer.example/sub', 'oidc', 'https://issuer.example/sub'],
  ['human:zoë', 'human', 'zoë'],
  ['human:山田', 'human', '山田'],
  ['agent:🤖', 'agent', '🤖'],
  ['human:humanist', 'human', 'humanist'],
  ['human:human', 'human', 'human'],
  ['agent:x:human:y', 'agent', 'x:human:y'],
  [`human:${'🤖'.repeat(256)}`, 'human', '🤖'.repeat(256)],
];
for (const [text, principalClass, name] of principals) {
  test(`parsePrincipal() reads ${text.slice(0, 40)}`, () => {
    assert.deepEqual(parsePrincipal(text), { class: principalClass, name });
  });
}

const refused: [why: string, texts: unknown[]][] = [
  ['no name or no class', ['', ':', 'human', 'human:', ':alice', 'alice', 'humanx']],
  ['another class', ['robot:x', 'constructor:x', '__proto__:x', ' human:x', 'humans:x']],
  ['another case of the class', ['Human:x', 'HUMAN:x', 'aGent:x']],
  [
    'white space',
    ['human:a b', 'human: a', 'human:a ', 'human:a\tb', 'human:a\u00a0b', 'human:a\u3000b'],
  ],
  ['line ends', ['human:a\n', 'human:a\r\nb', 'human:a\u2028', 'human:a\u2029', 'human:a\u0085']],
  ['control characters', ['human:a\u0000', 'human:a\u001b[0m', 'human:a\u007f']],
  [
    'zero-width characters',
    ['human:a\u200b', 'human:a\u200d', 'human:\ufeffa', 'human:a\u00ad', 'human:a\u2060'],
  ],
  ['bidi controls', ['human:a\u202eb', 'human:a\u2066b', 'human:a\u200f', 'human:a\u061c']],
  [
    'other invisible characters',
    ['human:a\u3164', 'human:a\u115f', 'human:a\ufe0f', 'human:a\u034f', 'human:\u{e0041}'],
  ],
  [
    'surrogates, private and unassigned',
    ['human:\ud800', 'human:\ue000', 'human:\u{f0000}', 'human:\u0378', 'human:\uffff'],
  ],
  [
    'a class inside the name',
    ['human:agent:x', 'oidc:human:bob', 'agent:agent:x', 'oidc:service:x', 'human:oidc:'],
  ],
  ['a class inside the name in any case', ['oidc:Human:bob', 'oidc:HUMAN:bob', 'human:ſervice:x']],
  ['a class inside the name in full width', ['oidc:ｈｕｍａｎ：bob', 'oidc:human：bob']],
  ['a star, which means a pattern', ['agent:*', 'human:*@example.com', 'agent:a*']],
  ['names that are not in NFC', ['human:zoe\u0308', 'human:\u212b', 'human:\u1100\u1161']],
  ['257 code points', [`human:${'a'.repeat(257)}`, `human:${'🤖'.repeat(257)}`]],
  ['what is not text', [7, null, undefined, ['human:x'], { class: 'human', name: 'x' }]],
];
for (const [why, texts] of refused) {
  test(`parsePrincipal() refuses ${why}`, () => {
    for (const text of texts) assert.equal(parsePrincipal(text), undefined, JSON.stringify(text));
  });
}

test('principalOf() writes the name in NFC, so that equal names are equal strings', () => {
  assert.equal(principalOf('human', 'zoe\u0308'), 'human:zo\u00eb');
  assert.equal(principalOf('human', 'zo\u00eb'), 'human:zo\u00eb');
});

test('principalOf() counts the characters of a name after normalising', () => {
  assert.equal(principalOf('human', 'e\u0308'.repeat(256)), `human:${'\u00eb'.repeat(256)}`);
  assert.equal(principalOf('human', 'e\u0308'.repeat(257)), undefined);
  assert.equal(principalOf('human', 'a'.repeat(1_000_000)), undefined);
});

test('principalOf() refuses names that would change class or hide a character', () => {
  for (const name of ['', 'agent:x', 'HUMAN:bob', 'a b', 'a\u200b', '\ud800', '*']) {
    assert.equal(principalOf('oidc', name), undefined, JSON.stringify(name));
  }
});

const name = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.constantFrom('human:x', 'alice', 'zoe\u0308', 'a b'),
);
const principalClass = fc.constantFrom(...PrincipalClass.options);

test('principalOf() makes only principals that parse back with the same class', () => {
  return fc.assert(
    fc.property(principalClass, name, (made, text) => {
      const principal = principalOf(made, text);
      if (principal === undefined) return;
      assert.deepEqual(parsePrincipal(principal), { class: made, name: text.normalize('NFC') });
    }),
    { numRuns: 2_000 },
  );
});

const matches: [pattern: string, principal: string][] = [
  ['agent:planner', 'agent:planner'],
  ['agent:*', 'agent:p'],
  ['agent:plan*', 'agent:planner'],
  ['human:*@example.com', 'human:alice@example.com'],
  ['human:a*m', 'human:abm'],
  ['oidc:auth0|*', 'oidc:auth0|5f7c'],
];
for (const [pattern, principal] of matches) {
  test(`matchesPrincipal() matches ${principal} with ${pattern}`, () => {
    assert.equal(matchesPrincipal(pattern, principal), true);
  });
}

const differs: [pattern: string, principal: string][] = [
  ['agent:planner', 'agent:planner2'],
  ['agent:planner', 'agent:plan'],
  ['agent:planner*', 'agent:planner'],
  ['agent:*', 'human:planner'],
  ['agent:*', 'agent:'],
  ['*', 'agent:planner'],
  ['*:planner', 'agent:planner'],
  ['a*:planner', 'agent:planner'],
  ['agent*', 'agent:planner'],
  ['agent:**', 'agent:planner'],
  ['agent:*n*', 'agent:planner'],
  ['human:*@example.com', 'human:@example.com'],
  ['human:*@example.com', 'human:a@example.com.evil'],
  ['human:aba*aba', 'human:aba'],
  ['human:ab*ba', 'human:aba'],
  ['human:.*', 'human:alice'],
  ['human:', 'human:alice'],
  ['', 'human:alice'],
  ['agent:*', 'agent:human:x'],
  ['agent:*', 'agent:*'],
  ['robot:*', 'robot:x'],
  ['Human:*', 'human:x'],
];
for (const [pattern, principal] of differs) {
  test(`matchesPrincipal() does not match ${principal} with "${pattern}"`, () => {
    assert.equal(matchesPrincipal(pattern, principal), false);
  });
}

test('matchesPrincipal() never matches a principal of another class', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', ':', '@', '*'), maxLength: 6 });
  return fc.assert(
    fc.property(principalClass, part, principalClass, part, (wanted, rest, actual, text) => {
      fc.pre(wanted !== actual && isPrincipal(`${actual}:${text}`));
      assert.equal(matchesPrincipal(`${wanted}:${rest}`, `${actual}:${text}`), false);
    }),
  );
});

test('matchesPattern() never accepts a pattern that matches a principal the other does not', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '@'), maxLength: 3 });
  const pattern = fc
    .tuple(fc.constantFrom('human:', 'agent:'), part, fc.constantFrom('*', ''), part)
    .map((parts) => parts.join(''));
  const principal = fc
    .tuple(fc.constantFrom('human:', 'agent:'), part, part)
    .map((parts) => parts.join(''));
  return fc.assert(
    fc.property(pattern, pattern, principal, (wide, narrow, name) => {
      if (matchesPattern(wide, narrow) && matchesPrincipal(narrow, name)) {
        assert.ok(matchesPrincipal(wide, name), `${wide} ${narrow} ${name}`);
      }
    }),
    { numRuns: 5_000 },
  );
});

test('matchesPattern() accepts narrower patterns, and none of another class', () => {
  const accepted = [
    'agent:* agent:*',
    'agent:* agent:a*',
    'human:*@x human:a*@x',
    'human:a human:a',
  ];
  const refused = [
    'agent:a* agent:*',
    'human:*@x human:*',
    'human:a human:*',
    'human:* agent:*',
    '* human:a',
    'human:* human:**',
    'h* human:a',
    'human:* *',
  ];
  const isAccepted = (pair: string) => {
    const [pattern = '', given = ''] = pair.split(' ');
    return matchesPattern(pattern, given);
  };

  assert.deepEqual(accepted.filter(isAccepted), accepted);
  assert.deepEqual(refused.filter(isAccepted), []);
});
