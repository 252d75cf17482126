/**
 * Settings of what is kept, and for how long: the log's mark, retention, witnesses.
 *
 * @module
 */

import { join, resolve } from 'node:path';
import * as z from 'zod';
import { PrivateUrl } from './config-webhook.ts';
import { parseDuration } from './domain/duration.ts';
import { readVkey } from './domain/note-key.ts';
import { EventClass } from './protocol/audit.ts';

/** Kept for at least an hour: less is a slip, and what is erased does not come back. */
const RETENTION_MIN_MS = 3_600_000;

const KeptFor = z.string().refine((text) => (parseDuration(text) ?? 0) >= RETENTION_MIN_MS, {
  message: 'expected a duration of at least an hour, such as "P90D"',
});

/** Each is asked after every seal, and a note has room for no more than a few dozen lines. */
const WITNESSES_MAX = 8;

export const WitnessSetting = z.strictObject({
  url: PrivateUrl,
  vkey: z.string().refine((text) => readVkey(text)?.type === 'cosignature', {
    message: 'expected the vkey of a witness that cosigns (name+id+key)',
  }),
});

export const LogSettings = {
  mark: z
    .string()
    .regex(
      /^(?:sqlite:.+|postgres(?:ql)?:\/\/.+|(?![a-z][a-z0-9+.-]+:).+)$/i,
      'expected a file, postgres://…, witness or none',
    )
    .optional()
    .describe(
      'Where the last signed checkpoint is remembered, outside the store: a file that the processes of one machine share, `postgres://…` (another database than the store) for replicas on several, `witness` (the first of `witnesses` sees every checkpoint before anybody else), or `none`; by default `mark.db` beside the keys',
    ),
  retention: z
    .partialRecord(z.enum([...EventClass.options, 'personal']), KeptFor)
    .default({})
    .describe('How long what entries say is kept, by event class; by default for good'),
  witnesses: z
    .array(WitnessSetting)
    .max(WITNESSES_MAX)
    .default([])
    .describe('Who is asked to cosign every checkpoint (C2SP add-checkpoint)'),
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
  if (mark === 'witness' || /^postgres(?:ql)?:\/\//.test(mark)) return mark;
  return `sqlite:${resolve(folder, mark.replace(/^sqlite:/, ''))}`;
}

/** A mark in the store would be restored with it, and so could not tell. */
export function markFault({
  mark,
  store,
  witnesses,
}: Pick<MarkFacts, 'mark' | 'store'> & { witnesses: readonly unknown[] }): string | undefined {
  if (mark === store) return 'Cannot use setting "mark": it names the store itself';
  return mark === 'witness' && witnesses.length === 0
    ? 'Cannot use setting "mark": there is no witness among "witnesses"'
    : undefined;
}
