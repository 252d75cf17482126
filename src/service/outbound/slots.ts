/**
 * Slots: bounds how many requests of this process to one origin run at once, and how many wait.
 *
 * A slow API could otherwise hold a socket for every call of every agent. Those that wait start in the order in
 * which they came.
 *
 * @module
 */

/** Sockets to one origin. */
const RUNNING_MAX = 32;

/** Calls that wait for one. Each holds its parameters. */
const WAITING_MAX = 256;

interface Origin {
  running: number;
  readonly waiting: Set<() => void>;
}

const origins = new Map<string, Origin>();

/** Resolves with the function that frees the slot; with `undefined` when too many wait, or the signal aborts before. */
export async function takeSlot(
  name: string,
  signal: AbortSignal,
): Promise<(() => void) | undefined> {
  const origin = origins.get(name) ?? { running: 0, waiting: new Set() };
  origins.set(name, origin);
  if (origin.running < RUNNING_MAX) origin.running += 1;
  else if (!(await slotAt(origin, signal))) return undefined;
  return () => leave(name, origin);
}

/** A slot goes from the request that ends to the one that waits longest, so `running` stays the same. */
function leave(name: string, origin: Origin): void {
  const [next] = origin.waiting;
  if (next) {
    next();
    return;
  }
  origin.running -= 1;
  if (origin.running === 0) origins.delete(name);
}

function slotAt({ waiting }: Origin, signal: AbortSignal): Promise<boolean> {
  if (waiting.size >= WAITING_MAX || signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (hasSlot: boolean) => {
      waiting.delete(start);
      signal.removeEventListener('abort', giveUp);
      resolve(hasSlot);
    };
    const start = () => stop(true);
    const giveUp = () => stop(false);
    waiting.add(start);
    signal.addEventListener('abort', giveUp);
  });
}
