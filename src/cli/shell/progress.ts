/**
 * Progress of a command that takes more than a second: one line on the terminal that replaces itself.
 *
 * Nothing is printed where standard error is not a terminal.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import type { Io } from './io.ts';

/** In milliseconds: a faster command shows nothing. */
const QUIET_MS = 1_000;

/** In milliseconds between two lines. */
const INTERVAL_MS = 200;

export interface Progress {
  /** Says what the command does now, such as `12,000 of 40,000 entries`. */
  say(text: string): void;
  /** Removes the line. */
  end(): void;
}

export function startProgress(io: Io, now: () => number = Date.now): Progress {
  if (!io.isTerminal?.err) return { say: () => undefined, end: () => undefined };
  let next = now() + QUIET_MS;
  let isShown = false;
  return {
    say(text) {
      if (now() < next) return;
      next = now() + INTERVAL_MS;
      isShown = true;
      io.err(`\r\u001b[K${printable(text)}`);
    },
    end() {
      if (isShown) io.err('\r\u001b[K');
      isShown = false;
    },
  };
}
