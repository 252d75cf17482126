/**
 * How a call is closed: settled with what it did, refused before it ran, or broken off where nothing more is
 * known. Keeps its leases while it runs.
 *
 * The settler repeats a settlement in the background, however long the store takes to come back: a call
 * that ran has its entry and its charge once the store answers again.
 *
 * @module
 */

import { failure } from '../../domain/failure.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { EntryType } from '../../protocol/audit.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { Settlement } from '../../storage/port/invocation-store.ts';
import type { IntentRecord } from '../../storage/port/records.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../storage/port/store.ts';
import {
  answerOf,
  bytesOf,
  type Call,
  type CheckedCall,
  type Ending,
  endingEntry,
} from '../core/call.ts';
import { report } from '../core/foreign.ts';
import { type Answer, failureOf } from '../core/operations.ts';
import type { ServiceParts, Settler } from '../core/parts.ts';

/** A store that was restarted is back within seconds; a minute between tries harms nobody after that. */
const RETRY_FIRST_MS = 250;
const RETRY_MOST_MS = 60_000;

type Attempt = (settlement: Settlement) => Promise<'settled' | 'superseded' | 'unknown'>;

export function createSettler(store: Store, platform: Platform, log: Logger): Settler {
  let waiting = 0;
  let isClosed = false;
  const { rest, wake } = createRests(platform);

  async function tryAgain(
    attempt: Attempt,
    settlement: Settlement,
    later?: (outcome: 'settled' | 'superseded') => void,
  ): Promise<void> {
    waiting += 1;
    for (let wait = RETRY_FIRST_MS; !isClosed; wait = Math.min(2 * wait, RETRY_MOST_MS)) {
      await rest(wait);
      const settled = await attempt(settlement);
      if (settled === 'unknown') continue;
      log.warn({ operation_id: settlement.operation_id, settled }, 'settled after a retry');
      later?.(settled);
      break;
    }
    waiting -= 1;
  }

  /** Also a defect leaves the outcome open: the handler ran, and the log does not say so yet. */
  const recording: Attempt = async (settlement) => {
    try {
      return await store.settle(settlement);
    } catch (error) {
      const { operation_id } = settlement;
      log.error({ operation_id, err: error }, 'an outcome could not be recorded');
      return 'unknown';
    }
  };

  /** A store that answers, and has nothing to settle, never admitted the call: it was refused. */
  const releasing: Attempt = async (settlement) => {
    try {
      return await store.settle(settlement);
    } catch (error) {
      if (isStoreFailure(error)) return 'unknown';
      return appended(settlement);
    }
  };

  async function insist<Result>(change: () => Promise<Result>): Promise<Result> {
    for (let wait = RETRY_FIRST_MS; ; wait = Math.min(2 * wait, RETRY_MOST_MS)) {
      try {
        return await change();
      } catch (error) {
        if (!isStoreFailure(error) || isClosed) throw error;
        log.warn({ err: error }, 'retrying the store');
      }
      waiting += 1;
      await rest(wait);
      waiting -= 1;
    }
  }

  async function appended({ entry }: Settlement): Promise<'settled' | 'unknown'> {
    try {
      await store.append([entry]);
      return 'settled';
    } catch (error) {
      log.error({ entry_id: entry.entry_id, err: error }, 'a refusal could not be recorded');
      return 'unknown';
    }
  }

  return {
    async settle(settlement, later) {
      const settled = await recording(settlement);
      if (settled === 'unknown') void tryAgain(recording, settlement, later);
      return settled;
    },
    release: (settlement) => void tryAgain(releasing, settlement),
    insist,
    waiting: () => waiting,
    close() {
      isClosed = true;
      wake();
    },
  };
}

/** Pauses that keep no process alive, all of which end when woken. */
function createRests({ after, cancel }: Platform) {
  const resting = new Set<() => void>();
  return {
    rest: (ms: number) =>
      new Promise<void>((resolve) => {
        const end = () => {
          cancel(timer);
          resting.delete(end);
          resolve();
        };
        const timer = after(ms, end);
        timer.unref();
        resting.add(end);
      }),
    wake() {
      for (const end of [...resting]) end();
    },
  };
}

export function isStoreFailure(error: unknown): boolean {
  return error instanceof StoreUnavailable || error instanceof OutcomeUnknown;
}

/** In milliseconds: how long others wait for a holder that fell silent. */
export const LEASE_MS = 15_000;

/** Two renewals may be lost before a living holder loses its turn. */
const RENEWALS_PER_LEASE = 3;

