/**
 * The files of a guard: its policy, and beside it the lock with the tools that were reviewed.
 *
 * Both are written whole or not at all. The policy is written once, when there is none; people edit it.
 *
 * @module
 */

import { existsSync, realpathSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { basename, dirname, resolve, sep } from 'node:path';
import { printable } from '../../domain/wire/printable.ts';
import { NO_PINS, type Pins, readPins, writePins } from '../../guard/pins.ts';
import { type GuardPolicy, type PolicyFault, readPolicy } from '../../guard/policy/read.ts';
import { errorCode, writeNewFile } from '../../keyring/key-file.ts';
import { writeTextAtomically } from '../shell/atomic-file.ts';
import { bytesIn } from '../shell/files.ts';

const POLICY_FILE = 'writ-guard.yaml';

/** Mode 0644: both files belong into a repository that a team shares. */
const SHARED = 0o644;

export interface GuardFiles {
  readonly policy: string;
  readonly lock: string;
}

/** What both files say. */
export interface Reviewed {
  readonly policy: GuardPolicy;
  readonly pins: Pins;
  /** The texts, by which a later reading finds out whether anything changed. */
  readonly texts: { readonly policy: string; readonly lock: string };
}

/** The files that belong to a policy, which has the usual name by default. */
export function guardFiles(policy: string = POLICY_FILE): GuardFiles {
  const path = resolve(policy);
  return { policy: path, lock: `${path.replace(/\.ya?ml$/, '')}.lock.json` };
}

/**
 * Throws where a word of a command names a folder that has own files of the guard in it: a tool that reads files there
 * would give an agent the keys, and one that writes could change the policy.
 */
export function refuseExposed(
  command: readonly string[],
  { policy, lock }: GuardFiles,
  folders: readonly string[],
): void {
  const own = [...folders, policy, lock].map(realPath);
  for (const word of command) {
    // Such as `--root=.`
    const named = word.slice(word.indexOf('=') + 1);
    if (named === '') continue;
    const path = resolve(dirname(policy), named);
    const folder = existsSync(path) ? realPath(path) : path;
    const exposed = own.find((each) => `${each}${sep}`.startsWith(withSeparator(folder)));
    if (exposed === undefined) continue;
    const advice = 'name a folder below, or move the policy (--policy) and the data (WRIT_DATA)';
    throw new Error(
      `the command gets "${word}", and files of the guard are there: "${exposed}". Its tools could read the keys or change the policy; ${advice}`,
    );
  }
}

/** The path without links, as far as it exists. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const parent = dirname(path);
  return parent === path ? path : resolve(realPath(parent), basename(path));
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : `${folder}${sep}`;
}

export function hasPolicy({ policy }: GuardFiles): boolean {
  return existsSync(policy);
}

/** Reads both files; without a lock no tool is reviewed. Gives one line for each fault. */
export function readGuardFiles(
  files: GuardFiles,
): Reviewed | { readonly faults: readonly string[] } {
  try {
    const policyText = textIn(files.policy);
    const lockText = existsSync(files.lock) ? textIn(files.lock) : '';
    const read = readPolicy(policyText);
    const pins = lockText === '' ? NO_PINS : readPins(lockText);
    if ('faults' in read || 'fault' in pins) {
      return { faults: [...faultLines(files, read), ...lockFaults(files, pins)] };
    }
    return { policy: read.policy, pins, texts: { policy: policyText, lock: lockText } };
  } catch (error) {
    return { faults: [error instanceof Error ? error.message : String(error)] };
  }
}

/** `writ-guard.yaml:12:5: tools.write_file.effect: …`, as editors and terminals find it. */
function faultLine(file: string, { line, column, where, why }: PolicyFault): string {
  const position = `${basename(file)}:${line}:${column}`;
  return printable(where === '' ? `${position}: ${why}` : `${position}: ${where}: ${why}`);
}

function faultLines(files: GuardFiles, read: ReturnType<typeof readPolicy>): string[] {
  return 'faults' in read ? read.faults.map((fault) => faultLine(files.policy, fault)) : [];
}

function lockFaults({ lock }: GuardFiles, pins: ReturnType<typeof readPins>): string[] {
  return 'fault' in pins ? [printable(`${basename(lock)}: ${pins.fault}`)] : [];
}

/** Throws where a policy exists: it was written or edited by a person. */
export async function writeNewPolicy({ policy }: GuardFiles, text: string): Promise<void> {
  const [folder, name] = [resolve(policy, '..'), basename(policy)];
  let isFirst: boolean;
  try {
    isFirst = writeNewFile(folder, name, text);
    if (isFirst) await chmod(policy, SHARED);
  } catch (cause) {
    throw new Error(`Cannot write "${policy}": ${errorCode(cause)}`, { cause });
  }
  if (!isFirst) throw new Error(`"${policy}" exists; this command never overwrites a policy`);
}

export async function writeLock({ lock }: GuardFiles, pins: Pins): Promise<void> {
  try {
    await writeTextAtomically(lock, writePins(pins).trimEnd());
    await chmod(lock, SHARED);
  } catch (cause) {
    throw new Error(`Cannot write "${lock}": ${errorCode(cause)}`, { cause });
  }
}

function textIn(path: string): string {
  return new TextDecoder().decode(bytesIn(path));
}
