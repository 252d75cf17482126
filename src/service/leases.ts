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

/** In milliseconds: how long others wait for a holder that fell silent. */
export const LEASE_MS = 15_000;

/** Two renewals may be lost before a living holder loses its turn. */
const RENEWALS_PER_LEASE = 3;

export function leaseUntil({ store, leaseMs }: Pick<Parts, 'store' | 'leaseMs'>): Date {
  return new Date(store.now().getTime() + leaseMs);
}

export interface Leases {
  /** Stops renewing: the settlement lets go of what is held. */
  stop(): void;
  /** Lets go in the store, also of the trail, for a call that was settled while it still ran. */
  release(): Promise<void>;
}

const NO_LEASES: Leases = { stop: () => undefined, release: async () => undefined };

/**
 * Renews until stopped. Nothing to renew where no token of the lineage is exclusive, and nothing to
 * let go of unless the call is composed.
 */
export function keepLeases(
  parts: Parts,
  { caller, capability }: CheckedCall,
  operationId: string,
): Leases {
  const isExclusive = caller.loaded.lineage.some(({ exclusive }) => exclusive);
  if (!isExclusive && capability.kind === 'atomic') return NO_LEASES;
  const { store, log, leaseMs } = parts;
  const renew = () => {
    store.renewLeases(operationId, leaseUntil(parts)).then(
      (held) => {
        if (held) return;
        clearInterval(timer);
        log.warn({ operation_id: operationId }, 'a lease was lost to another call');
      },
      (error) => log.warn({ err: error }, 'a lease could not be renewed'),
    );
  };
  const timer = isExclusive ? setInterval(renew, leaseMs / RENEWALS_PER_LEASE) : undefined;
  timer?.unref();
  return {
    stop: () => clearInterval(timer),
    async release() {
      clearInterval(timer);
      await store.releaseLeases(operationId).catch((error) => {
        log.warn({ err: error }, 'a lease could not be released; it runs out by itself');
      });
    },
  };
}
