/**
 * Progress of a command that takes more than a second: one line on the terminal that replaces itself.
 *
 * Where standard error is not a terminal, a line of its own after a minute, and then after twice the time each: a
 * log has a few lines however long the command takes.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import type { Io } from './io.ts';

/** In milliseconds: a faster command shows nothing. */
const QUIET_MS = 1_000;

/** In milliseconds between two lines. */
const INTERVAL_MS = 200;

/** In milliseconds before the first line where there is no terminal. */
const FIRST_LINE_MS = 60_000;

export interface Progress {
  /** Says what the command does now, such as `comparing the rows`. */
  say(text: string): void;
  /** Says how far it is, with an estimate of the time that is left. */
  reach(done: number, whole: number, what: string): void;
  /** Removes the line. */
  end(): void;
}

export function startProgress(io: Io, now: () => number = Date.now): Progress {
  const begun = now();
  const isTerminal = io.isTerminal?.err === true;
  let next = begun + (isTerminal ? QUIET_MS : FIRST_LINE_MS);
  let isShown = false;
  const show = (text: () => string) => {
    if (now() < next) return;
    next = isTerminal ? now() + INTERVAL_MS : begun + 2 * (now() - begun);
    isShown = isTerminal;
    io.err(isTerminal ? `\r\u001b[K${printable(text())}` : `${printable(text())}\n`);
  };
  return {
    say: (text) => show(() => text),
    reach: (done, whole, what) => show(() => reachText({ done, whole, what, ms: now() - begun })),
    end() {
      if (isShown) io.err('\r\u001b[K');
      isShown = false;
    },
  };
}

interface Reached {
  readonly done: number;
  readonly whole: number;
  readonly what: string;
  /** Since the begin. */
  readonly ms: number;
}

function reachText({ done, whole, what, ms }: Reached): string {
  const count = (each: number) => each.toLocaleString('en-US');
  const left = Math.ceil((ms * (whole - done)) / Math.max(done, 1) / 1_000);
  const estimate = left > 0 ? `, about ${count(left)} s left` : '';
  return `${count(done)} of ${count(Math.max(done, whole))} ${what}${estimate}`;
}
