/**
 * When a view that shows a state asks for it again: after the log grew, and not more often than its answer is
 * worth to the service.
 *
 * @module
 */

import { effect, signal } from '@preact/signals';
import { pulse } from '../api.ts';

/** Milliseconds between two questions. An answer about agents reads up to thousands of entries. */
const ASK_AGAIN_MS = 10_000;

/** Changes when what a view shows may have changed. */
export const growth = signal(0);

let entries: number | undefined;
let askedAt = 0;

effect(() => {
  const heard = pulse.value;
  if (!heard) return;
  const at = Date.parse(heard.now);
  if (entries === undefined) {
    entries = heard.entries;
    askedAt = at;
  }
  if (heard.entries === entries || at - askedAt < ASK_AGAIN_MS) return;
  entries = heard.entries;
  askedAt = at;
  growth.value = growth.peek() + 1;
});
