/**
 * The sealer: seals at the start of the service, at its cadence while the log grows, and on
 * request.
 *
 * One of several replicas seals at the cadence (`lead.ts`). Every replica compares the
 * log with what was signed: before anything is written at the start, before anything is written to
 * another copy of the database, on every turn, and when readiness is asked for. A log that does not
 * extend what was signed is withheld (`withheld.ts`) until it does. If the store or the mark becomes
 * unreachable after the comparison, the tree is not signed, and the log is not withheld.
 *
 * @module
 */

import type { CheckpointRecord } from '../../domain/log/checkpoint.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Platform } from '../../platform.ts';
import { MarkDamaged } from '../../storage/port/mark.ts';
import { StoreUnavailable } from '../../storage/port/store.ts';
import { startRepeating } from '../pace/repeated.ts';
import { compareLog, SealingRefused, seenElsewhere } from './compare-log.ts';
import { createLead } from './lead.ts';
import { followMark, type SealOptions, sealNext } from './seal.ts';

/**
 * In milliseconds. Each seal costs a signature and two flushes, and a shorter cadence gains
 * nothing.
 */
const CADENCE_MIN_MS = 100;

/** In milliseconds: the longest delay of a timer. */
const CADENCE_MAX_MS = 2 ** 31 - 1;

/** Turns in a cadence: each extends the lead or tries to take it. */
const TURNS = 3;

/** Turns that a lead lasts. The next turn of another process takes it over: within a cadence after a kill. */
const LEAD_TURNS = TURNS - 1;

/** In milliseconds. Anyone may ask for readiness at any rate, so its comparisons are spaced. */
const LOOK_MS = 1_000;

/** In milliseconds. How long a log stays withheld at most after it became comparable again. */
const RETRY_MS = 5_000;

export interface SealerOptions extends SealOptions {
  /** ISO 8601. */
  readonly cadence: string;
  readonly instanceId: string;
  /** Called after each comparison, before anything is appended: a new log may have begun. */
  readonly onCompared?: (() => Promise<void>) | undefined;
  /** Called for every checkpoint that this process sealed. */
  readonly onSealed?: ((checkpoint: CheckpointRecord) => void) | undefined;
}

export interface SealingState {
  /** The last checkpoint that this process knows of. */
  readonly checkpoint?: CheckpointRecord | undefined;
  /** Why the tree is not signed and nothing is appended to the log. */
  readonly refused?: string | undefined;
}

export interface Sealer {
  /** Seals the current log. Rejects as `sealNext` does. */
  seal(): Promise<CheckpointRecord>;
  state(): SealingState;
  /** Compares the log with what was signed, unless that was done a moment ago. Never rejects. */
  look(): Promise<void>;
  /** Resolves when the current work has ended. */
  stop(): Promise<void>;
}

/** Resolves after the first attempt. A failed one is logged and repeated at the cadence. */
export async function startSealer(options: SealerOptions): Promise<Sealer> {
  const { store, platform, log } = options;
  const turnMs = Math.floor(cadenceOf(options.cadence) / TURNS);
  const lead = createLead({ ...options, job: 'seal', lengthMs: LEAD_TURNS * turnMs });
  const standing = createStanding(log);
  let queue: Promise<unknown> = Promise.resolve();

  /** Runs one work at a time. A request is answered by work that began after it. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };
  /** A refusal ends only when the mark and the witness agree too. */
  const compare = async () => {
    const compared = await compareLog(options);
    if (compared && standing.isRefused()) await seenElsewhere(options, compared);
    await options.onCompared?.();
  };
  const attempt = async () => {
    if (standing.isRefused()) await compare();
    const { checkpoint, isNew } = await sealNext(options);
    await options.onCompared?.();
    standing.sealed(checkpoint);
    const { sequence, size } = checkpoint;
    if (isNew) {
      log.debug({ sequence, entries: size }, 'sealed a checkpoint');
      options.onSealed?.(checkpoint);
    }
    return checkpoint;
  };
  const seal = () =>
    inTurn(attempt).catch((error) => {
      standing.failed(error);
      throw error;
    });
  const look = rarely(platform, LOOK_MS, () =>
    inTurn<unknown>(standing.isRefused() ? attempt : compare).catch(standing.failed),
  );
  let hasLed = false;
  let turnsLeft = TURNS;
  const turn = async () => {
    turnsLeft -= 1;
    const leads = await lead.take();
    const hasChanged = leads !== hasLed;
    hasLed = leads;
    if (!hasChanged && turnsLeft > 0) return;
    turnsLeft = TURNS;
    if (leads || standing.isRefused()) await attempt();
    else {
      await followMark(options);
      await options.onCompared?.();
    }
  };
  const failed = (error: unknown) => standing.failed(error as Error);
  const turns = startRepeating(platform, () => inTurn(turn), turnMs, failed);
  const retries = startRepeating(
    platform,
    async () => {
      if (standing.isRefused()) await look();
    },
    RETRY_MS,
    failed,
  );

  const compareCopy = () => inTurn(() => compareWhole(options));
  const forgetCopies = store.onOtherCopy?.(() => standing.compareAnew(compareCopy));
  await seal().catch(() => undefined);
  return {
    seal,
    state: standing.state,
    look,
    async stop() {
      forgetCopies?.();
      await Promise.all([turns.stop(), retries.stop()]);
      await queue;
      await lead.release();
    },
  };
}

