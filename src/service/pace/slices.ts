/**
 * Slices: long work gives the event loop back every few milliseconds.
 *
 * Of all work in slices one slice runs in one turn of the event loop, so that ten queries hold a turn
 * no longer than one, and the turns that follow are left to others. Work stops at the end of its slice when its caller has left.
 *
 * @module
 */

import { setImmediate } from 'node:timers';
import { failure, Refusal } from '../../domain/failure.ts';

/**
 * Turns of the event loop between two slices. An idle loop passes them in microseconds; a busy one does
 * other work in them, and accepts one new connection in each.
 */
const REST_TURNS = 4;

/** In milliseconds. A turn has one slice and one or two reads of the store, and stays below ten. */
const SLICE_MS = 3;

export interface Slices {
  /**
   * Resolves in a turn in which no other work has a slice. Rejects when the caller has left. Work
   * waits for a turn before each read of the store too: a read may hold the event loop itself.
   */
  turn(): Promise<void>;
  /** Calls `visit` with each item, in slices, until it returns false. */
  each<Item>(items: Iterable<Item>, visit: (item: Item) => boolean): Promise<void>;
  /** Does the steps, in slices. The first is done at once: most work has no other. */
  finish<Result>(steps: Generator<unknown, Result, undefined>): Promise<Result>;
}

/** The slices of one piece of work; `gone` ends when its caller leaves. */
export type Slicer = (gone?: AbortSignal) => Slices;

export interface SliceTiming {
  readonly sliceMs?: number;
  /** A clock in milliseconds that only moves forward. */
  readonly now?: () => number;
}

export function createSlicer(timing: SliceTiming = {}): Slicer {
  const { sliceMs = SLICE_MS, now = () => performance.now() } = timing;
  const queue: (() => void)[] = [];

  let isGoing = false;

  function startNext(): void {
    const next = queue.shift();
    isGoing = next !== undefined;
    if (!next) return;
    next();
    rest(REST_TURNS);
  }

  function rest(turns: number): void {
    // An immediate that is set by an immediate runs in the next turn.
    if (turns > 0) setImmediate(rest, turns - 1);
    else setImmediate(startNext);
  }

  return (gone) => {
    async function turn(): Promise<void> {
      if (gone?.aborted) throw callerLeft();
      await new Promise<void>((resolve) => {
        queue.push(resolve);
        if (!isGoing) setImmediate(startNext);
        isGoing = true;
      });
      if (gone?.aborted) throw callerLeft();
    }
    return {
      turn,
      async each(items, visit) {
        let end = Number.NEGATIVE_INFINITY;
        for (const item of items) {
          if (now() >= end) {
            await turn();
            end = now() + sliceMs;
          }
          if (!visit(item)) return;
        }
      },
      async finish(steps) {
        let end = Number.NEGATIVE_INFINITY;
        for (;;) {
          const step = steps.next();
          if (step.done) return step.value;
          if (now() >= end) {
            await turn();
            end = now() + sliceMs;
          }
        }
      },
    };
  };
}

/** What work ends with when its caller has left. There is nobody to send it to. */
export function callerLeft(): Refusal {
  const detail = 'Cannot finish the answer: the caller has left';
  return new Refusal(failure('service_unavailable', detail));
}
