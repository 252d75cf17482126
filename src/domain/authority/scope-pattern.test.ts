import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import {
  covers,
  coversAll,
  entitles,
  entitlesPattern,
  isScope,
  SCOPE_LENGTH_MAX,
  uncovered,
} from './scope-pattern.ts';

test('isScope() accepts exactly the scope-token characters of RFC 6749', () => {
  const accepted = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
    isScope,
  );
  const expected = Array.from({ length: 0x7e - 0x20 }, (_, index) =>
    String.fromCharCode(0x21 + index),
  ).filter((character) => character !== '"' && character !== '\\');
  assert.deepEqual(accepted, expected);
});

test('isScope() accepts 1 to 128 characters', () => {
  assert.equal(isScope(''), false);
  assert.equal(isScope('a'.repeat(SCOPE_LENGTH_MAX)), true);
  assert.equal(isScope('a'.repeat(SCOPE_LENGTH_MAX + 1)), false);
});

test('isScope() refuses spaces, line ends and values that are not text', () => {
  for (const text of ['a b', 'a\n', ' a', 'é', 'a\u200b', 7, null, undefined, ['a']]) {
    assert.equal(isScope(text), false, JSON.stringify(text));
  }
});

type Row = [held: string, needed: string, expected: boolean];

const covering: Row[] = [
  ['travel.search', 'travel.search', true],
  ['travel.search', 'travel.Search', false],
  ['travel', 'travel.search', false],
  ['travel.search', 'travel', false],
  ['travel.', 'travel.search', false],
  ['travel.*', 'travel.search', false],
  ['travel.*', 'travel.*', true],
  ['approver:*', 'approver:charter_jet', true],
  ['approver:*', 'approver:a:b', true],
  ['approver:*', 'approver:*', true],
  ['approver:*', 'approver:', false],
  ['approver:*', 'approver', false],
  ['approver:*', 'approvers:x', false],
  ['approver:*', 'xapprover:y', false],
  ['approver:*', 'Approver:x', false],
  ['approver:x', 'approver:*', false],
  ['approver:x', 'approver:xy', false],
  ['approver:', 'approver:x', false],
  ['approver:x*', 'approver:xy', false],
  ['approver:**', 'approver:xy', false],
  ['a:b:*', 'a:b:c', false],
  ['a:*', 'a:b:*', true],
  ['*', '*', true],
  ['*', 'travel.search', false],
  [':*', ':x', false],
  ['*:*', 'approver:x', false],
  ['*:*', '*:x', false],
  ['approver:*', 'approver:a b', false],
  ['a b', 'a b', false],
  ['', '', false],
];
for (const [held, needed, expected] of covering) {
  test(`covers() says "${held}" ${expected ? 'covers' : 'does not cover'} "${needed}"`, () => {
    assert.equal(covers(held, needed), expected);
  });
}

test('uncovered() names exactly the scopes that no held scope covers, in order', () => {
  const held = ['travel.search', 'approver:*'];
  const needed = ['travel.book', 'approver:x', 'operator:x', 'travel.search'];
  assert.deepEqual(uncovered(held, needed), ['travel.book', 'operator:x']);
});

test('coversAll() requires every needed scope, and passes when none is needed', () => {
  assert.equal(coversAll(['a', 'b:*'], ['a', 'b:x', 'b:*']), true);
  assert.equal(coversAll(['a', 'b:*'], ['a', 'c']), false);
  assert.equal(coversAll([], []), true);
  assert.equal(coversAll([], ['a']), false);
});

