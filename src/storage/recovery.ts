/**
 * Recovery: gives every admitted call an outcome, also when its process did not live to record one.
 *
 * A process says every few seconds that it lives; one that has been silent is taken for dead, and
 * its open calls are closed as indeterminate: the money stays charged until an operator reconciles
 * it. Knows nothing about what an entry or an answer says: the service makes them. That a call is
 * closed once, whoever tries, is the store's promise; a process that was only slow finds its own
 * settlement superseded.
 *
 * @module
 */

import type { EntryRecord } from '../domain/log/entry.ts';
import type { Platform } from '../platform.ts';
import type { IntentRecord } from './port/records.ts';
import type { Store } from './port/store.ts';

/** In milliseconds. Often enough that two lost ones do not make a living process look dead. */
export const HEARTBEAT_MS = 5_000;

/**
 * In milliseconds: four heartbeats. With one interval until the next pass, every call of a dead
 * process has its entry within half a minute, where a minute is promised.
 */
export const SILENT_MS = 20_000;

/** Calls in one round trip; a pass takes as many rounds as there are calls. */
export const RECOVERY_BATCH = 100;

/** What the service makes of a call whose outcome nobody knows. */
export type Close = (intent: IntentRecord) => Closed | Promise<Closed>;

interface Closed {
  readonly entry: EntryRecord;
  readonly answer: Uint8Array;
}

export interface RecoveryRequest {
  readonly silentSince: Date;
  readonly limit: number;
  readonly close: Close;
}

export interface Recovered {
  /** Closed here; calls that another process closed first are not among them. */
  readonly closed: readonly IntentRecord[];
  /** Still open. One call that cannot be closed must not keep the others from being closed. */
  readonly failed: readonly { intent: IntentRecord; error: unknown }[];
}

/** Closes abandoned calls, the oldest first. Rejects when the store cannot be asked for them. */
export async function recoverIntents(store: Store, request: RecoveryRequest): Promise<Recovered> {
  const intents = await store.abandonedIntents(request.silentSince, request.limit);
  const closed: IntentRecord[] = [];
  const failed: { intent: IntentRecord; error: unknown }[] = [];
  for (const intent of intents) {
    try {
      if (await closeIntent(store, intent, request.close)) closed.push(intent);
    } catch (error) {
      failed.push({ intent, error });
    }
  }
  return { closed, failed };
}

export interface RecoveryOptions {
  readonly platform: Platform;
  readonly store: Store;
  readonly instanceId: string;
  readonly close: Close;
  /** Told what each pass that found something did. */
  readonly onRecovered?: ((recovered: Recovered) => void) | undefined;
  /** Told of heartbeats and passes that failed; the next one comes all the same. */
  readonly onError: (error: unknown) => void;
  readonly intervalMs?: number | undefined;
  readonly silentMs?: number | undefined;
}

export interface Recovery {
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

/**
 * Says at once that this process lives, then again at every interval, each time with a pass over
 * what others left. Resolves after the first heartbeat, before which nothing may be admitted;
 * rejects, and leaves nothing running, when the store does not take it.
 */
export async function startRecovery(options: RecoveryOptions): Promise<Recovery> {
  const { store, platform, instanceId, onError } = options;
  const pass = oneAtATime(() => recoverAll(options), onError);
  // First the heartbeat: a process that was suspended must not find itself silent. The pass is not
  // awaited: a slow one must not keep the next heartbeat waiting.
  const beat = async () => {
    await store.heartbeat(instanceId, store.now());
    pass.start();
  };
  const beats = oneAtATime(beat, onError);

  await beat();
  const timer = platform.every(options.intervalMs ?? HEARTBEAT_MS, beats.start);
  timer.unref();

  return {
    async stop() {
      platform.cancel(timer);
      await beats.ended();
      await pass.ended();
    },
  };
}

async function closeIntent(store: Store, intent: IntentRecord, close: Close): Promise<boolean> {
  const { entry, answer } = await close(intent);
  const result = await store.settle({
    operation_id: intent.operation_id,
    outcome: 'indeterminate',
    bindings: [],
    answer,
    entry,
    now: store.now(),
  });
  return result === 'settled';
}

/** Rounds until one is not full, or closes nothing: then what is left cannot be closed now. */
async function recoverAll(options: RecoveryOptions): Promise<void> {
  const { store, close, onRecovered, silentMs = SILENT_MS } = options;
  for (;;) {
    const silentSince = new Date(store.now().getTime() - silentMs);
    const recovered = await recoverIntents(store, { silentSince, limit: RECOVERY_BATCH, close });
    const { closed, failed } = recovered;
    if (closed.length + failed.length > 0) onRecovered?.(recovered);
    if (closed.length + failed.length < RECOVERY_BATCH || closed.length === 0) return;
  }
}

/** Runs a task again and again, but never beside itself. */
function oneAtATime(
  task: () => Promise<void>,
  onError: (error: unknown) => void,
): { start(): void; ended(): Promise<void> } {
  let running: Promise<void> | undefined;
  return {
    start() {
      running ??= task()
        .catch(onError)
        .finally(() => {
          running = undefined;
        });
    },
    async ended() {
      await running;
    },
  };
}
