/**
 * Waits: callers that wait for a decision. A decision in this process wakes them. They leave when
 * the client leaves or the service stops.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';

/**
 * Each waiter holds a connection and asks the store once a second. Above the bound, a caller is
 * answered at once.
 */
const WAITING_MAX = 500;

/** Waiters of one root principal, so that no caller can use up all slots. */
const WAITING_PER_ROOT_MAX = 50;

export interface Waiter {
  /** The approval request that is waited for. */
  readonly id: string;
  readonly root_principal: string;
  /** Aborts when the caller has left. */
  readonly gone?: AbortSignal | undefined;
}

export interface Waits {
  /** A slot to wait in; `undefined` when too many wait already or the service stops. */
  enter(waiter: Waiter): WaitSlot | undefined;
  /** Wakes the waiters of `id`, after a change in this process. */
  wake(id: string): void;
  /** Wakes all waiters and admits no more. */
  stop(): void;
}

interface WaitSlot {
  /** Resolves after `ms`, or sooner when woken. */
  pause(ms: number): Promise<void>;
  /** True when the caller has left or the service stops. */
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
