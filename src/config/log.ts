/**
 * Settings of the log: its mark, retention and witnesses.
 *
 * @module
 */

import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import * as z from 'zod';
import { openHost } from '../address/host.ts';
import { readVkey } from '../domain/log/note-key.ts';
import { parseDuration } from '../domain/values/duration.ts';
import { EventClass } from '../protocol/audit.ts';
import { PrivateUrl } from './webhook.ts';

/** At least an hour: less is probably a mistake, and erased contents cannot be restored. */
const RETENTION_MIN_MS = 3_600_000;

const KeptFor = z.string().refine((text) => (parseDuration(text) ?? 0) >= RETENTION_MIN_MS, {
  message: 'expected a duration of at least an hour, such as "P90D"',
});

/** The service asks each after every seal, and a note has room for a few dozen lines only. */
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
      'Where the service remembers the last signed checkpoint, outside the store: a file that the processes of one machine share, `postgres://…` (another database than the store) for replicas on several machines, `witness` (the first of `witnesses` gets every checkpoint before it is published), or `none` (on a loopback address only); by default, on a loopback address, `writ/mark.db` in the state folder of the user (`$XDG_STATE_HOME`, else `~/.local/state`)',
    ),
  retention: z
    .partialRecord(z.enum([...EventClass.options, 'personal']), KeptFor)
    .default({})
    .describe('How long the contents of entries are kept, by event class; by default without end'),
  witnesses: z
    .array(WitnessSetting)
    .max(WITNESSES_MAX)
    .default([])
    .describe('Witnesses that the service asks to cosign every checkpoint (C2SP add-checkpoint)'),
};

export const LOG_ENVIRONMENT = { mark: 'WRIT_MARK' } as const;

/** Relative paths start from `folder`. */
export function absoluteStore(store: string, folder: string): string {
  return store.startsWith('sqlite:') ? `sqlite:${resolve(folder, store.slice(7))}` : store;
}

/** The settings that the mark depends on. */
interface MarkFacts {
  readonly mark?: string | undefined;
  /** The settings with their defaults. */
  readonly store: string;
  readonly host: string;
  readonly public_url?: string | undefined;
}

/**
 * The URL of the mark, in the form of store URLs. None for a store in memory, whose log ends with
 * it. A service that other machines reach has no default: only its operator knows a place that outlives the store.
 */
export function markAddress(facts: MarkFacts, folder: string, state: string): string | undefined {
  const { mark, store } = facts;
  if (mark === 'none') return undefined;
  if (mark === undefined) {
    const isLocal = store !== 'memory:' && openHost(facts) === undefined;
    return isLocal ? `sqlite:${join(state, MARK_FILE)}` : undefined;
  }
  if (mark === 'witness' || /^postgres(?:ql)?:\/\//.test(mark)) return mark;
  return `sqlite:${resolve(folder, mark.replace(/^sqlite:/, ''))}`;
}

/** One file has the marks of all logs of this user's services. */
export const MARK_FILE = 'mark.db';

/** The state folder of the user. */
export function stateFolderIn(environment: Readonly<Record<string, string | undefined>>): string {
  const { XDG_STATE_HOME: given, LOCALAPPDATA: local } = environment;
  if (given && isAbsolute(given)) return join(given, 'writ');
  if (process.platform === 'win32')
    return join(local || join(homedir(), 'AppData', 'Local'), 'writ');
  const own = process.platform === 'darwin' ? 'Library/Application Support' : '.local/state';
  return join(homedir(), own, 'writ');
}

/** A mark in the store would be restored with the store, and could not show that. */
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

/**
 * Why a service that other machines reach must not start: its log has no mark, or one that a restore
 * of the store would restore too. On a loopback address both are allowed.
 */
export function unsafeMark(facts: MarkFacts & { readonly data: string }): string | undefined {
  const { mark, store, data } = facts;
  if (openHost(facts) === undefined || store === 'memory:') return undefined;
  if (mark === undefined) return `its log has no mark; ${MARK_ADVICE}`;
  if (!mark.startsWith('sqlite:')) return undefined;
  const place = realPath(mark.slice('sqlite:'.length));
  const besideStore = store.startsWith('sqlite:') ? [dirname(store.slice('sqlite:'.length))] : [];
  const folder = [data, ...besideStore].map(realPath).find((each) => isInside(each, place));
  if (folder === undefined) return undefined;
  return `the mark of its log lies in "${folder}" and would be restored with it; ${MARK_ADVICE}`;
}

const MARK_ADVICE =
  'set WRIT_MARK to a file on another volume, to another database (postgres://…), or to witness (docs/operating.md, "Where the mark lies")';

/** A name may begin with two dots; only the segment ".." leads out of the folder. */
function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Resolves symbolic links of the existing part of the path. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
