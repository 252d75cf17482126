/**
 * How much waits for its place in the log, as well as one process can tell without asking.
 *
 * What was seen at the last look, and what this process has added since. When that is too much, or
 * waits too long, new work is refused: an audit log that falls behind must slow the work it tells of,
 * since it may not lose any of it.
 *
 * @module
 */

/** Entries. A few seconds of work for one sequencer that was away. */
const WAITING_MAX = 4_096;

/** A sequencer that works looks several times a second. */
const AGE_MS_MAX = 2_000;

/** What a look at the queue found still waiting. */
export interface Rest {
  readonly waiting: number;
  /** Of the oldest that waits. */
  readonly ageMs: number;
}

export interface Backlog {
  add(count: number): void;
  /** Begins a look at the queue; `done` says what it left. Until then it has told nothing. */
  look(): { done(rest: Rest): void };
  state(): { waiting: number; overloaded: boolean };
}

/** `now` is a steady clock in milliseconds. */
export function createBacklog(now: () => number): Backlog {
  let seen = 0;
  let added = 0;
  /** When the oldest that waits began to, if anything does. */
  let oldest: number | undefined;

  return {
    add(count) {
      added += count;
      oldest ??= now();
    },

    look() {
      const begun = now();
      const before = added;
      return {
        done(rest) {
          // What was added before the look began is part of what it saw.
          added = Math.max(0, added - before);
          seen = rest.waiting;
          if (seen > 0) oldest = begun - rest.ageMs;
          else oldest = added > 0 ? begun : undefined;
        },
      };
    },

    state() {
      const waiting = seen + added;
      const age = oldest === undefined ? 0 : now() - oldest;
      return { waiting, overloaded: waiting > WAITING_MAX || age > AGE_MS_MAX };
    },
  };
}
