/**
 * The store contract, on every store we ship, and the plans of all statements that it runs. A store in memory is the
 * SQLite store without a file; most other tests use it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  filledPostgres,
  filledSqlite,
  foreignWalks,
  recordPostgres,
  recordSqlite,
} from './plans.ts';
import { storeContract } from './store-contract.ts';

const runner = { describe, test };
const STORES = [
  { name: 'SQLite file', recording: recordSqlite(), filled: async () => filledSqlite() },
  { name: 'PostgreSQL', recording: recordPostgres(), filled: filledPostgres },
];

/** Functions of PostgreSQL through which every call goes. */
const CALLED = [
  'writ_admit',
  'writ_judge_lineages',
  'writ_judge_calls',
  'writ_decide',
  'writ_settle',
];

for (const { name, recording, filled } of STORES) {
  storeContract(name, recording.open, { runner });

  // Planners choose other indexes once they have statistics.
  test(`${name}: no statement of the contract walks through ten thousand rows of others`, {
    timeout: 300_000,
  }, async () => {
    const store = await filled();
    assert.ok(recording.statements.size > 0, 'runs after the contract');

    const without = await foreignWalks(recording, store);
    await store.analyze();
    const analyzed = await foreignWalks(recording, store);

    assert.deepEqual([without, analyzed], [new Map(), new Map()]);
    const unseen = new Set(await store.unseen());
    assert.deepEqual(
      CALLED.filter((name) => unseen.has(name)),
      [],
    );
  });
}
