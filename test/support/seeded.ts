/**
 * A platform that one seed decides: its time passes only in steps, and its bytes repeat with the seed.
 *
 * Turns and ticks stay those of Node, since its streams and promises run on them too.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { type Platform, system } from '../../src/platform.ts';

export interface SeededPlatform extends Platform {
  /** Lets time pass, and runs each timer when it is due. */
  advance(ms: number): void;
}

interface Waiting {
  at: number;
  readonly everyMs: number | undefined;
  readonly run: () => void;
  unref(): void;
}

export function seededPlatform(seed: string, begin: number): SeededPlatform {
  const waiting = new Set<Waiting>();
  let now = begin;
  let drawn = 0;

  function wait(ms: number, everyMs: number | undefined, run: () => void): Waiting {
    const timer = { at: now + ms, everyMs, run, unref: () => undefined };
    waiting.add(timer);
    return timer;
  }

  function nextUntil(end: number): Waiting | undefined {
    const due = [...waiting].filter(({ at }) => at <= end);
    return due.toSorted((one, other) => one.at - other.at)[0];
  }

  return {
    now: () => now,
    monotonic: () => now - begin,
    after: (ms, run) => wait(ms, undefined, run),
    every: (ms, run) => wait(ms, ms, run),
    cancel: (timer) => void waiting.delete(timer as Waiting),
    turn: system.turn,
    tick: system.tick,
    random(size) {
      drawn += 1;
      const bytes = createHash('shake256', { outputLength: size });
      return new Uint8Array(bytes.update(`${seed} ${drawn}`).digest());
    },
    advance(ms) {
      const end = now + ms;
      for (let timer = nextUntil(end); timer; timer = nextUntil(end)) {
        now = timer.at;
        if (timer.everyMs === undefined) waiting.delete(timer);
        else timer.at += timer.everyMs;
        timer.run();
      }
      now = end;
    },
  };
}
