/**
 * What the contract needs of a test runner. Vitest's functions fit, and so do those of others: none
 * is imported here, so an author of a store runs the contract with the runner at hand.
 *
 * @module
 */

import type { Store } from '../storage/port/store.ts';

export interface Runner {
  describe(name: string, body: () => void): void;
  test(name: string, body: () => Promise<void>, timeoutMs?: number): void;
}

/** One behaviour of an empty store, by the sentence that states it. */
export type Cases = Readonly<Record<string, (store: Store) => Promise<void>>>;
