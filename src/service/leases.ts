/**
 * Leases: a call under an exclusive token keeps its turn for as long as it runs.
 *
 * A lease is short and renewed, so that a process that died or was paused gives way soon. Whoever lost
 * one is refused when it settles: the store compares, not this process.
 *
 * @module
 */

import type { CheckedCall } from './call.ts';
import type { Parts } from './parts.ts';

/** How long others wait for a holder that fell silent. */
const LEASE_MS = 15_000;

/** Two renewals may be lost before a living holder loses its turn. */
const RENEW_MS = LEASE_MS / 3;

export function leaseUntil(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS);
}

/** Renews until stopped. Nothing to do where no token of the lineage is exclusive. */
export function keepLeases(
  { store, log }: Parts,
  { caller }: CheckedCall,
  operationId: string,
): { stop(): void } {
  if (!caller.loaded.lineage.some(({ exclusive }) => exclusive)) return { stop: () => undefined };
  const timer = setInterval(() => {
    store.renewLeases(operationId, leaseUntil(store.now())).then(
      (held) => {
        if (held) return;
        clearInterval(timer);
        log.warn({ operation_id: operationId }, 'a lease was lost to another call');
      },
      (error) => log.warn({ err: error }, 'a lease could not be renewed'),
    );
  }, RENEW_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
