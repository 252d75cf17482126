/**
 * Waits: callers that wait for a decision, woken when it is made here and let go when they have left
 * or the service stops.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';

/** Each holds a connection and asks the store once a second; more are answered at once instead. */
const WAITING_MAX = 500;

/** For one root principal, so that no caller can use up the places of all. */
const WAITING_PER_ROOT_MAX = 50;

export interface Waiter {
  /** What is waited for. */
  readonly id: string;
  readonly root_principal: string;
  /** Ends when the caller has left. */
  readonly gone?: AbortSignal | undefined;
}

export interface Waits {
  /** A place to wait in, or nothing when too many wait already or the service stops. */
  enter(waiter: Waiter): Place | undefined;
  /** Something happened to `id` in this process. */
  wake(id: string): void;
  /** Lets everyone go. Nobody may enter any more. */
  stop(): void;
}

interface Place {
  /** Resolves after `ms`, or sooner when woken. */
  pause(ms: number): Promise<void>;
  /** Nothing is left to wait for: the caller has left, or the service stops. */
  isOver(): boolean;
  leave(): void;
}

export function createWaits({ after, cancel }: Pick<Platform, 'after' | 'cancel'>): Waits {
  const sleepers = new Map<string, Set<() => void>>();
  const waiting = new Map<string, number>();
  let total = 0;
  let stopped = false;

  function count(root: string, change: 1 | -1): void {
    total += change;
    const now = (waiting.get(root) ?? 0) + change;
    if (now === 0) waiting.delete(root);
    else waiting.set(root, now);
  }
  function pause({ id, gone }: Waiter, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const ids = sleepers.get(id) ?? new Set();
      const timer = after(ms, awake);
      function awake() {
        cancel(timer);
        gone?.removeEventListener('abort', awake);
        ids.delete(awake);
        if (ids.size === 0) sleepers.delete(id);
        resolve();
      }
      gone?.addEventListener('abort', awake);
      sleepers.set(id, ids.add(awake));
    });
  }
  const wake = (id: string) => {
    for (const awake of [...(sleepers.get(id) ?? [])]) awake();
  };

  return {
    enter(waiter) {
      const { root_principal: root, gone } = waiter;
      if (stopped || total >= WAITING_MAX) return undefined;
      if ((waiting.get(root) ?? 0) >= WAITING_PER_ROOT_MAX) return undefined;
      count(root, 1);
      const isOver = () => stopped || gone?.aborted === true;
      return {
        pause: (ms) => (isOver() ? Promise.resolve() : pause(waiter, ms)),
        isOver,
        leave: () => count(root, -1),
      };
    },
    wake,
    stop() {
      stopped = true;
      for (const id of [...sleepers.keys()]) wake(id);
    },
  };
}
