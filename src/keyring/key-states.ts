/**
 * What each key of a folder is, without a service: for people who rotate keys, and to mark one as compromised.
 *
 * Reads the files and prints nothing of a key but its id. Writes the files of compromised keys, and only to add the mark.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, readPrivately } from './key-file.ts';
import { longestLifetime, readKeyFolder } from './key-folder.ts';
import { rowKeyFiles } from './row-keys.ts';
import { currentKey, isPublished, timelineOf, timeOf } from './timeline.ts';
import { KEY_USES, type KeyUse } from './wire.ts';

/**
 * `current` signs or authenticates now, `next` will, `old` still verifies, `retired` no longer does, and `compromised`
 * counts for nothing.
 */
type FolderKeyState = 'current' | 'next' | 'old' | 'retired' | 'compromised';

export interface FolderKey {
  readonly use: KeyUse | 'row';
  readonly kid: string;
  readonly state: FolderKeyState;
  /** From when on it signs. */
  readonly since: Date | undefined;
  /** Until when it verifies; undefined without end. */
  readonly until: Date | undefined;
  readonly file: string;
}

/** Every key of a folder: token keys, log keys, then row keys, each in the order of its files. Throws on a fault. */
export function folderKeys(folder: string, now: Date): FolderKey[] {
  const { files, faults } = readKeyFolder(folder);
  const rows = rowKeyFiles(folder);
  // A folder whose row keys are all compromised has that fault, and can be listed all the same.
  const unread = rows.faults.filter(() => rows.files.length === 0);
  const all = [...faults, ...unread];
  if (all.length > 0) throw new Error(all.join('\n'));

  const usable = [...files.values()].filter(({ compromised }) => !compromised);
  const dated = usable.map(({ key, use, signFrom }) => ({ ...key, use, signFrom }));
  const timeline = timelineOf(dated, longestLifetime(folder, 0).keptMs);
  const signing = new Set(KEY_USES.map((use) => currentKey(timeline, use, now)?.kid));
  const signers = [...files].map(([file, { use, key, signFrom, compromised }]): FolderKey => {
    const { kid } = key;
    const published = timeline.byKid.get(kid);
    const until = published && timeOf(published.publishedUntil);
    const isOver = published !== undefined && !isPublished(published, now);
    const isCurrent = signing.has(kid);
    const state = stateOf({ compromised, isCurrent, isOver, signFrom }, now);
    return { use, kid, state, since: timeOf(signFrom), until, file };
  });
  return [...signers, ...rowKeysIn(rows.files, now)];
}

function rowKeysIn(files: ReturnType<typeof rowKeyFiles>['files'], now: Date): FolderKey[] {
  const usable = files
    .filter(({ compromised }) => !compromised)
    .sort((one, other) => one.signFrom - other.signFrom);
  const current = usable.findLast(({ signFrom }) => signFrom <= now.getTime()) ?? usable[0];
  return files.map(({ name: file, kid, signFrom, compromised }) => {
    const isCurrent = kid === current?.kid;
    const state = stateOf({ compromised, isCurrent, isOver: false, signFrom }, now);
    return { use: 'row', kid, state, since: timeOf(signFrom), until: undefined, file };
  });
}

interface KeyFacts {
  readonly compromised: boolean;
  readonly isCurrent: boolean;
  readonly isOver: boolean;
  readonly signFrom: number;
}

function stateOf(
  { compromised, isCurrent, isOver, signFrom }: KeyFacts,
  now: Date,
): FolderKeyState {
  if (compromised) return 'compromised';
  if (isCurrent) return 'current';
  if (isOver) return 'retired';
  return signFrom > now.getTime() ? 'next' : 'old';
}

/** Whether the keys that wait for their turn are marked too. Asked only where there are some. */
export type DecideOnNext = (next: readonly FolderKey[]) => Promise<'drop' | 'keep'>;

/**
 * Marks a key, by its id or its file, as compromised in its file, whole or not at all. Replicas read the folder again within seconds. Refuses the
 * key that signs now, because nothing could be signed then: its successor has to sign first.
 *
 * A thief who read this key can have read every other file of the folder. Keys of the same use that wait for their turn sign later without a
 * further act of a person, so the caller decides about them before anything is marked. A crash leaves some of them unmarked: the same call asks again.
 */
export async function markCompromised(
  folder: string,
  named: string,
  now: Date,
  decideOnNext: DecideOnNext,
): Promise<FolderKey[]> {
  const keys = folderKeys(folder, now);
  const found = keys.find(({ kid, file }) => kid === named || file === named);
  if (!found) throw new Error(`Cannot find the key "${named}" in "${folder}"`);
  if (found.state === 'current') {
    const first = `run: writ keys rotate ${found.use} --at-once --folder "${folder}"`;
    const which = `${found.use} key "${found.kid}"`;
    throw new Error(`Cannot mark the ${which}: it is in use; first ${first}`);
  }
  const next = keys.filter((key) => key !== found && key.use === found.use && key.state === 'next');
  const isDropped = next.length > 0 && (await decideOnNext(next)) === 'drop';
  return [found, ...(isDropped ? next : [])].map((key) => withMark(folder, key));
}

function withMark(folder: string, key: FolderKey): FolderKey {
  if (key.state === 'compromised') return key;
  const path = join(folder, key.file);
  const opened = readPrivately(path);
  if ('fault' in opened) throw new Error(`Cannot use key file "${path}": ${opened.fault}`);
  const content: object = JSON.parse(new TextDecoder().decode(opened.bytes));
  replaceFile(path, `${JSON.stringify({ ...content, compromised: true }, undefined, 2)}\n`);
  return { ...key, state: 'compromised' };
}

/** A crash leaves the old file or the new one, and at most a temporary file beside it. */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new Error(`Cannot write key file "${path}": ${errorCode(cause)}`, { cause });
  }
  const folder = openSync(join(path, '..'), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
