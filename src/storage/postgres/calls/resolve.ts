/**
 * Finding out what became of a change whose answer was lost.
 *
 * @module
 */

import { type Platform, pause, type Timer } from '../../../platform.ts';
import { OutcomeUnknown } from '../../port/store.ts';
import { isStoreFailure } from '../failure.ts';

/** A server that restarts is back within seconds; asking it more often does not help it. */
const RETRY_AFTER_MS = 100;

/**
 * Makes a change that can be repeated. When its answer is lost it asks with `again` until the store
 * answers, which must tell both cases: that the first attempt counted, and that it never will.
 */
export async function resolved<Result>(
  platform: Platform,
  limitMs: number,
  first: () => Promise<Result>,
  again: () => Promise<Result>,
): Promise<Result> {
  try {
    return await first();
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) throw error;
    return askAgain(platform, limitMs, again, error);
  }
}

async function askAgain<Result>(
  platform: Platform,
  limitMs: number,
  again: () => Promise<Result>,
  unknown: OutcomeUnknown,
): Promise<Result> {
  let isOver = false;
  let timer: Timer | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = platform.after(limitMs, () => reject(unknown));
  });
  const untilAnswered = async (): Promise<Result> => {
    for (;;) {
      try {
        return await again();
      } catch (error) {
        if (!isStoreFailure(error)) throw error;
      }
      await pause(platform, RETRY_AFTER_MS);
      if (isOver) throw unknown;
    }
  };
  try {
    // An attempt that is under way when time is up goes on, and decides what we could not wait for.
    return await Promise.race([timeUp, untilAnswered()]);
  } finally {
    isOver = true;
    platform.cancel(timer);
  }
}
