/**
 * Locks that more than one story takes, or a database beside them.
 *
 * @module
 */

import { type Lock, lockOnText } from '../sql/statement.ts';

/** One sign-in or new passkey of a person at a time, so that each counts those before it. */
export const HOLD_PERSON = lockOnText('hold_person', 0x77_72_73_69);

/** Comes after the gate of the actor, and before every row. */
export const HOLD_ROOT = lockOnText('hold_root', 0x77_72_61_70);

/** A number that no other program locks in this database. */
const MIGRATIONS = 0x77_72_69_74_00n;

/** A step over a large table takes minutes, and processes that wait for it wait as long. */
const STEP_TIMEOUT_MS = 30 * 60_000;

/** Before `HOLD_MIGRATIONS`. */
export const MIGRATION_PATIENCE: Lock = {
  name: 'migration_patience',
  text: `SELECT set_config('lock_timeout', '${STEP_TIMEOUT_MS}', true),
    set_config('statement_timeout', '${STEP_TIMEOUT_MS}', true)`,
};

export const HOLD_MIGRATIONS: Lock = {
  name: 'migration_lock',
  text: `SELECT pg_advisory_xact_lock(${MIGRATIONS})`,
};
