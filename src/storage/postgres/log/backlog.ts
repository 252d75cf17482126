/**
 * Estimates how many entries wait for their place in the log, without a query.
 *
 * The number at the last look, plus what this process has added since. When there are too many, or they wait
 * too long, new work is refused: an audit log that falls behind must slow down the work, because it must not
 * lose entries.
 *
 * @module
 */

/** Entries: a few seconds of work for one sequencer after an interruption. */
const WAITING_MAX = 4_096;

/** A running sequencer looks several times a second. */
const AGE_MS_MAX = 2_000;

/** What a look at the queue left waiting. */
export interface Rest {
  readonly waiting: number;
  /** Of the oldest one. */
  readonly ageMs: number;
}

export interface Backlog {
  add(count: number): void;
  /** Begins a look at the queue; `done` reports what it left. The estimate does not change before that. */
  look(): { done(rest: Rest): void };
  state(): { waiting: number; overloaded: boolean };
}

/** `now` is a monotonic clock in milliseconds. */
export function createBacklog(now: () => number): Backlog {
  let seen = 0;
  let added = 0;
  /** When the oldest waiting entry was queued; undefined when none waits. */
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
          // The look includes what was added before it began.
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
