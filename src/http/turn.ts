/**
 * Lets answers that are ready at once leave together, when all input of this turn was read.
 *
 * Each write may wake a client that waits, which costs more than the write: a client that gets several
 * answers at once is woken once. Answers that waited for the store come together as it is.
 *
 * @module
 */

import { setImmediate } from 'node:timers';

let ending: Promise<void> | undefined;

export function endOfTurn(): Promise<void> {
  ending ??= new Promise((resolve) => {
    setImmediate(() => {
      ending = undefined;
      resolve();
    });
  });
  return ending;
}
