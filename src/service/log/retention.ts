/**
 * Retention: erases what entries say once it has been kept long enough.
 *
 * Off unless configured, but for answers to idempotency keys, which are kept only as long as was
 * promised. Of several replicas one does it. Entries keep their place and their hash, so
 * every proof and every checkpoint stays what it was; who needs the contents for longer exports them.
 *
 * @module
 */

import { parseDuration } from '../../domain/values/duration.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import { EventClass } from '../../protocol/audit.ts';
import type { Erasure, Store } from '../../storage/port/store.ts';
import { type Repeated, repeated } from '../pace/repeated.ts';

/** In milliseconds. Nobody can ask that something be erased to the minute. */
const RETENTION_INTERVAL_MS = 60_000;

/**
 * Entries in one transaction: it must not hold up the calls that write beside it. An embedded store
 * takes some 80 microseconds for each.
 */
const ERASE_BATCH = 100;

/** Transactions in one turn; what is left waits for the next. */
const ERASE_BATCHES_MAX = 1_000;

/** ISO 8601 durations, by what they are for. */
export type RetentionPolicy = Readonly<Partial<Record<EventClass | 'personal', string>>>;

export interface RetentionOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly policy: RetentionPolicy;
  readonly instanceId: string;
  readonly log: Logger;
  readonly intervalMs?: number | undefined;
}

export function startRetention(options: RetentionOptions): Pick<Repeated, 'stop'> {
  const { store, platform, instanceId, log, intervalMs = RETENTION_INTERVAL_MS } = options;
  const turn = async () => {
    const now = store.now();
    const until = new Date(now.getTime() + 3 * intervalMs);
    if (!(await store.lead('retention', instanceId, now, until))) return;
    await forgetKeys(store, now);
    const reached = await eraseDue(store, options.policy, now);
    if (reached > 0) log.info({ entries: reached }, 'retention skipped entries');
  };
  const onError = (error: unknown) => log.error({ err: error }, 'retention failed');
  return repeated(platform, turn, intervalMs, onError);
}

/** Answers are kept for callers that try again. Nobody needs them after that, whatever the policy. */
async function forgetKeys(store: Pick<Store, 'forgetKeys'>, now: Date): Promise<void> {
  for (let batch = 0; batch < ERASE_BATCHES_MAX; batch++) {
    if ((await store.forgetKeys(now, ERASE_BATCH)) < ERASE_BATCH) return;
  }
}

/** Erases what is due at `now`. Returns how many entries were passed over. */
export async function eraseDue(
  store: Pick<Store, 'erase'>,
  policy: RetentionPolicy,
  now: Date,
): Promise<number> {
  let reached = 0;
  for (const erasure of erasuresOf(policy, now)) {
    for (let batch = 0; batch < ERASE_BATCHES_MAX; batch++) {
      const passed = await store.erase(erasure);
      reached += passed;
      if (passed < ERASE_BATCH) break;
    }
  }
  return reached;
}

function erasuresOf(policy: RetentionPolicy, now: Date): Erasure[] {
  const kept = (duration: string) => ({
    until: new Date(now.getTime() - (parseDuration(duration) ?? Number.POSITIVE_INFINITY)),
    limit: ERASE_BATCH,
  });
  const classes = EventClass.options.flatMap((eventClass): Erasure[] => {
    const duration = policy[eventClass];
    return duration ? [{ what: 'contents', eventClass, ...kept(duration) }] : [];
  });
  return [
    ...classes,
    ...(policy.personal ? [{ what: 'personal', ...kept(policy.personal) } as const] : []),
    { what: 'stated', until: now, limit: ERASE_BATCH },
  ];
}
