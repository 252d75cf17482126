/**
 * Keeps one of the objects by which Node queues ticks.
 *
 * A request takes a dozen ticks. The engine learns the shape of such an object by the first of them,
 * and forgets it when the collector finds none alive, as happens whenever a service waits; since their
 * keys are computed, it does not learn it again. From then on every tick takes two to three times as
 * long. While one object lives, so does their shape. `bench/tick.mjs` measures what that saves: a tenth of
 * the CPU time of a small answer on Node 20 and 22, and nothing that can be measured on Node 24.
 *
 * @module
 */

import { createHook } from 'node:async_hooks';

let kept: object | undefined;

/** The one that is kept; made when it is first asked for. */
export function keptTick(): object | undefined {
  if (kept) return kept;
  // The only way to get hold of one: Node shows it to whoever listens while it is made.
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') kept ??= resource;
    },
  });
  hook.enable();
  process.nextTick(() => undefined);
  hook.disable();
  return kept;
}
