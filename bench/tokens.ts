/**
 * Live tokens in memory: issues as many as its arguments say, one number after the other, uses each once, and says what
 * the process held at first and holds at each number.
 *
 * Runs in a process of its own, with `--expose-gc`: nothing else is on its heap.
 *
 * @module
 */

import { type Issued, openService } from './service.ts';

/** What `memory.ts` hears; in MiB. */
export interface Held {
  readonly heap: number;
  readonly resident: number;
}

/** Calls at once. */
const AT_ONCE = 64;

/** Tokens that are issued and used before the first look: compiled code, statements, pages of the store. */
const WARM_UP = 200;

const service = await openService();
await useNew(WARM_UP);
const looks: Held[] = [held()];
let made = 0;
for (const size of process.argv.slice(2).map(Number)) {
  await useNew(size - made);
  made = size;
  looks.push(held());
}
process.send?.(looks);
await service.close();

/** Each token is used after it was issued, by the same caller; no text of it is kept here. */
async function useNew(tokens: number): Promise<void> {
  let left = tokens;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await use(await service.issue());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

async function use({ token }: Issued): Promise<void> {
  const input = { capability: 'find_traveler', parameters: { traveler: 'TR-1' } };
  await service.ask('invoke', token, input);
}

function held(): Held {
  // Twice: what the first collection finalises, the second one frees.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: (heapUsed + external) / 2 ** 20, resident: rss / 2 ** 20 };
}
