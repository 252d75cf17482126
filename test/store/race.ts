/**
 * Shared by all races: instances that take turns, concurrent callers, counted results.
 *
 * @module
 */

import type { Admission, Admitted, Refused } from '../../src/storage/port/invocation-store.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';

/** Instances of one store, all on the same database. */
export type Stores = readonly [Store, ...Store[]];

export interface RaceSize {
  /** How many race for one thing. */
  readonly callers: number;
  /** Rounds of a race between two. */
  readonly rounds: number;
}

export type Races = Readonly<Record<string, (stores: Stores, size: RaceSize) => Promise<void>>>;

export function storeOf(stores: Stores, caller: number): Store {
  return stores[caller % stores.length] ?? stores[0];
}

/** Starts all callers before it awaits any. Each has its own act, which it may have to repeat. */
export function raceOf<Result>(
  stores: Stores,
  callers: number,
  act: (store: Store, caller: number) => Promise<Result>,
): Promise<Result[]> {
  const numbers = Array.from({ length: callers }, (_, caller) => caller);
  return Promise.all(
    numbers.map((caller) => patiently(() => act(storeOf(stores, caller), caller))),
  );
}

export function raceToAdmit(
  stores: Stores,
  callers: number,
  requestOf: (caller: number) => Admission,
): Promise<(Admitted | Refused)[]> {
  const requests = Array.from({ length: callers }, (_, caller) => requestOf(caller));
  return raceOf(stores, callers, (store, caller) => store.admit(requests[caller] as Admission));
}

/** Tries of one act; each waits longer than the last, so that together they outlast an overload. */
const TRIES_MAX = 12;
const PAUSE_MS = 20;

/**
 * Repeats an act that the store refused as unavailable: nothing happened. A store that did it anyway is
 * detected, because no act succeeds twice.
 */
export async function patiently<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || tries === TRIES_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries * tries));
    }
  }
}

export function admittedOf(results: readonly (Admitted | Refused)[]): number {
  return results.filter(({ admitted }) => admitted).length;
}

/** The distinct reasons of the refusals. */
export function reasonsOf(results: readonly (Admitted | Refused)[]): string[] {
  return [...new Set(results.flatMap((result) => (result.admitted ? [] : [result.reason])))];
}
