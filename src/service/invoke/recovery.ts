/**
 * Recovery: gives every admitted call an outcome, also when its process died before recording one.
 *
 * A process records a heartbeat every few seconds. A process without recent heartbeats counts as dead, and
 * recovery closes its open calls as indeterminate: the money stays charged until an operator reconciles the
 * call. The service makes the entry and the answer. The store guarantees that a call is closed once; a
 * process that was only slow gets `superseded` for its own settlement.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { Platform } from '../../platform.ts';
import { HEARTBEAT_MS, SILENT_MS } from '../../storage/port/invocation-store.ts';
import type { IntentRecord } from '../../storage/port/records.ts';
import type { Store } from '../../storage/port/store.ts';

/** Calls in one round trip; a pass takes as many rounds as there are calls. */
export const RECOVERY_BATCH = 100;

/** Makes the entry and the answer of a call whose outcome is unknown. */
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
  /** Closed by this process; without calls that another process closed first. */
  readonly closed: readonly IntentRecord[];
  /** Still open. A call that cannot be closed does not stop the others. */
  readonly failed: readonly { intent: IntentRecord; error: unknown }[];
}

/** Closes abandoned calls, the oldest first. Rejects when the store cannot list them. */
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
  /** Called after each pass that found something. */
  readonly onRecovered?: ((recovered: Recovered) => void) | undefined;
  /** Called with the error of a failed heartbeat or pass; the next one runs as usual. */
  readonly onError: (error: unknown) => void;
  readonly intervalMs?: number | undefined;
  readonly silentMs?: number | undefined;
}

export interface Recovery {
  /** Resolves when no heartbeat and no pass is running. */
  stop(): Promise<void>;
}

/**
 * Sends a heartbeat at once and at every interval, each followed by a pass over abandoned calls. Resolves
 * after the first heartbeat; admit nothing before it. Rejects, and leaves nothing running, when the store
 * refuses the first heartbeat.
 */
export async function startRecovery(options: RecoveryOptions): Promise<Recovery> {
  const { store, platform, instanceId, onError } = options;
  const pass = oneAtATime(() => recoverAll(options), onError);
  // The heartbeat comes first, so that a process that was suspended does not recover its own calls. The pass
  // is not awaited, so that a slow pass does not delay the next heartbeat.
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

/** Repeats until a round is not full or closes nothing: the rest cannot be closed now. */
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

/** Runs a task repeatedly, one run at a time. */
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
