/**
 * The numbers with which every command ends.
 *
 * @module
 */

export const EXIT_OK = 0;

/** The command ran and found a fault. */
export const EXIT_FOUND = 1;

/** The command could not run. */
export const EXIT_FAILED = 2;
