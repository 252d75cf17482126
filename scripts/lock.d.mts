/**
 * What tests may ask of lock.mjs, which is plain JavaScript because it runs before the compiler is
 * installed.
 *
 * @module
 */

export const LOCK_AGE_MS_MAX: number;
export const UNNAMED_LOCK_AGE_MS_MAX: number;
export function isFree(
  lock: { owner: { pids: number[]; host: string } | undefined; ageMs: number; host: string },
  isRunning: (pid: number) => boolean,
): boolean;
export function withLock(
  root: string,
  work: (share: (pid: number) => void) => Promise<void>,
): Promise<void>;
