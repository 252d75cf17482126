/**
 * The sealer: seals when the service starts, on its cadence while the log grows, and when asked.
 *
 * Of several replicas one keeps the cadence; which one is decided in the store. What keeps a tree from
 * being signed never stops reads or invocations: it is told in the log, in the metrics, and to the
 * operator who asks for a checkpoint.
 *
 * @module
 */

import type { CheckpointRecord } from '../domain/checkpoint.ts';
import { parseDuration } from '../domain/duration.ts';
import { followMark, SealingRefused, type SealParts, sealNext } from './seal.ts';

/** In milliseconds. A signature and two flushes each time: more often is no better word. */
const CADENCE_MIN_MS = 100;

/** In milliseconds: what a timer can count. */
const CADENCE_MAX_MS = 2 ** 31 - 1;

/** In milliseconds. A leader that misses two turns has lost its place, but not for a busy moment. */
const LEAD_MIN_MS = 5_000;

export interface SealerOptions extends SealParts {
  /** ISO 8601. */
  readonly cadence: string;
  readonly instanceId: string;
  /** Told of every checkpoint that was sealed here. */
  readonly onSealed?: ((checkpoint: CheckpointRecord) => void) | undefined;
}

export interface SealingState {
  /** The last checkpoint that this process knows of. */
  readonly checkpoint?: CheckpointRecord | undefined;
  /** Why the tree is not signed any more. */
  readonly refused?: string | undefined;
}

export interface Sealer {
  /** Seals what the log has now. Rejects as `sealNext` does. */
  seal(): Promise<CheckpointRecord>;
  state(): SealingState;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

/** Resolves after the first attempt. One that fails is told and tried again on the cadence. */
export async function startSealer(options: SealerOptions): Promise<Sealer> {
  const { store, log, instanceId } = options;
  const cadenceMs = cadenceOf(options.cadence);
  const leadMs = Math.max(3 * cadenceMs, LEAD_MIN_MS);
  let state: SealingState = {};
  let told: string | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  let isDue = false;

  /** One after the other: whoever asks is answered by an attempt that began after that. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };
  const attempt = async () => {
    const { checkpoint, isNew } = await sealNext(options);
    state = { checkpoint };
    told = undefined;
    const { sequence, size } = checkpoint;
    if (isNew) {
      log.debug({ sequence, entries: size }, 'sealed a checkpoint');
      options.onSealed?.(checkpoint);
    }
    return checkpoint;
  };
  const tell = (error: Error) => {
    if (error instanceof SealingRefused) state = { ...state, refused: error.message };
    // It lasts until somebody mends it; saying it on every turn would bury the rest. Sizes grow meanwhile.
    const kind = error.message.replaceAll(/\d+/g, '');
    if (told !== kind) log.error({ err: error }, 'could not seal the log');
    told = kind;
  };
  const seal = () =>
    inTurn(attempt).catch((error) => {
      tell(error);
      throw error;
    });
  const turn = async () => {
    const now = store.now();
    const leads = await store.lead('seal', instanceId, now, new Date(now.getTime() + leadMs));
    await (leads ? attempt() : followMark(options));
  };
  const timer = setInterval(() => {
    // What takes longer than the cadence must not pile up.
    if (isDue) return;
    isDue = true;
    inTurn(turn)
      .catch(tell)
      .finally(() => {
        isDue = false;
      });
  }, cadenceMs);
  timer.unref();

  await seal().catch(() => undefined);
  return {
    seal,
    state: () => state,
    async stop() {
      clearInterval(timer);
      await queue;
    },
  };
}

function cadenceOf(text: string): number {
  const milliseconds = parseDuration(text) ?? CADENCE_MAX_MS;
  return Math.min(Math.max(milliseconds, CADENCE_MIN_MS), CADENCE_MAX_MS);
}
