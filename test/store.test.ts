/**
 * The store contract, on every store we ship, and the plans of all statements that it runs. A store in memory is the
 * SQLite store without a file; most other tests use it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { storeContract } from '../src/testing/store/store-contract.ts';
import {
  filledPostgres,
  filledSqlite,
  foreignWalks,
  recordPostgres,
  recordSqlite,
} from './plans.ts';

const runner = { describe, test };
const STORES = [
  { name: 'SQLite file', recording: recordSqlite(), filled: async () => filledSqlite() },
  { name: 'PostgreSQL', recording: recordPostgres(), filled: filledPostgres },
];

for (const { name, recording, filled } of STORES) {
  storeContract(name, recording.open, { runner });

  // Planners choose other indexes once they have statistics.
  test(`${name}: no statement of the contract walks through ten thousand rows of others`, {
    timeout: 120_000,
  }, async () => {
    assert.ok(recording.statements.size > 0, 'runs after the contract');
    const store = await filled();

    const without = await foreignWalks(recording.statements, store);
    await store.analyze();
    const analyzed = await foreignWalks(recording.statements, store);

    assert.deepEqual([without, analyzed], [new Map(), new Map()]);
  });
}
