/**
 * Settings of what is kept: where the log's mark stands, and how places are spelt.
 *
 * @module
 */

import { join, resolve } from 'node:path';
import * as z from 'zod';

export const LogSettings = {
  mark: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where the last signed checkpoint is remembered, outside the store: a file that the processes of one machine share, `postgres://…` (another database than the store) for replicas on several, or `none`; by default `mark.db` beside the keys',
    ),
};

export const LOG_ENVIRONMENT = { mark: 'WRIT_MARK' } as const;

/** Relative files begin in `folder`. */
export function absoluteStore(store: string, folder: string): string {
  return store.startsWith('sqlite:') ? `sqlite:${resolve(folder, store.slice(7))}` : store;
}

/** What the mark depends on. */
interface MarkFacts {
  readonly mark?: string | undefined;
  /** Filled in. */
  readonly store: string;
  readonly keys: string;
  readonly token_keys?: string | undefined;
}

/**
 * The address of the mark, as stores are addressed. None for a store in memory, whose log ends with
 * it, and none by default where the keys have no folder: no other place is known to outlive the store.
 */
export function markAddress(facts: MarkFacts, folder: string): string | undefined {
  const { mark, store, keys, token_keys } = facts;
  if (mark === 'none' || (mark === undefined && store === 'memory:')) return undefined;
  if (mark === undefined) {
    return token_keys === undefined ? `sqlite:${join(keys, 'mark.db')}` : undefined;
  }
  if (/^postgres(?:ql)?:\/\//.test(mark)) return mark;
  return `sqlite:${resolve(folder, mark.replace(/^sqlite:/, ''))}`;
}

/** A mark in the store would be restored with it, and so could not tell. */
export function markFault({ mark, store }: Pick<MarkFacts, 'mark' | 'store'>): string | undefined {
  return mark === store ? 'Cannot use setting "mark": it names the store itself' : undefined;
}
