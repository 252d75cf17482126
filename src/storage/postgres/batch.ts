/**
 * Shares one round trip among requests that come together.
 *
 * A request joins only a batch that has not left yet, so what it is answered is never older than
 * itself. While all trips are under way requests gather for the next one: the busier the store, the
 * larger the batches.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';
import { StoreUnavailable } from '../port/store.ts';
import { isHeldUp, isStoreFailure } from './failure.ts';

export interface BatchLimits {
  /** Requests in one trip. */
  readonly sizeMax: number;
  /** Trips under way at once. */
  readonly tripsMax: number;
}

/** Requests that wait for a trip. More than this is an overload that waiting does not cure. */
const WAITING_MAX = 10_000;

/**
 * How long a batch of changes waits for one lock. Others do not hold one for so long unless they are
 * stuck; then each of the batch goes on alone, and only those wait who need that lock.
 */
export const BATCH_PATIENCE_MS = 1_000;

/** `run` answers in the order asked; an answer of its own may be a promise, and may reject alone. */
export function createBatcher<Request, Answer>(
  { turn }: Pick<Platform, 'turn'>,
  limits: BatchLimits,
  run: (requests: readonly Request[]) => Promise<readonly (Answer | Promise<Answer>)[]>,
): (request: Request) => Promise<Answer> {
  const waiting: Waiting<Request, Answer>[] = [];
  let trips = 0;
  let isLeaving = false;

  function leaveSoon(): void {
    if (isLeaving || trips >= limits.tripsMax || waiting.length === 0) return;
    isLeaving = true;
    // After all input of this turn was read, so that what arrived together travels together.
    turn(() => {
      isLeaving = false;
      void travel(waiting.splice(0, limits.sizeMax));
      leaveSoon();
    });
  }

  async function travel(batch: readonly Waiting<Request, Answer>[]): Promise<void> {
    trips += 1;
    try {
      const answers = await run(batch.map(({ request }) => request));
      batch.forEach(({ resolve }, place) => {
        resolve(answers[place] as Answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      trips -= 1;
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
 * The same, for changes that one of them can spoil for all: by a defect, by waiting for what is locked for
 * long, or by taking too long itself. All of them were undone then, and each is made alone. What the
 * store itself fails of is told to all.
 */
export function createSharing<Request, Answer>(
  platform: Pick<Platform, 'turn'>,
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
      // Not waited for: the next trip need not suffer for them either.
      return requests.map(alone);
    }
  });
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer | Promise<Answer>): void;
  reject(error: unknown): void;
}
