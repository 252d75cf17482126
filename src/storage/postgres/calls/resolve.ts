/**
 * Finding out what became of a change whose answer was lost.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { OutcomeUnknown } from '../../port/store.ts';
import { isStoreFailure } from '../failure.ts';

/** A server that restarts is back within seconds; asking it more often does not help it. */
const RETRY_AFTER_MS = 100;

/**
 * Makes a change that can be repeated. When its answer is lost it asks with `again` until the store
 * answers, which must tell both cases: that the first attempt counted, and that it never will.
 */
export async function resolved<Result>(
  limitMs: number,
  first: () => Promise<Result>,
  again: () => Promise<Result>,
): Promise<Result> {
  try {
    return await first();
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) throw error;
    return askAgain(limitMs, again, error);
  }
}

async function askAgain<Result>(
  limitMs: number,
  again: () => Promise<Result>,
  unknown: OutcomeUnknown,
): Promise<Result> {
  const patience = new AbortController();
  const { signal } = patience;
  const isOver = sleep(limitMs, undefined, { signal }).then(() => {
    patience.abort();
    throw unknown;
  });
  try {
    // An attempt that is under way when time is up goes on, and decides what we could not wait for.
    return await Promise.race([isOver, untilAnswered(again, signal)]);
  } finally {
    patience.abort();
    isOver.catch(() => {});
  }
}

async function untilAnswered<Result>(
  again: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (;;) {
    try {
      return await again();
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
    }
    await sleep(RETRY_AFTER_MS, undefined, { signal });
  }
}
