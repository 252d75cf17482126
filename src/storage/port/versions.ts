/**
 * Versions of the schema: what a store says when it is older or newer than this program, and what a program
 * reports while it migrates one.
 *
 * @module
 */

/** One completed step of a migration. */
interface MigrationStep {
  /** The version that the store has now. */
  readonly version: number;
  /** The version that it gets. */
  readonly of: number;
  readonly milliseconds: number;
}

export type OnStep = (step: MigrationStep) => void;

/** Why a store of a later version is refused: this program would write rows without what it does not know. */
export function newerStore(version: number, known: number): string {
  const remedy = 'start the version of the program that wrote it, or a later one';
  return `it was written by version ${version} of the schema, this program knows ${known}; ${remedy} (see docs/operating.md, "Upgrading")`;
}

/** Why a command that migrates nothing refuses a store of an earlier version. */
export function olderStore(version: number, known: number): string {
  return `it was written by version ${version} of the schema, start the service once to bring it to ${known}`;
}
