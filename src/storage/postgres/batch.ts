/**
 * Shares one round trip among concurrent requests.
 *
 * A request joins only a batch that has not been sent yet, so its result is never older than the request.
 * While a trip is under way, requests collect for the next one: the busier the store, the larger the batches.
 * A trip costs both sides more than the requests in it, so a second one leaves only when it is full, or when
 * the one before takes long.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';
import { StoreUnavailable } from '../port/store.ts';
import { isHeldUp, isStoreFailure } from './failure.ts';

export interface BatchLimits {
  /** Requests in one trip. */
  readonly sizeMax: number;
  /** Concurrent trips. */
  readonly tripsMax: number;
}

/** In milliseconds. A trip that takes longer waits for a lock or a slow disk; others do not wait for it. */
const LATE_MS = 25;

/** Requests that wait for a trip. Beyond it the store is overloaded and refuses. */
const WAITING_MAX = 10_000;

/**
 * How long a batch of changes waits for one lock. A lock held longer means that its holder is stuck; then
 * each request of the batch runs alone, and only those that need this lock wait.
 */
export const BATCH_PATIENCE_MS = 1_000;

/** `run` answers in the order of the requests; an answer may be a promise that rejects alone. */
export function createBatcher<Request, Answer>(
  { turn, after, cancel }: Pick<Platform, 'turn' | 'after' | 'cancel'>,
  limits: BatchLimits,
  run: (requests: readonly Request[]) => Promise<readonly (Answer | Promise<Answer>)[]>,
): (request: Request) => Promise<Answer> {
  const waiting: Waiting<Request, Answer>[] = [];
  let trips = 0;
  let late = 0;
  let isLeaving = false;

  function leaveSoon(): void {
    if (isLeaving || trips >= limits.tripsMax || waiting.length === 0) return;
    if (trips > late && waiting.length < limits.sizeMax) return;
    isLeaving = true;
    // After all input of this turn was read, so that concurrent requests share one trip.
    turn(() => {
      isLeaving = false;
      void travel(waiting.splice(0, limits.sizeMax));
      leaveSoon();
    });
  }

  async function travel(batch: readonly Waiting<Request, Answer>[]): Promise<void> {
    trips += 1;
    let isLate = false;
    const timer = after(LATE_MS, () => {
      isLate = true;
      late += 1;
      leaveSoon();
    });
    try {
      const answers = await run(batch.map(({ request }) => request));
      batch.forEach(({ resolve }, place) => {
        resolve(answers[place] as Answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      cancel(timer);
      trips -= 1;
      if (isLate) late -= 1;
      leaveSoon();
    }
  }

  return (request) => {
    if (waiting.length >= WAITING_MAX) {
      const why = `${waiting.length} requests are already waiting`;
      return Promise.reject(new StoreUnavailable(`Cannot use the store: ${why}`));
    }
    return new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      leaveSoon();
    });
  };
}

/**
 * The same for changes, where one request can fail the whole batch: by a defect, by waiting for a lock, or by
 * taking too long. The batch is then rolled back, and each request runs alone. A failure of the store itself
 * rejects all of them.
 */
export function createSharing<Request, Answer>(
  platform: Pick<Platform, 'turn' | 'after' | 'cancel'>,
  limits: BatchLimits,
  {
    together,
    alone,
  }: {
    together(requests: readonly Request[]): Promise<readonly Answer[]>;
    alone(request: Request): Promise<Answer>;
  },
): (request: Request) => Promise<Answer> {
  return createBatcher<Request, Answer>(platform, limits, async (requests) => {
    try {
      return await together(requests);
    } catch (error) {
      if (isStoreFailure(error) && !isHeldUp(error)) throw error;
      // Not awaited, so that the next trip does not wait for these requests.
      return requests.map(alone);
    }
  });
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer | Promise<Answer>): void;
  reject(error: unknown): void;
}
