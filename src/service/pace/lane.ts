/**
 * The lane: slots for work whose cost grows with the data, such as queries and lists.
 *
 * A few works run at once, a bounded number wait, and the rest are refused and may try again. A
 * work holds its slot until the client has read the answer, on transports that can tell, so unread
 * answers are bounded too. Callers take turns: one that fills its own share does not delay the
 * others.
 *
 * The other files of this room bound time and memory in one way each:
 *
 * - `slices.ts` gives the event loop back every few milliseconds of long work.
 * - `deadline.ts` ends the wait for author code.
 * - `waits.ts` holds callers that wait for an approval decision.
 * - `work.ts` counts running calls, so that a stop can wait for them.
 * - `repeated.ts` runs background tasks at an interval.
 * - `lines.ts` and `line-writer.ts` read and write streams of lines with bounded memory.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Platform } from '../../platform.ts';
import { callerLeft, type Slicer, type Slices } from './slices.ts';

export interface LaneBounds {
  /** Works that run at once. They share the slices, so more of them would only take longer each. */
  readonly runningMax: number;
  /** Below `runningMax`, so that a share with slow work leaves slots for the others. */
  readonly runningPerShareMax: number;
  /**
   * Works that run, or whose answer the client has not read yet. Each holds an answer of up to 1
   * MiB.
   */
  readonly openMax: number;
  readonly openPerShareMax: number;
  /** Works that wait for a slot. Each holds a request. */
  readonly waitingMax: number;
  readonly waitingPerShareMax: number;
  /** In milliseconds: how long a request waits for a slot. */
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

/** Sent with a refusal: when the caller may try again. */
const RETRY_AFTER = 'PT1S';

/** Signals about the client, on the transports that have them. */
interface Listening {
  gone?(): AbortSignal;
  delivered?(): AbortSignal;
}

export interface Lane {
  /** Runs the work as soon as it has a slot. Rejects with a refusal when it gets none. */
  run<Result>(
    share: string,
    ask: Listening,
    work: (slices: Slices, hasWaited: boolean) => Promise<Result>,
  ): Promise<Result>;
  /** Slices without a slot, for work that must not be refused: one view of one record. */
  slices(): Slices;
}

export function createLane(
  platform: Platform,
  slicesFor: Slicer,
  changed: Partial<LaneBounds> = {},
): Lane {
  const slots = createSlots(platform, { ...BOUNDS, ...changed });
  return {
    slices: () => slicesFor(),
    async run(share, ask, work) {
      const gone = ask.gone?.();
      if (gone?.aborted) throw callerLeft();
      const { slot, hasWaited } = await slots.take(share, gone);
      let delivered: AbortSignal | undefined;
      try {
        const result = await work(slicesFor(gone), hasWaited);
        delivered = ask.delivered?.();
        return result;
      } finally {
        slot.stopRunning();
        if (!delivered || delivered.aborted) slot.free();
        else delivered.addEventListener('abort', slot.free, { once: true });
      }
    },
  };
}

interface Slots {
  /** Resolves with a slot. Rejects when too many wait, or when the caller leaves before. */
  take(share: string, gone?: AbortSignal): Promise<{ slot: Slot; hasWaited: boolean }>;
}

interface Slot {
  stopRunning(): void;
  free(): void;
}

interface Share {
  readonly name: string;
  running: number;
  open: number;
  readonly waiting: Set<() => void>;
}

function createSlots({ after, cancel }: Platform, bounds: LaneBounds): Slots {
  /** Shares that hold or wait for a slot. The first one has the next turn. */
  const shares = new Map<string, Share>();
  let [running, open, waiting] = [0, 0, 0];

  const hasSlot = (share: Share) =>
    running < bounds.runningMax &&
    share.running < bounds.runningPerShareMax &&
    open < bounds.openMax &&
    share.open < bounds.openPerShareMax;

  function slotFor(share: Share): Slot {
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
      const next = [...shares.values()].find((one) => one.waiting.size > 0 && hasSlot(one));
      if (!next) return;
      // Move the share to the end, so that the others have their turn first.
      shares.delete(next.name);
      shares.set(next.name, next);
      const [start] = next.waiting;
      start?.();
    }
  }

  function waitIn(share: Share, gone?: AbortSignal): Promise<Slot> {
    if (waiting >= bounds.waitingMax || share.waiting.size >= bounds.waitingPerShareMax) {
      forgetIdle(share);
      throw noSlot();
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
        resolve(slotFor(share));
      };
      const giveUp = (refusal: Refusal) => {
        stop();
        forgetIdle(share);
        reject(refusal);
      };
      const leave = () => giveUp(callerLeft());
      const timer = after(bounds.waitMs, () => giveUp(noSlot()));
      gone?.addEventListener('abort', leave);
      share.waiting.add(start);
      waiting += 1;
    });
  }

  return {
    async take(name, gone) {
      const share = shares.get(name) ?? { name, running: 0, open: 0, waiting: new Set() };
      shares.set(name, share);
      if (share.waiting.size === 0 && hasSlot(share)) {
        return { slot: slotFor(share), hasWaited: false };
      }
      return { slot: await waitIn(share, gone), hasWaited: true };
    },
  };
}

function noSlot(): Refusal {
  const detail =
    'Cannot answer now: too many long queries and lists are under way; nothing happened';
  const resolution = { estimated_availability: RETRY_AFTER };
  return new Refusal(failure('service_unavailable', detail, resolution));
}
