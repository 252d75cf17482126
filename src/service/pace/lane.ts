/**
 * The lane: places for work whose cost grows with the data.
 *
 * A few run, a bounded number wait, the rest are refused and may come again. A place is held until the
 * client has read the answer, where the transport can tell, so answers that nobody reads are bounded
 * too. Places are shared out by turns: a caller that takes all of its own keeps no other out.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Platform } from '../../platform.ts';
import { callerLeft, type Slicer, type Slices } from './slices.ts';

export interface LaneBounds {
  /** Works at once. They share the slices, so more would only make each take longer. */
  readonly runningMax: number;
  /** Fewer, so that a share whose work is slow leaves room for the others. */
  readonly runningPerShareMax: number;
  /** Running, or answered and not read yet. Each holds an answer of up to 1 MiB. */
  readonly openMax: number;
  readonly openPerShareMax: number;
  /** Each holds a request. */
  readonly waitingMax: number;
  readonly waitingPerShareMax: number;
  /** In milliseconds: how long a request waits for a place. */
  readonly waitMs: number;
}

const BOUNDS: LaneBounds = {
  runningMax: 4,
  runningPerShareMax: 2,
  openMax: 32,
  openPerShareMax: 4,
  waitingMax: 256,
  waitingPerShareMax: 64,
  waitMs: 10_000,
};

/** When a place may be free again. */
const RETRY_AFTER = 'PT1S';

/** Whether the caller is still there, on the transports that can tell. */
interface Listening {
  gone?(): AbortSignal;
  delivered?(): AbortSignal;
}

export interface Lane {
  /** Does the work when there is a place for it. Rejects with a refusal when there is none. */
  run<Result>(
    share: string,
    ask: Listening,
    work: (slices: Slices, hasWaited: boolean) => Promise<Result>,
  ): Promise<Result>;
  /** For work that takes no place, since it must not be refused: one view of one record. */
  slices(): Slices;
}

export function createLane(
  platform: Platform,
  slicesFor: Slicer,
  changed: Partial<LaneBounds> = {},
): Lane {
  const places = createPlaces(platform, { ...BOUNDS, ...changed });
  return {
    slices: () => slicesFor(),
    async run(share, ask, work) {
      const gone = ask.gone?.();
      if (gone?.aborted) throw callerLeft();
      const { place, hasWaited } = await places.take(share, gone);
      let delivered: AbortSignal | undefined;
      try {
        const result = await work(slicesFor(gone), hasWaited);
        delivered = ask.delivered?.();
        return result;
      } finally {
        place.stopRunning();
        if (!delivered || delivered.aborted) place.free();
        else delivered.addEventListener('abort', place.free, { once: true });
      }
    },
  };
}

interface Places {
  /** Resolves when there is a place. Rejects when too many wait, or the caller leaves meanwhile. */
  take(share: string, gone?: AbortSignal): Promise<{ place: Place; hasWaited: boolean }>;
}

interface Place {
  stopRunning(): void;
  free(): void;
}

interface Share {
  readonly name: string;
  running: number;
  open: number;
  readonly waiting: Set<() => void>;
}

function createPlaces({ after, cancel }: Platform, bounds: LaneBounds): Places {
  /** Those that have or wait for a place; the one whose turn is next stands first. */
  const shares = new Map<string, Share>();
  let [running, open, waiting] = [0, 0, 0];

  const hasPlace = (share: Share) =>
    running < bounds.runningMax &&
    share.running < bounds.runningPerShareMax &&
    open < bounds.openMax &&
    share.open < bounds.openPerShareMax;

  function placeFor(share: Share): Place {
    running += 1;
    share.running += 1;
    open += 1;
    share.open += 1;
    return {
      stopRunning() {
        running -= 1;
        share.running -= 1;
        startWaiting();
      },
      free() {
        open -= 1;
        share.open -= 1;
        forgetIdle(share);
        startWaiting();
      },
    };
  }

  function forgetIdle({ name, open: held, waiting: queue }: Share): void {
    if (held === 0 && queue.size === 0) shares.delete(name);
  }

  function startWaiting(): void {
    for (;;) {
      const next = [...shares.values()].find((one) => one.waiting.size > 0 && hasPlace(one));
      if (!next) return;
      // To the end of the line: the others come first the next time.
      shares.delete(next.name);
      shares.set(next.name, next);
      const [start] = next.waiting;
      start?.();
    }
  }

  function waitIn(share: Share, gone?: AbortSignal): Promise<Place> {
    if (waiting >= bounds.waitingMax || share.waiting.size >= bounds.waitingPerShareMax) {
      forgetIdle(share);
      throw noPlace();
    }
    return new Promise((resolve, reject) => {
      const stop = () => {
        cancel(timer);
        gone?.removeEventListener('abort', leave);
        share.waiting.delete(start);
        waiting -= 1;
      };
      const start = () => {
        stop();
        resolve(placeFor(share));
      };
      const giveUp = (refusal: Refusal) => {
        stop();
        forgetIdle(share);
        reject(refusal);
      };
      const leave = () => giveUp(callerLeft());
      const timer = after(bounds.waitMs, () => giveUp(noPlace()));
      gone?.addEventListener('abort', leave);
      share.waiting.add(start);
      waiting += 1;
    });
  }

  return {
    async take(name, gone) {
      const share = shares.get(name) ?? { name, running: 0, open: 0, waiting: new Set() };
      shares.set(name, share);
      if (share.waiting.size === 0 && hasPlace(share)) {
        return { place: placeFor(share), hasWaited: false };
      }
      return { place: await waitIn(share, gone), hasWaited: true };
    },
  };
}

function noPlace(): Refusal {
  const detail =
    'Cannot answer now: too many long queries and lists are under way; nothing happened';
  const resolution = { estimated_availability: RETRY_AFTER };
  return new Refusal(failure('service_unavailable', detail, resolution));
}
