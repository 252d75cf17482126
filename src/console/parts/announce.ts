/**
 * Sentences for screen readers about what changed without the person's doing: one region, at most one sentence in
 * ten seconds.
 *
 * @module
 */

import { effect, signal } from '@preact/signals';
import { now } from '../api.ts';

/** What the polite live region of the frame contains. */
export const announced = signal('');

const APART_MS = 10_000;

let lastAt = Number.NEGATIVE_INFINITY;
const waiting = signal<string | undefined>(undefined);

/** A sentence that waits gives way to a newer one. */
export function announce(sentence: string): void {
  waiting.value = sentence;
}

effect(() => {
  const sentence = waiting.value;
  if (sentence === undefined || now.value - lastAt < APART_MS) return;
  lastAt = now.value;
  // A region that gets the same text again stays silent.
  announced.value = sentence === announced.peek() ? `${sentence} ` : sentence;
  waiting.value = undefined;
});
