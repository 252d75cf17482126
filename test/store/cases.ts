/**
 * A case of the store contract.
 *
 * @module
 */

import type { Store } from '../../src/storage/port/store.ts';

/** One behaviour of an empty store, by the sentence that states it. */
export type Cases = Readonly<Record<string, (store: Store) => Promise<void>>>;
