/**
 * The numbers with which every command ends.
 *
 * @module
 */

export const EXIT_OK = 0;

/** The command did its work, and what it found is not well. */
export const EXIT_FOUND = 1;

/** The command could not do its work. */
export const EXIT_FAILED = 2;
