/**
 * The kind of a store, from the setting that names it.
 *
 * @module
 */

/** Never the whole address: it may carry a password. */
export function storeKind(store: string): string {
  return store.split(':', 1)[0] as string;
}
