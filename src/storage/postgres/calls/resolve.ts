/**
 * Resolves the outcome of a change whose answer was lost.
 *
 * @module
 */

import { type Platform, pause, type Timer } from '../../../platform.ts';
import { OutcomeUnknown } from '../../port/store.ts';
import { isStoreFailure } from '../failure.ts';

/** A server that restarts is back within seconds; asking more often does not help. */
const RETRY_AFTER_MS = 100;

/**
 * Runs a change that can be repeated. When its answer is lost, calls `again` until the store answers. `again`
 * must distinguish both cases: the first attempt committed, or it never will.
 */
export function resolved<Result>(
  platform: Platform,
  limitMs: number,
  first: () => Promise<Result>,
  again: () => Promise<Result>,
): Promise<Result> {
  return first().catch((error: unknown) => {
    if (!(error instanceof OutcomeUnknown)) throw error;
    return askAgain(platform, limitMs, again, error);
  });
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
    // When time is up, an attempt in progress continues and still decides the outcome.
    return await Promise.race([timeUp, untilAnswered()]);
  } finally {
    isOver = true;
    platform.cancel(timer);
  }
}
