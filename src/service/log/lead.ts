/**
 * The lead of a periodic job: one of several replicas does it, and the store decides which.
 *
 * A lead saves work and protects nothing. Two processes may both believe for a moment that they have it, so
 * the job itself must stand being done twice: sealing is decided by the mark and the next free place in the
 * list of checkpoints.
 *
 * @module
 */

import type { Store } from '../../storage/port/store.ts';

export interface Lead {
  /** Takes the lead if it is free, or extends it. True if this process has it. */
  take(): Promise<boolean>;
  /** Frees the lead for the next process. A lead that the store does not release ends by itself. */
  release(): Promise<void>;
}

export interface LeadOptions {
  readonly store: Pick<Store, 'lead' | 'now'>;
  readonly instanceId: string;
  readonly job: string;
  /** Until when a process that died keeps others from the job. */
  readonly lengthMs: number;
}

export function createLead({ store, instanceId, job, lengthMs }: LeadOptions): Lead {
  let isHeld = false;
  return {
    async take() {
      const now = store.now();
      const until = new Date(now.getTime() + lengthMs);
      isHeld = await store.lead(job, instanceId, now, until);
      return isHeld;
    },
    async release() {
      if (isHeld) await store.lead(job, instanceId, store.now(), LONG_AGO).catch(() => undefined);
      isHeld = false;
    },
  };
}

/** Over by every clock. */
const LONG_AGO = new Date(0);