const entitling: Row[] = [
  ['travel.search', 'travel.search', true],
  ['travel.search', 'travel.searches', false],
  ['travel.*', 'travel.search', true],
  ['travel.*', 'travel.a.b', true],
  ['travel.*', 'travel.', false],
  ['travel.*', 'travel', false],
  ['travel.*', 'travelx', false],
  ['travel.*', 'travelx.search', false],
  ['travel.*', 'xtravel.search', false],
  ['travel.*', 'travel.*', false],
  ['travel.*', 'travel.a.*', false],
  ['travel.a.*', 'travel.a.b', true],
  ['travel.a.*', 'travel.b', false],
  ['approver:*', 'approver:x', true],
  ['approver:*', 'approver:*', true],
  ['approver:*', 'approver:', false],
  ['approver:*', 'approver:x*', false],
  ['approver:x', 'approver:*', false],
  ['approver:x', 'approver:x', true],
  ['*', 'travel.search', false],
  ['*', '*', false],
  ['.*', '.x', false],
  ['*.*', 'travel.search', false],
  ['travel*', 'travel.search', false],
  ['travel.*', 'travel.a b', false],
  ['', '', false],
];
for (const [pattern, scope, expected] of entitling) {
  test(`entitles() ${expected ? 'allows' : 'does not allow'} "${scope}" by "${pattern}"`, () => {
    assert.equal(entitles(pattern, scope), expected);
  });
}

// Short texts over the relevant characters, so that generated scopes often overlap.
const scope = fc.string({
  unit: fc.constantFrom('a', 'b', ':', '*', '.'),
  minLength: 1,
  maxLength: 5,
});
const scopes = fc.array(scope, { maxLength: 4 });
const many = { numRuns: 20_000 };

test('covers() is reflexive', () => {
  return fc.assert(fc.property(scope, (one) => assert.ok(covers(one, one))));
});

test('covers() is transitive', () => {
  const chain = fc.tuple(scope, scope, scope);
  return fc.assert(
    fc.property(chain, ([one, two, three]) => {
      // Adds wildcards, because random scopes rarely form a chain.
      const wide = `${one[0]}:*`;
      for (const [first, second] of [
        [one, two],
        [wide, one],
        [wide, two],
      ] as const) {
        if (covers(first, second) && covers(second, three)) assert.ok(covers(first, three));
      }
    }),
    many,
  );
});

test('coversAll() accepts no child that covers something its parent does not', () => {
  return fc.assert(
    fc.property(scopes, scopes, scope, (parent, child, needed) => {
      const accepted = child.filter((candidate) => coversAll(parent, [candidate]));
      if (coversAll(accepted, [needed])) assert.ok(coversAll(parent, [needed]));
    }),
    many,
  );
});

test('entitles() never allows a scope that covers one the pattern would not allow', () => {
  return fc.assert(
    fc.property(scope, scope, scope, (pattern, one, covered) => {
      fc.pre(!covered.includes('*'));
      if (entitles(pattern, one) && covers(one, covered)) assert.ok(entitles(pattern, covered));
    }),
    many,
  );
});

test('entitlesPattern() never allows a pattern that allows a scope the other would not', () => {
  return fc.assert(
    fc.property(scope, scope, scope, (pattern, given, allowed) => {
      if (entitlesPattern(pattern, given) && entitles(given, allowed)) {
        assert.ok(entitles(pattern, allowed), `${pattern} ${given} ${allowed}`);
      }
    }),
    many,
  );
});

test('entitlesPattern() allows a pattern itself and narrower ones, and nothing else', () => {
  const allowed = [
    'a.* a.*',
    'a.* a.b.*',
    'a.* a.b',
    'a.* a.b:*',
    'w:* w:*',
    'w:* w:b.*',
    'w:* w:x',
    'a a',
  ];
  const refused = [
    'a.b.* a.*',
    'a.* ab.*',
    'a.* a',
    'a a.*',
    'a.b a.*',
    'w:* ww:*',
    'w:x w:*',
    '* a',
    'a.* *',
    'a.* a.b*',
    'w:* w.*',
  ];
  const isAllowed = (pair: string) => {
    const [pattern = '', given = ''] = pair.split(' ');
    return entitlesPattern(pattern, given);
  };

  assert.deepEqual(allowed.filter(isAllowed), allowed);
  assert.deepEqual(refused.filter(isAllowed), []);
});
