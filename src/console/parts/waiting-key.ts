/**
 * Whether a passkey counts.
 *
 * @module
 */

import type { Passkey } from '../../protocol/decision.ts';
import { now } from '../api.ts';

/**
 * A key that no other confirmed counts later than it was added. One that counts at once does not wait for the clock
 * of this page, which moves once a second.
 */
export function isWaiting({ created_at, usable_from }: Passkey): boolean {
  return usable_from !== created_at && Date.parse(usable_from) > now.value;
}
