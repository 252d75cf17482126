/**
 * Lets answers that are ready in one turn of the event loop leave together, at its end.
 *
 * Each write may wake a client that waits, which costs more than the write: a client that gets several
 * answers at once is woken once. Nobody waits for a turn that is not under way.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';

export interface Turns {
  /** Takes the last place in the turn: after all input was read and what the store does in it is done. */
  begin(): void;
  /** The end of the turn that began, or of what is being done right now where none did. */
  end(): Promise<void>;
}

export function createTurns({ turn: inNextTurn, tick }: Pick<Platform, 'turn' | 'tick'>): Turns {
  let turn: Promise<void> | undefined;
  let task: Promise<void> | undefined;

  function endOfTask(): Promise<void> {
    task ??= new Promise((resolve) => {
      tick(() => {
        task = undefined;
        resolve();
      });
    });
    return task;
  }

  return {
    begin() {
      turn ??= new Promise((resolve) => {
        inNextTurn(() => {
          turn = undefined;
          resolve();
        });
      });
    },
    end: () => turn ?? endOfTask(),
  };
}
