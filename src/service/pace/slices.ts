/**
 * Slices: long work gives the event loop back every few milliseconds.
 *
 * All work in slices shares one queue, and one slice runs in a turn of the event loop. So ten
 * queries hold a turn no longer than one does. The turns between two slices are left to other work.
 * Work whose caller has left stops at the end of its slice.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Platform } from '../../platform.ts';

/**
 * Turns of the event loop between two slices. An idle loop passes them in microseconds. A busy loop
 * does other work in them, and accepts one new connection in each.
 */
const REST_TURNS = 4;

/**
 * In milliseconds. A turn holds one slice and one or two reads of the store, below 10 ms in all.
 */
const SLICE_MS = 3;

export interface Slices {
  /**
   * Resolves in a turn in which no other work has a slice. Rejects when the caller has left. Work
   * also waits for a turn before each read of the store, because an embedded store reads on the
   * event loop.
   */
  turn(): Promise<void>;
  /** Calls `visit` with each item, in slices, until it returns false. */
  each<Item>(items: Iterable<Item>, visit: (item: Item) => boolean): Promise<void>;
  /** Runs the steps in slices. The first step runs at once: most work has only one. */
  finish<Result>(steps: Generator<unknown, Result, undefined>): Promise<Result>;
}

/** The slices of one piece of work. `gone` aborts when its caller leaves. */
export type Slicer = (gone?: AbortSignal) => Slices;

export function createSlicer(
  { monotonic, turn: inNextTurn }: Pick<Platform, 'monotonic' | 'turn'>,
  sliceMs: number = SLICE_MS,
): Slicer {
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
    inNextTurn(turns > 0 ? () => rest(turns - 1) : startNext);
  }

  return (gone) => {
    async function turn(): Promise<void> {
      if (gone?.aborted) throw callerLeft();
      await new Promise<void>((resolve) => {
        queue.push(resolve);
        if (!isGoing) inNextTurn(startNext);
        isGoing = true;
      });
      if (gone?.aborted) throw callerLeft();
    }
    return {
      turn,
      async each(items, visit) {
        let end = Number.NEGATIVE_INFINITY;
        for (const item of items) {
          if (monotonic() >= end) {
            await turn();
            end = monotonic() + sliceMs;
          }
          if (!visit(item)) return;
        }
      },
      async finish(steps) {
        let end = Number.NEGATIVE_INFINITY;
        for (;;) {
          const step = steps.next();
          if (step.done) return step.value;
          if (monotonic() >= end) {
            await turn();
            end = monotonic() + sliceMs;
          }
        }
      },
    };
  };
}

/** Work whose caller has left rejects with this. No client receives it. */
export function callerLeft(): Refusal {
  const detail = 'Cannot finish the answer: the caller has left';
  return new Refusal(failure('service_unavailable', detail));
}
