/**
 * The functions of a test runner that the contract needs. Vitest's fit, and so do those of others: nothing is
 * imported here, so the author of a store chooses the runner.
 *
 * @module
 */

import type { Store } from '../storage/port/store.ts';

/**
 * The functions of a test runner that the contracts and the scenarios use.
 *
 * @example
 * import { describe, test } from 'node:test';
 * import type { Runner } from 'writ/testing';
 *
 * const runner: Runner = {
 *   describe: (name, body) => void describe(name, body),
 *   test: (name, body, timeout) => void test(name, { timeout }, body),
 * };
 */
export interface Runner {
  describe(name: string, body: () => void): void;
  test(name: string, body: () => Promise<void>, timeoutMs?: number): void;
}

/** One behaviour of an empty store, by the sentence that states it. */
export type Cases = Readonly<Record<string, (store: Store) => Promise<void>>>;
