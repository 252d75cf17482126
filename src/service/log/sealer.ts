/**
 * The sealer: seals when the service starts, on its cadence while the log grows, and when asked.
 *
 * Of several replicas one keeps the cadence; which one is decided in the store. Every one compares the
 * log with what was signed: at the start before anything is written, on every turn, and when readiness is
 * asked for. A log that does not extend it is withheld (`withheld.ts`) until it does again. A store or a
 * mark that is out of reach later only keeps the tree from being signed.
 *
 * @module
 */

import type { CheckpointRecord } from '../../domain/log/checkpoint.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Platform } from '../../platform.ts';
import { MarkDamaged } from '../../storage/port/mark.ts';
import { repeated } from '../pace/repeated.ts';
import { compareLog, SealingRefused, seenElsewhere } from './compare-log.ts';
import { followMark, type SealOptions, sealNext } from './seal.ts';

/** In milliseconds. A signature and two flushes each time: more often is no better word. */
const CADENCE_MIN_MS = 100;

/** In milliseconds: what a timer can count. */
const CADENCE_MAX_MS = 2 ** 31 - 1;

/** In milliseconds. A leader that misses two turns has lost its place, but not for a busy moment. */
const LEAD_MIN_MS = 5_000;

/** In milliseconds. Anybody may ask whether the service is ready, as often as they like. */
const LOOK_MS = 1_000;

/** In milliseconds. How long a withheld log waits at most once it can be compared again. */
const RETRY_MS = 5_000;

export interface SealerOptions extends SealOptions {
  /** ISO 8601. */
  readonly cadence: string;
  readonly instanceId: string;
  /** Called before anything is appended to a log that was compared: it may be another one by now. */
  readonly onCompared?: (() => Promise<void>) | undefined;
  /** Told of every checkpoint that was sealed here. */
  readonly onSealed?: ((checkpoint: CheckpointRecord) => void) | undefined;
}

export interface SealingState {
  /** The last checkpoint that this process knows of. */
  readonly checkpoint?: CheckpointRecord | undefined;
  /** Why the tree is not signed, and nothing is appended to the log. */
  readonly refused?: string | undefined;
}

export interface Sealer {
  /** Seals what the log has now. Rejects as `sealNext` does. */
  seal(): Promise<CheckpointRecord>;
  state(): SealingState;
  /** Compares the log with what was signed, unless that was done a moment ago. Never rejects. */
  look(): Promise<void>;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

/** Resolves after the first attempt. One that fails is told and tried again on the cadence. */
export async function startSealer(options: SealerOptions): Promise<Sealer> {
  const { store, platform, log, instanceId } = options;
  const cadenceMs = cadenceOf(options.cadence);
  const leadMs = Math.max(3 * cadenceMs, LEAD_MIN_MS);
  let state: SealingState = { refused: UNCOMPARED };
  let loggedKind: string | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  /** One after the other: whoever asks is answered by an attempt that began after that. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };
  /** Out of a refusal leads only what every witness of the past agrees with. */
  const compare = async () => {
    const compared = await compareLog(options);
    if (compared && state.refused !== undefined) await seenElsewhere(options, compared);
    await options.onCompared?.();
  };
  const attempt = async () => {
    if (state.refused !== undefined) await compare();
    const { checkpoint, isNew } = await sealNext(options);
    await options.onCompared?.();
    state = { checkpoint };
    loggedKind = undefined;
    const { sequence, size } = checkpoint;
    if (isNew) {
      log.debug({ sequence, entries: size }, 'sealed a checkpoint');
      options.onSealed?.(checkpoint);
    }
    return checkpoint;
  };
  const tell = (error: Error) => {
    const isRefused = error instanceof SealingRefused || error instanceof MarkDamaged;
    if (isRefused) state = { ...state, refused: error.message };
    // A log that was never compared stays withheld: nobody knows yet whether it is the one.
    else if (!state.checkpoint) state = { refused: `${UNCOMPARED}: ${error.message}` };
    // It lasts until somebody mends it; saying it on every turn would bury the rest. Sizes grow meanwhile.
    const kind = error.message.replaceAll(/\d+/g, '');
    if (loggedKind !== kind) log.error({ err: error }, 'could not seal the log');
    loggedKind = kind;
  };
  const seal = () =>
    inTurn(attempt).catch((error) => {
      tell(error);
      throw error;
    });
  const look = rarely(platform, LOOK_MS, () =>
    inTurn<unknown>(state.refused === undefined ? compare : attempt).catch(tell),
  );
  const turn = async () => {
    const now = store.now();
    const leads = await store.lead('seal', instanceId, now, new Date(now.getTime() + leadMs));
    if (leads || state.refused !== undefined) await attempt();
    else {
      await followMark(options);
      await options.onCompared?.();
    }
  };
  const failed = (error: unknown) => tell(error as Error);
  const turns = repeated(platform, () => inTurn(turn), cadenceMs, failed);
  const retries = repeated(
    platform,
    async () => {
      if (state.refused !== undefined) await look();
    },
    RETRY_MS,
    failed,
  );

  await seal().catch(() => undefined);
  return {
    seal,
    state: () => state,
    look,
    async stop() {
      await Promise.all([turns.stop(), retries.stop()]);
      await queue;
    },
  };
}

/** Those who ask within that time of the last end share what it found. */
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

function cadenceOf(text: string): number {
  const milliseconds = parseDuration(text) ?? CADENCE_MAX_MS;
  return Math.min(Math.max(milliseconds, CADENCE_MIN_MS), CADENCE_MAX_MS);
}
