/**
 * What one turn of the event loop holds, counted and not timed.
 *
 * @module
 */

import { setImmediate } from 'node:timers';
import { system } from '../../src/platform.ts';
import { createSlicer, type Slicer } from '../../src/service/pace/slices.ts';
import { atEnd } from './ends.ts';

export interface TurnCounter {
  add(count: number): void;
  /** The most that was counted in one turn. */
  most(): number;
  all(): number;
}

export function countTurns(): TurnCounter {
  let [current, most, all] = [0, 0, 0];
  let isOver = false;
  const next = () => {
    current = 0;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  atEnd(() => {
    isOver = true;
  });
  return {
    add(count) {
      current += count;
      all += count;
      most = Math.max(most, current);
    },
    most: () => most,
    all: () => all,
  };
}

/** Slices of five items or steps each, all of which are counted. Its clock moves with each look. */
export function countedSlicer(counter: TurnCounter): Slicer {
  let now = 0;
  const slicer = createSlicer({ ...system, monotonic: () => now++ }, 5);
  return (gone) => {
    const slices = slicer(gone);
    return {
      turn: slices.turn,
      each: (items, visit) =>
        slices.each(items, (item) => {
          counter.add(1);
          return visit(item);
        }),
      finish: (work) => slices.finish(counted(work, counter)),
    };
  };
}

function* counted<Result>(
  work: Generator<unknown, Result, undefined>,
  counter: TurnCounter,
): Generator<undefined, Result, undefined> {
  for (;;) {
    counter.add(1);
    const step = work.next();
    if (step.done) return step.value;
    yield;
  }
}
