/**
 * Versions of the schema: what a store says when it is older or newer than this program, and what a program
 * reports while it migrates one.
 *
 * @module
 */

/**
 * The version of the tables that a new store begins with; steps lead on from it. Nothing leads to it: no release
 * has written a store below it.
 */
export const BASELINE_VERSION = 23;

/** The version of a store with all of these steps, one version each. */
export function versionAfter(steps: readonly unknown[]): number {
  return BASELINE_VERSION + steps.length;
}

/** How far a step has come that moves the entries of the log in slices. */
export interface Moved {
  readonly moved: number;
  readonly entries: number;
}

/** One completed step of a migration, or with `moved` a part of one. */
interface MigrationStep extends Partial<Moved> {
  /** The version that the store has now. */
  readonly version: number;
  /** The version that it gets. */
  readonly of: number;
  readonly milliseconds: number;
}

export type OnStep = (step: MigrationStep) => void;

/** In milliseconds: how often a long step reports how far it has come. */
const REPORT_EVERY_MS = 1_000;

/** Reports each whole step, and parts of a long one now and then. */
export function reportingSteps(onStep: OnStep, now: () => number) {
  let started = now();
  let reported = started;
  return {
    /** `moved` where the step is not complete. */
    took(version: number, of: number, moved: Moved | undefined): void {
      const milliseconds = now() - started;
      if (!moved) started = now();
      else if (now() - reported < REPORT_EVERY_MS) return;
      reported = now();
      onStep({ version, of, milliseconds, ...moved });
    },
  };
}

/** Why no step leads from this version of a store to the last one that this program knows. */
export function unfitVersion(version: number, last: number): string | undefined {
  const written = `it was written by version ${version} of the schema`;
  // This program would write rows without what it does not know.
  if (version > last) {
    return `${written}, this program knows ${last}; start the version of the program that wrote it, or a later one (see docs/operating.md, "Upgrading")`;
  }
  if (version >= BASELINE_VERSION) return undefined;
  return `${written}, from before the first release, and this program opens versions from ${BASELINE_VERSION} on; make a new store, and read this one with the program that wrote it`;
}

/** Why a command that migrates nothing refuses a store of an earlier version. */
export function olderStore(version: number, known: number): string {
  return `it was written by version ${version} of the schema, start the service once to bring it to ${known}`;
}
