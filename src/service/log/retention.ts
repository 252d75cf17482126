/**
 * Retention: erases the contents of entries after their retention time.
 *
 * Nothing is erased unless the configuration or a capability sets a retention time, except answers
 * to idempotency keys, which are stored only for the promised time. One of several replicas does
 * the work. Entries keep their place and hash, so all proofs and checkpoints stay valid. An
 * operator who needs contents for longer exports them.
 *
 * @module
 */

import { parseDuration } from '../../domain/values/duration.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import { EventClass } from '../../protocol/audit.ts';
import type { Erasure, Store } from '../../storage/port/store.ts';
import { type Repeated, startRepeating } from '../pace/repeated.ts';
import { createLead } from './lead.ts';

/** In milliseconds. Contents are erased up to a minute late. */
const RETENTION_INTERVAL_MS = 60_000;

/**
 * Entries in one transaction, so that it does not delay calls that write at the same time. Most of
 * the cost is that of the index blocks over the entries, which a transaction rewrites once: an
 * embedded store takes about 40 milliseconds, and hardly less for a hundred entries.
 */
const ERASE_BATCH = 500;

/** Keys in one transaction, for the same reason. */
const KEYS_BATCH = 100;

/** Transactions in one run. The rest waits for the next run. */
const ERASE_BATCHES_MAX = 1_000;

/** ISO 8601 durations by event class, and for personal data. */
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
  const { store, platform, log, intervalMs = RETENTION_INTERVAL_MS } = options;
  const lead = createLead({ ...options, job: 'retention', lengthMs: 3 * intervalMs });
  const turn = async () => {
    if (!(await lead.take())) return;
    const now = store.now();
    await forgetKeys(store, now);
    const reached = await eraseDue(store, options.policy, now);
    if (reached > 0) log.info({ entries: reached }, 'retention skipped entries');
  };
  const onError = (error: unknown) => log.error({ err: error }, 'retention failed');
  const turns = startRepeating(platform, turn, intervalMs, onError);
  return { stop: () => turns.stop().then(lead.release) };
}

/** Deletes answers that callers can no longer ask for. Independent of the policy. */
async function forgetKeys(store: Pick<Store, 'forgetKeys'>, now: Date): Promise<void> {
  for (let batch = 0; batch < ERASE_BATCHES_MAX; batch++) {
    if ((await store.forgetKeys(now, KEYS_BATCH)) < KEYS_BATCH) return;
  }
}

/** Erases contents that are due at `now`. Returns the number of entries processed. */
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
  const olderThan = (duration: string) => ({
    until: new Date(now.getTime() - (parseDuration(duration) ?? Number.POSITIVE_INFINITY)),
    limit: ERASE_BATCH,
  });
  const classes = EventClass.options.flatMap((eventClass): Erasure[] => {
    const duration = policy[eventClass];
    return duration ? [{ what: 'contents', eventClass, ...olderThan(duration) }] : [];
  });
  return [
    ...classes,
    ...(policy.personal ? [{ what: 'personal', ...olderThan(policy.personal) } as const] : []),
    { what: 'stated', until: now, limit: ERASE_BATCH },
  ];
}
