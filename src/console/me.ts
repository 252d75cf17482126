/**
 * The person who is signed in, for every view. The frame loads it before it shows a view.
 *
 * @module
 */

import { signal } from '@preact/signals';
import type { Me } from '../protocol/console/views.ts';
import { ask } from './api.ts';

export const me = signal<Me | undefined>(undefined);

/** Loads the person again, for example after a passkey was added. Rejects as `ask` does. */
export async function loadMe(): Promise<void> {
  me.value = await ask('me', {});
}

/** "you" for the person who looks at the page. */
export function isMe(principal: string): boolean {
  return principal === me.value?.principal;
}
