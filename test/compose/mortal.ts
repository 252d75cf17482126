/**
 * Stores of processes that die: at one change after another, before it happens or right after.
 *
 * @module
 */

import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';

/** The changes of the store that a composed call makes once it is admitted. */
const CHANGES: ReadonlySet<PropertyKey> = new Set(['beginStep', 'endStep', 'settle', 'append']);

/** What is no question to the store. */
const UNASKED: ReadonlySet<PropertyKey> = new Set(['logId', 'now', 'backlog', 'close']);

export interface Death {
  /** After how many changes, and whether the last one still happened. */
  readonly after: number;
  readonly happened: boolean;
  /** What the changes are counted from: its own call, or one that it takes over. */
  readonly from?: 'admit' | 'adoptComposition';
}

/** A store whose process dies: from that moment on it is told nothing and can tell nothing. */
export function mortal(
  { after, happened, from = 'admit' }: Death,
  died: () => void,
): (store: Store) => Store {
  let isDead = false;
  let left = Number.POSITIVE_INFINITY;
  const gone = () => Promise.reject(new StoreUnavailable('Cannot ask: the process is dead'));

  async function last(change: () => Promise<unknown>): Promise<unknown> {
    isDead = true;
    if (happened) await change();
    died();
    return gone();
  }

  return (store) =>
    new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (UNASKED.has(name)) return value;
        return async (...args: unknown[]) => {
          const ask = () => Reflect.apply(value, target, args) as Promise<unknown>;
          if (isDead) return gone();
          if (CHANGES.has(name) && left-- === 0) return last(ask);
          const result = await ask();
          if (name === from && result !== undefined) left = Math.min(left, after);
          return result;
        };
      },
    });
}
