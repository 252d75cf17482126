import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'vitest';
import { ATTACKS } from './classes.ts';

test('ATTACKS names, for each attack, tests that exist', () => {
  const missing = Object.entries(ATTACKS).flatMap(([group, attacks]) =>
    Object.entries(attacks).flatMap(([attack, proofs]) => {
      if (proofs.length === 0) return [`${group}: ${attack}: no test`];
      return proofs
        .filter(([file, title]) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title))
        .map(([file, title]) => `${group}: ${attack}: ${file} has no "${title}"`);
    }),
  );

  assert.deepEqual(missing, []);
});
