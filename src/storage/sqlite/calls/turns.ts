/**
 * Gathers what was asked for in one turn of the event loop, so that it can be done together.
 *
 * @module
 */

import type { Platform } from '../../../platform.ts';

export interface Turns<Item> {
  add(item: Item): void;
  /** Takes a place in this turn for what may come before its end. */
  expect(): void;
  waiting(): number;
  /** Does at once what still waits. */
  finish(): void;
}

/** `run` gets at most `batchMax` items, or none, in the order of asking, and never throws. */
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
