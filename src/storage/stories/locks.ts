/**
 * Locks on texts, which more than one story takes.
 *
 * @module
 */

import { lockOnText } from '../sql/statement.ts';

/** One sign-in or new passkey of a person at a time, so that each counts those before it. */
export const HOLD_PERSON = lockOnText('hold_person', 0x77_72_73_69);

/** Comes after the gate of the actor, and before every row. */
export const HOLD_ROOT = lockOnText('hold_root', 0x77_72_61_70);
