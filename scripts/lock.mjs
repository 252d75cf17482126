// @ts-check
/**
 * One lock per checkout, for the steps that write node_modules or dist.
 *
 * Each holder makes a file of the next number in one folder, exclusively, and writes its name there;
 * the highest number is the lock. It outlives a holder that was killed, so a waiter judges it, and
 * takes over by making the number after it. Invariant: the highest file is never removed, so numbers
 * only grow, and a waiter that judged an old state finds its number taken or passed. (Moving a dead
 * holder's lock out of the way instead let a slow waiter move a live one: seen.)
 *
 * @module
 */

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Longer than any install or build: past it the owner hung, or its process number was reused. */
export const LOCK_AGE_MS_MAX = 15 * 60 * 1000;

/** Between making the file and naming its owner lies one write; past this it will not come. */
export const UNNAMED_LOCK_AGE_MS_MAX = 5 * 1000;

const POLL_MS = 100;

/**
 * @typedef {{ pids: number[], host: string }} Owner the command, and the child that writes for it;
 *   nobody, once it was given back
 */

/**
 * Runs `work` while no other process of this checkout is in here.
 *
 * @param {string} root
 * @param {(share: (pid: number) => void) => Promise<void>} work may share the lock with a child, which
 *   then keeps it when the command itself is killed and the child goes on writing
 * @returns {Promise<void>}
 */
export async function withLock(root, work) {
  const folder = join(root, '.writ', 'setup.lock');
  mkdirSync(folder, { recursive: true });

  const number = await takeLock(folder);
  try {
    await work((pid) => renameOwner(folder, number, [process.pid, pid]));
  } finally {
    renameOwner(folder, number, []);
  }
}

/**
 * Decides whether a lock was given back, or its owner can no longer do so.
 *
 * @param {{ owner: Owner | undefined, ageMs: number, host: string }} lock
 * @param {(pid: number) => boolean} isRunning
 * @returns {boolean}
 */
export function isFree({ owner, ageMs, host }, isRunning) {
  if (ageMs > LOCK_AGE_MS_MAX) return true;
  if (owner === undefined) return ageMs > UNNAMED_LOCK_AGE_MS_MAX;
  if (owner.pids.length === 0) return true;

  // A process number says nothing on another machine that mounts the same folder.
  return owner.host === host && !owner.pids.some(isRunning);
}

/**
 * @param {string} folder
 * @returns {Promise<number>} the number we hold
 */
async function takeLock(folder) {
  let isAnnounced = false;
  for (;;) {
    const last = highest(folder);
    const lock = inspect(folder, last);
    if (lock === undefined) continue;
    if (isFree(lock, isProcess)) {
      if (tryNumber(folder, last + 1)) return last + 1;
      continue;
    }

    if (!isAnnounced) process.stderr.write(`Waiting: ${whoOf(lock.owner)} is setting up here\n`);
    isAnnounced = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/**
 * Holds the number, unless another has it, or numbers have gone on since we looked.
 *
 * @param {string} folder
 * @param {number} number
 * @returns {boolean}
 */
function tryNumber(folder, number) {
  const path = join(folder, String(number));
  try {
    writeFileSync(path, ownerText([process.pid]), { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }

  const numbers = numbersIn(folder);
  if (numbers.some((other) => other > number)) {
    rmSync(path, { force: true });
    return false;
  }
  for (const other of numbers) {
    if (other < number) rmSync(join(folder, String(other)), { force: true });
  }
  return true;
}

/**
 * @param {string} folder
 * @param {number} number
 * @param {number[]} pids
 */
function renameOwner(folder, number, pids) {
  // Replaced in one step: a waiter must not read half a name.
  const draft = join(folder, `${number}.draft`);
  writeFileSync(draft, ownerText(pids));
  renameSync(draft, join(folder, String(number)));
}

/** @param {number[]} pids */
function ownerText(pids) {
  return JSON.stringify({ pids, host: hostname() });
}

/**
 * @param {string} folder
 * @param {number} number zero is the lock that nobody ever held
 * @returns {{ owner: Owner | undefined, ageMs: number, host: string } | undefined} nothing when a
 *   higher number took its place meanwhile
 */
function inspect(folder, number) {
  if (number === 0) return { owner: { pids: [], host: '' }, ageMs: 0, host: hostname() };

  const path = join(folder, String(number));
  try {
    const ageMs = Date.now() - statSync(path).mtimeMs;
    return { owner: ownerOf(readFileSync(path, 'utf8')), ageMs, host: hostname() };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {string} folder */
function highest(folder) {
  return Math.max(0, ...numbersIn(folder));
}

/** @param {string} folder */
function numbersIn(folder) {
  return readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/**
 * @param {string} text
 * @returns {Owner | undefined}
 */
function ownerOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    // Empty or half written: its owner is at it, or died there. Its age decides.
    return undefined;
  }
}

/** @param {Owner | undefined} owner */
function whoOf(owner) {
  return owner === undefined ? 'another command' : `process ${owner.pids.join(', ')}`;
}

/** @param {number} pid */
function isProcess(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * @param {unknown} error
 * @returns {unknown}
 */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
