/**
 * Waits: callers that wait for a decision, woken when it is made here and let go when the service
 * stops.
 *
 * @module
 */

/** Each holds a connection and asks the store once a second; more are answered at once instead. */
const WAITING_MAX = 500;

export interface Waits {
  /** A place to wait in, or nothing when too many wait already or the service stops. */
  enter(id: string): Place | undefined;
  /** Something happened to `id` in this process. */
  wake(id: string): void;
  stopped(): boolean;
  /** Lets everyone go. Nobody may enter any more. */
  stop(): void;
}

interface Place {
  /** Resolves after `ms`, or sooner when woken. */
  pause(ms: number): Promise<void>;
  leave(): void;
}

export function createWaits(): Waits {
  const sleepers = new Map<string, Set<() => void>>();
  let waiting = 0;
  let stopped = false;

  function pause(id: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const ids = sleepers.get(id) ?? new Set();
      const timer = setTimeout(awake, ms);
      function awake() {
        clearTimeout(timer);
        ids.delete(awake);
        if (ids.size === 0) sleepers.delete(id);
        resolve();
      }
      sleepers.set(id, ids.add(awake));
    });
  }
  const wake = (id: string) => {
    for (const awake of [...(sleepers.get(id) ?? [])]) awake();
  };

  return {
    enter(id) {
      if (stopped || waiting >= WAITING_MAX) return undefined;
      waiting += 1;
      return {
        pause: (ms) => (stopped ? Promise.resolve() : pause(id, ms)),
        leave() {
          waiting -= 1;
        },
      };
    },
    wake,
    stopped: () => stopped,
    stop() {
      stopped = true;
      for (const id of [...sleepers.keys()]) wake(id);
    },
  };
}
