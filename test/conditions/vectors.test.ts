/**
 * The vectors of conditions: what is read, how a value is judged in both positions, and which condition is narrower. A
 * second implementation can use the same file.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import type { Conditions } from '../../src/domain/conditions/condition.ts';
import { judge, type Result } from '../../src/domain/conditions/judge.ts';
import { isNarrower } from '../../src/domain/conditions/narrower.ts';
import { readConditions } from '../../src/domain/conditions/read.ts';
import { canonicalJson } from '../../src/domain/wire/canonical.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { readOne } from '../support/conditions.ts';

interface Vectors {
  readonly read: readonly [name: string, written: unknown, canonical?: Conditions][];
  readonly judge: readonly [
    name: string,
    conditions: Conditions,
    parameters: JsonObject,
    allows: Result,
    triggers: Result,
  ][];
  readonly narrower: readonly [
    name: string,
    child: unknown,
    parent: unknown,
    isNarrower: boolean,
  ][];
}

const vectors: Vectors = JSON.parse(readFileSync('test/conditions/vectors.json', 'utf8'));

describe('readConditions()', () => {
  for (const [name, written, canonical] of vectors.read) {
    test(canonical ? `takes ${name}` : `refuses ${name}, and says what to write`, () => {
      const read = readConditions(written);

      if (canonical) {
        assert.ok('conditions' in read, JSON.stringify(read));
        // In the order of the canonical form, too.
        assert.equal(JSON.stringify(read.conditions), JSON.stringify(canonical));
        assert.deepEqual(readConditions(canonical), read);
      } else {
        assert.ok('faults' in read);
        for (const { fault, write } of read.faults) assert.ok(fault !== '' && write !== '');
      }
    });
  }
});

describe('judge()', () => {
  for (const [name, conditions, parameters, allows, triggers] of vectors.judge) {
    test(`finds ${name} ${allows}${allows === triggers ? '' : `, and where it triggers ${triggers}`}`, () => {
      assert.deepEqual(readConditions(conditions), { conditions });

      assert.equal(judge(conditions, { parameters }, 'allows').result, allows);
      assert.equal(judge(conditions, { parameters }, 'triggers').result, triggers);
    });
  }

  test('names each path that did not hold, and not the value', () => {
    const conditions = { a: { is: 'x' }, b: { is: 'x' }, c: { is: 'x' }, d: { is: 'x' } };
    const { unmet } = judge(conditions, { parameters: { a: 'secret', b: 1, d: 'x' } }, 'allows');

    assert.deepEqual(unmet, [
      { at: 'a', found: 'outside' },
      { at: 'b', found: 'unreadable' },
      { at: 'c', found: 'missing' },
    ]);
  });

  test('compares the cost that is known, and finds one that is not unclear', () => {
    const conditions: Conditions = { $cost: { at_most: 50 } };
    const results = [50, 50.01, undefined].map(
      (cost) => judge(conditions, { parameters: {}, cost }, 'allows').result,
    );

    assert.deepEqual(results, ['in', 'out', 'unclear']);
  });

  test('does not judge a list of more than 1,000 elements', () => {
    const conditions: Conditions = { 'to.*': { is: 'a' } };
    const results = [1_000, 1_001].map(
      (length) =>
        judge(conditions, { parameters: { to: Array(length).fill('a') } }, 'allows').result,
    );

    assert.deepEqual(results, ['in', 'unclear']);
  });
});

describe('isNarrower()', () => {
  for (const [name, child, parent, expected] of vectors.narrower) {
    test(`${expected ? 'takes' : 'refuses'} ${name}`, () => {
      const [one, other] = [readOne(child), readOne(parent)];

      assert.equal(isNarrower(one, other), expected, canonicalJson([one, other]));
    });
  }
});