/** Whether the log may grow, and what was sealed last. */
interface Standing {
  state(): SealingState;
  isRefused(): boolean;
  sealed(checkpoint: CheckpointRecord): void;
  failed(error: Error): void;
  /** The log is withheld until this comparison with another copy of the database has succeeded. */
  compareAnew(compare: () => Promise<void>): Promise<void>;
}

function createStanding(log: SealerOptions['log']): Standing {
  let state: SealingState = { refused: UNCOMPARED };
  let loggedKind: string | undefined;
  /** Copies of the database that were not compared yet. */
  let uncompared = 0;

  function failed(error: Error): void {
    const isRefused = error instanceof SealingRefused || error instanceof MarkDamaged;
    if (isRefused) state = { ...state, refused: error.message };
    // A log that was never compared stays withheld, because it may be the wrong one.
    else if (!state.checkpoint) state = { refused: `${UNCOMPARED}: ${error.message}` };
    // The state lasts until it is repaired, so it is logged once. Numbers are ignored, because
    // sizes grow.
    const kind = error.message.replaceAll(/\d+/g, '');
    if (loggedKind !== kind) log.error({ err: error }, 'could not seal the log');
    loggedKind = kind;
  }

  return {
    state: () => state,
    isRefused: () => state.refused !== undefined,
    sealed(checkpoint) {
      loggedKind = undefined;
      // What was sealed on the copy before says nothing about this one.
      if (uncompared === 0) state = { checkpoint };
    },
    failed,
    async compareAnew(compare) {
      const { checkpoint } = state;
      uncompared += 1;
      state = { refused: OTHER_COPY };
      log.warn({}, 'the address of the store leads to another copy of the database');
      try {
        await compare();
        // Before the first seal of this process the log stays withheld, as at every start.
        if (checkpoint && uncompared === 1) state = { checkpoint };
      } catch (error) {
        failed(error as Error);
      }
      uncompared -= 1;
    },
  };
}

/** As at a start. Rejects also when other processes changed the log meanwhile. */
async function compareWhole(options: SealerOptions): Promise<void> {
  const compared = await compareLog(options);
  if (!compared) throw new StoreUnavailable('Cannot compare the log: it was changed meanwhile');
  await seenElsewhere(options, compared);
  await options.onCompared?.();
}

/** Calls within `everyMs` of the last end share its result. */
function rarely(
  { monotonic }: Platform,
  everyMs: number,
  work: () => Promise<unknown>,
): () => Promise<void> {
  let endedAt = Number.NEGATIVE_INFINITY;
  let running: Promise<unknown> | undefined;
  return async () => {
    if (monotonic() - endedAt >= everyMs) {
      running ??= work().finally(() => {
        endedAt = monotonic();
        running = undefined;
      });
    }
    await running;
  };
}

const UNCOMPARED = 'the log was not compared with what was signed';
const OTHER_COPY = `the address of the store leads to another copy of the database: ${UNCOMPARED}`;

function cadenceOf(text: string): number {
  const milliseconds = parseDuration(text) ?? CADENCE_MAX_MS;
  return Math.min(Math.max(milliseconds, CADENCE_MIN_MS), CADENCE_MAX_MS);
}
