/**
 * Collects what was submitted in one turn of the event loop, so that it runs as one batch.
 *
 * @module
 */

import type { Platform } from '../../../platform.ts';

export interface Turns<Item> {
  add(item: Item): void;
  /** Schedules a batch in this turn, for items that may be added before its end. */
  expect(): void;
  waiting(): number;
  /** Runs everything that waits, at once. */
  finish(): void;
}

/** `run` receives at most `batchMax` items, or none, in the order of submission, and never throws. */
export function createTurns<Item>(
  { turn }: Pick<Platform, 'turn'>,
  batchMax: number,
  run: (batch: readonly Item[]) => void,
): Turns<Item> {
  const queue: Item[] = [];
  let isScheduled = false;

  function expect(): void {
    if (isScheduled) return;
    isScheduled = true;
    turn(() => {
      isScheduled = false;
      run(queue.splice(0, batchMax));
      if (queue.length > 0) expect();
    });
  }

  return {
    add(item) {
      queue.push(item);
      expect();
    },
    expect,
    waiting: () => queue.length,
    finish() {
      while (queue.length > 0) run(queue.splice(0, batchMax));
    },
  };
}
