/**
 * Sends the answers that are ready in one turn of the event loop together, at its end.
 *
 * Each write may wake a waiting client, which costs more than the write: a client that gets several answers
 * at once is woken once. Outside a turn nothing waits.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';

export interface Turns {
  /** Takes the last place in the turn: after all input was read and the store has done its work. */
  begin(): void;
  /** The end of the current turn; without one, the end of the current callback. */
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
