/**
 * Prints the first pair of conditions that `isNarrower()` or `widerPaths()` judges wrongly, or nothing.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { judge } from '../../src/domain/conditions/judge.ts';
import { isNarrower, widerPaths } from '../../src/domain/conditions/narrower.ts';
import { anyCondition, anyValue, readOne } from '../support/conditions.ts';

const vectors = JSON.parse(readFileSync('test/conditions/vectors.json', 'utf8'));
const values = [...new Set(fc.sample(anyValue, { numRuns: 2_000, seed: 3 }))];
const conditions = fc.sample(anyCondition, { numRuns: 150, seed: 5 });

process.stdout.write(firstWrong() ?? '');

function firstWrong(): string | undefined {
  for (const [name, child, parent, expected] of vectors.narrower) {
    if (isNarrower(readOne(child), readOne(parent)) !== expected) return name;
  }
  if (widerPaths({}, { x: readOne('a') }).length === 0) return 'a path that the child leaves out';
  const within = conditions.map((x) => {
    const one = { x };
    const isIn = (value: unknown) =>
      judge(one, { parameters: value === undefined ? {} : { x: value } }, 'allows').result === 'in';
    return new Set(values.filter(isIn));
  });
  for (const [at, child] of conditions.entries()) {
    for (const [other, parent] of conditions.entries()) {
      if (!isNarrower(child, parent)) continue;
      const wide = [...(within[at] ?? [])].some((value) => !within[other]?.has(value));
      if (wide) return JSON.stringify([child, parent]);
    }
  }
  return undefined;
}
