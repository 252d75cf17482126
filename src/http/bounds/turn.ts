/**
 * Lets answers that are ready in one turn of the event loop leave together, at its end.
 *
 * Each write may wake a client that waits, which costs more than the write: a client that gets several
 * answers at once is woken once. Nobody waits for a turn that is not under way.
 *
 * @module
 */

import { setImmediate } from 'node:timers';

let turn: Promise<void> | undefined;
let task: Promise<void> | undefined;

/** Takes the last place in the turn: after all input was read and what the store does in it is done. */
export function beginTurn(): void {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
}

/** The end of the turn that began, or of what is being done right now where none did. */
export function endOfTurn(): Promise<void> {
  return turn ?? endOfTask();
}

function endOfTask(): Promise<void> {
  // A tick comes when no promise has anything left to do.
  task ??= new Promise((resolve) => {
    process.nextTick(() => {
      task = undefined;
      resolve();
    });
  });
  return task;
}