export function leaseUntil({ store, leaseMs }: Pick<ServiceParts, 'store' | 'leaseMs'>): Date {
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
export function renewLeases(
  parts: ServiceParts,
  { caller, capability }: CheckedCall,
  operationId: string,
): Leases {
  const isExclusive = caller.loaded.lineage.some(({ exclusive }) => exclusive);
  if (!isExclusive && capability.kind === 'atomic') return NO_LEASES;
  const { store, log, leaseMs, platform } = parts;
  const renew = () => {
    store.renewLeases(operationId, leaseUntil(parts)).then(
      (held) => {
        if (held) return;
        platform.cancel(timer);
        log.warn({ operation_id: operationId }, 'a lease was lost to another call');
      },
      (error) => log.warn({ err: error }, 'a lease could not be renewed'),
    );
  };
  const timer = isExclusive ? platform.every(leaseMs / RENEWALS_PER_LEASE, renew) : undefined;
  timer?.unref();
  return {
    stop: () => platform.cancel(timer),
    async release() {
      platform.cancel(timer);
      await store.releaseLeases(operationId).catch((error) => {
        log.warn({ err: error }, 'a lease could not be released; it runs out by itself');
      });
    },
  };
}

/** A call that ended before admission: nothing ran, and its caller, if known, has its entry. */
export async function refusedCall(
  parts: ServiceParts,
  call: Call,
  found: Failure,
  entryType: EntryType = 'invocation',
): Promise<Answer> {
  const { caller } = call;
  const ending = { state: 'refused', failure: found, entryType } as const;
  if (!caller) return { body: answerOf(parts, call, ending), failure: found };
  const entry = endingEntry(parts, { ...call, caller }, ending);
  try {
    await parts.store.append([entry]);
  } catch (error) {
    return unrecordedCall(parts, call, failureOf('invoke', error, parts.log));
  }
  return { body: answerOf(parts, call, ending, entry), failure: found };
}

/** The store could not say that the entry is there, so the answer names none. */
export function unrecordedCall(parts: ServiceParts, call: Call, found: Failure): Answer {
  const ending = { state: 'indeterminate', failure: found } as const;
  return { body: answerOf(parts, call, ending), failure: found };
}

/** A defect after admission: closed as of unknown outcome, still charged, its key and turn given back. */
export async function brokenCall(
  parts: ServiceParts,
  call: CheckedCall,
  { operation_id }: IntentRecord,
  error: unknown,
): Promise<Answer> {
  const { invocation_id } = call.ids;
  report(parts.log, { err: error, invocation_id }, 'an admitted call could not be finished');
  const detail = 'Cannot report the outcome of the call: internal error';
  const found = failure('outcome_unknown', detail);
  const ending: Ending = { state: 'indeterminate', failure: found, cost: call.charge };
  const unsettled = { ...call, budget: 'unsettled' as const, parameters: undefined };
  const entry = endingEntry(parts, unsettled, ending);
  const body = answerOf(parts, unsettled, ending, entry);
  const settlement: Settlement = {
    operation_id,
    outcome: 'indeterminate',
    bindings: [],
    answer: bytesOf(body),
    entry,
    now: parts.store.now(),
  };
  const outcome = await parts.settler.settle(settlement);
  return outcome === 'settled' ? { body, failure: found } : unsettledCall(parts, call);
}

/** A defect after a read that took nothing. A store that is away is told as such. */
export async function brokenRead(
  parts: ServiceParts,
  call: CheckedCall,
  error: unknown,
): Promise<Answer> {
  if (isStoreFailure(error)) throw error;
  const { invocation_id } = call.ids;
  report(parts.log, { err: error, invocation_id }, 'a read could not be finished');
  const found = failure('internal_error', 'Cannot complete the invocation: internal error');
  const ending: Ending = { state: 'failed', failure: found };
  const withoutParameters = { ...call, parameters: undefined };
  const entry = endingEntry(parts, withoutParameters, ending);
  await parts.store.append([entry]);
  return { body: answerOf(parts, withoutParameters, ending, entry), failure: found };
}

/** The handler ended, and the log does not say so yet: the caller must look before it acts again. */
export function unsettledCall(parts: ServiceParts, call: CheckedCall): Answer {
  const detail = 'Cannot report the outcome of the call: its outcome could not be recorded';
  return unrecordedCall(
    parts,
    { ...call, budget: 'unsettled' as const },
    failure('outcome_unknown', detail),
  );
}
