/**
 * Settlement: closes every admitted call, however long the store takes to come back.
 *
 * A call whose outcome cannot be recorded is answered as unknown, and its settlement is tried again
 * for as long as this process lives; if the process dies first, recovery closes it as indeterminate.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import type { Settlement } from '../storage/invocation-store.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../storage/store.ts';

/** A store that was restarted is back within seconds; a minute between tries harms nobody after that. */
const RETRY_FIRST_MS = 250;
const RETRY_MOST_MS = 60_000;

export interface Settler {
  /** `unknown`: not recorded yet, and being tried again in the background; then `later` is told. */
  settle(
    settlement: Settlement,
    later?: (outcome: 'settled' | 'superseded') => void,
  ): Promise<'settled' | 'superseded' | 'unknown'>;
  /** Closes, in the background, a call that did not run and that the store may have admitted. */
  release(settlement: Settlement): void;
  /**
   * Makes a change that can be repeated, however long the store takes to come back. Rejects with the
   * store's own failure when the service stops first, and with any other error at once.
   */
  insist<Result>(change: () => Promise<Result>): Promise<Result>;
  /** Settlements and other changes that still wait to be recorded. */
  waiting(): number;
  close(): void;
}

type Attempt = (settlement: Settlement) => Promise<'settled' | 'superseded' | 'unknown'>;

export function createSettler(store: Store, log: Logger): Settler {
  let waiting = 0;
  const stop = new AbortController();

  async function tryAgain(
    attempt: Attempt,
    settlement: Settlement,
    later?: (outcome: 'settled' | 'superseded') => void,
  ): Promise<void> {
    waiting += 1;
    for (
      let wait = RETRY_FIRST_MS;
      !stop.signal.aborted;
      wait = Math.min(2 * wait, RETRY_MOST_MS)
    ) {
      await sleep(wait, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
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
        if (!isStoreFailure(error) || stop.signal.aborted) throw error;
        log.warn({ err: error }, 'the store is asked again');
      }
      waiting += 1;
      await sleep(wait, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
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
    close: () => stop.abort(),
  };
}

export function isStoreFailure(error: unknown): boolean {
  return error instanceof StoreUnavailable || error instanceof OutcomeUnknown;
}
