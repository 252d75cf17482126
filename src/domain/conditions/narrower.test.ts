import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { anyCondition, anyValue, readOne } from '../../../test/support/conditions.ts';
import { rounds } from '../../../test/support/rounds.ts';
import { canonicalJson } from '../wire/canonical.ts';
import type { Condition } from './condition.ts';
import { judge } from './judge.ts';
import { isNarrower, widerPaths } from './narrower.ts';
import { conditionWords } from './words.ts';

const RUNS = rounds(20_000);

/** Only to end a test that hangs. */
const PATIENT = 60_000;

function withinOf(condition: Condition): (value: unknown) => boolean {
  const conditions = { x: condition };
  return (x) =>
    judge(conditions, { parameters: x === undefined ? {} : { x } }, 'allows').result === 'in';
}

/** Values that tell conditions apart: those of the universe. */
const VALUES = [...new Set(fc.sample(anyValue, { numRuns: 2_000, seed: 7 }))];

test(
  'isNarrower() is never true where a value is within the child alone',
  () => {
    let [narrower, wider] = [0, 0];
    void fc.assert(
      fc.property(anyCondition, anyCondition, anyValue, (child, parent, value) => {
        if (!isNarrower(child, parent)) {
          wider += 1;
          return;
        }
        narrower += 1;
        const [isInChild, isInParent] = [withinOf(child), withinOf(parent)];
        const wide = [value, ...VALUES].find((each) => isInChild(each) && !isInParent(each));
        assert.equal(wide, undefined, JSON.stringify({ child, parent, wide }));
        assert.ok(
          !isInChild(undefined) || isInParent(undefined),
          JSON.stringify({ child, parent }),
        );
      }),
      { numRuns: RUNS },
    );

    assert.ok(narrower > RUNS / 100 && wider > RUNS / 10, `${narrower} narrower, ${wider} wider`);
  },
  PATIENT,
);

test('isNarrower() holds for a condition and itself', () => {
  void fc.assert(fc.property(anyCondition, (each) => assert.ok(isNarrower(each, each))));
});

test('isNarrower() is transitive', () => {
  let chains = 0;
  void fc.assert(
    fc.property(anyCondition, anyCondition, anyCondition, (one, two, three) => {
      if (!isNarrower(one, two) || !isNarrower(two, three)) return;
      chains += 1;
      assert.ok(isNarrower(one, three));
    }),
    { numRuns: RUNS },
  );

  assert.ok(chains > 0);
});

test('isNarrower() accepts most pairs of which one is a part of the other', () => {
  const conditions = fc
    .sample(anyCondition, { numRuns: 300, seed: 11 })
    .filter((each) => Object.keys(each).length === 1)
    .map((condition) => {
      const isIn = withinOf(condition);
      return { condition, values: new Set(VALUES.filter(isIn)) };
    });
  let [accepted, parts] = [0, 0];
  for (const child of conditions) {
    for (const parent of conditions) {
      if (![...child.values].every((value) => parent.values.has(value))) continue;
      parts += 1;
      if (isNarrower(child.condition, parent.condition)) accepted += 1;
    }
  }

  // The others differ on values that are not among these, or are a range in a set.
  assert.ok(accepted > 0.8 * parts, `${accepted} of ${parts}`);
});

test('widerPaths() names what the child left out, and what it widened', () => {
  const parent = { amount: readOne({ at_least: 0, at_most: 50 }), booking: readOne('BK-1') };

  assert.deepEqual(widerPaths({ amount: readOne(20) }, parent), ['booking']);
  assert.deepEqual(
    widerPaths({ ...parent, amount: readOne({ at_least: 0, at_most: 60 }) }, parent),
    ['amount'],
  );
  assert.deepEqual(widerPaths({ ...parent, reason: readOne('late') }, parent), []);
});

test('conditionWords() has different words for different conditions', () => {
  void fc.assert(
    fc.property(anyCondition, anyCondition, (one, other) => {
      const words = [one, other].map((x) => conditionWords({ x }).join());
      assert.equal(words[0] === words[1], canonicalJson(one) === canonicalJson(other));
    }),
    { numRuns: RUNS },
  );
});
