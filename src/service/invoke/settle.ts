/**
 * How a call is closed: settled with its outcome, refused before it ran, or closed as unknown. Also
 * renews the leases of a running call.
 *
 * The settler repeats a settlement in the background until the store takes it. So a call that ran
 * gets its entry and its charge as soon as the store answers again.
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
  bytesOf,
  type Call,
  type CallerCall,
  type CheckedCall,
  type Ending,
  endingEntry,
  invokeAnswer,
} from '../call/call.ts';
import type { TokenCaller } from '../caller/caller.ts';
import { type Answer, failureOf } from '../operations/operations.ts';
import type { ServiceParts, Settler } from '../operations/parts.ts';

/**
 * In milliseconds: a restarted store is back within seconds. After that a minute between attempts
 * is enough.
 */
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

  /** Retries after a defect too: the handler ran, and the log does not have its outcome yet. */
  const recording: Attempt = async (settlement) => {
    try {
      return await store.settle(settlement);
    } catch (error) {
      const { operation_id } = settlement;
      log.error({ operation_id, err: error }, 'an outcome could not be recorded');
      return 'unknown';
    }
  };

  /**
   * A store that answers but has nothing to settle never admitted the call, so its refusal is
   * appended.
   */
  const releasing: Attempt = async (settlement) => {
    try {
      return await store.settle(settlement);
    } catch (error) {
      if (isStoreFailure(error)) return 'unknown';
      return appended(settlement);
    }
  };

  async function insist<Result>(change: (isRepeat: boolean) => Promise<Result>): Promise<Result> {
    for (let wait = RETRY_FIRST_MS; ; wait = Math.min(2 * wait, RETRY_MOST_MS)) {
      try {
        return await change(wait > RETRY_FIRST_MS);
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
      await store.append([entry], [], undefined, true);
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
    release(settlement, superseded) {
      void tryAgain(releasing, settlement, (outcome) => {
        if (outcome === 'superseded') superseded();
      });
    },
    insist,
    waiting: () => waiting,
    close() {
      isClosed = true;
      wake();
    },
  };
}

/** Pauses that do not keep the process alive. `wake` ends all of them. */
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

/** In milliseconds: how long other calls wait for a holder that fell silent. */
export const LEASE_MS = 15_000;

/** A holder keeps its lease when up to two renewals fail. */
const RENEWALS_PER_LEASE = 3;

export function leaseUntil({ store, leaseMs }: Pick<ServiceParts, 'store' | 'leaseMs'>): Date {
  return new Date(store.now().getTime() + leaseMs);
}

export interface Leases {
  /** Stops renewing. The settlement releases the leases. */
  stop(): void;
  /** Releases leases and trail in the store, for a call that was settled while it still ran. */
  release(): Promise<void>;
}

const NO_LEASES: Leases = { stop: () => undefined, release: async () => undefined };

/** Whether a call of this caller runs under leases. */
export function isExclusive({ loaded }: TokenCaller): boolean {
  return loaded.lineage.some(({ exclusive }) => exclusive);
}

/**
 * Renews the leases until stopped. Only a lineage with an exclusive token has leases to renew, and
 * only a composed call has a trail to release. A call by a handler has no leases of its own.
 */
export function renewLeases(
  parts: ServiceParts,
  { caller, capability, within }: CheckedCall,
  operationId: string,
): Leases {
  const hasOwn = !within && isExclusive(caller);
  if (!hasOwn && capability.kind === 'atomic') return NO_LEASES;
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
  const timer = hasOwn ? platform.every(leaseMs / RENEWALS_PER_LEASE, renew) : undefined;
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

/** Closes a call that was refused before admission. A known caller gets an entry. */
export async function refusedCall(
  parts: ServiceParts,
  call: Call,
  found: Failure,
  entryType: EntryType = 'invocation',
): Promise<Answer> {
  const { caller } = call;
  const ending = { state: 'refused', failure: found, entryType } as const;
  if (!caller) return { body: invokeAnswer(parts, call, ending), failure: found };
  const entry = endingEntry(parts, call as CallerCall, ending);
  try {
    await parts.store.append([entry]);
  } catch (error) {
    return unrecordedCall(parts, call, failureOf('invoke', error, parts.log));
  }
  return { body: invokeAnswer(parts, call, ending, entry), failure: found };
}

/** The store did not confirm the entry, so the answer names none. */
export function unrecordedCall(parts: ServiceParts, call: Call, found: Failure): Answer {
  const ending = { state: 'indeterminate', failure: found } as const;
  return { body: invokeAnswer(parts, call, ending), failure: found };
}

/** Closes a call after a defect: unknown outcome, still charged, key and lease released. */
export async function brokenCall(
  parts: ServiceParts,
  call: CheckedCall,
  { operation_id }: IntentRecord,
  error: unknown,
): Promise<Answer> {
  const { invocation_id } = call.ids;
  parts.log.error({ err: error, invocation_id }, 'an admitted call could not be finished');
  const detail = 'Cannot report the outcome of the call: internal error';
  const found = failure('outcome_unknown', detail);
  const ending: Ending = { state: 'indeterminate', failure: found, cost: call.charge };
  const unsettled = { ...call, budget: 'unsettled' as const, parameters: undefined };
  const entry = endingEntry(parts, unsettled, ending);
  const body = invokeAnswer(parts, unsettled, ending, entry);
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

/** Closes a read after a defect. A store failure is reported as such. */
export async function brokenRead(
  parts: ServiceParts,
  call: CheckedCall,
  error: unknown,
): Promise<Answer> {
  if (isStoreFailure(error)) throw error;
  const { invocation_id } = call.ids;
  parts.log.error({ err: error, invocation_id }, 'a read could not be finished');
  const found = failure('internal_error', 'Cannot complete the invocation: internal error');
  const ending: Ending = { state: 'failed', failure: found };
  const withoutParameters = { ...call, parameters: undefined };
  const entry = endingEntry(parts, withoutParameters, ending);
  await parts.store.append([entry]);
  return { body: invokeAnswer(parts, withoutParameters, ending, entry), failure: found };
}

/**
 * The handler ended, and its outcome is not recorded yet. The caller must check before it acts
 * again.
 */
export function unsettledCall(parts: ServiceParts, call: CheckedCall): Answer {
  const detail = 'Cannot report the outcome of the call: its outcome could not be recorded';
  return unrecordedCall(
    parts,
    { ...call, budget: 'unsettled' as const },
    failure('outcome_unknown', detail),
  );
}
