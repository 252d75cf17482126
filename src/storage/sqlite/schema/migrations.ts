/**
 * Makes a new store, brings a file to the version of this program, or refuses it.
 *
 * The baseline and each step are one transaction under SQLite's write lock and read the version again inside it, so
 * processes that start at once take turns and each step happens once. A file of a newer or another program is not
 * changed: `unfitFile` detects it before anything is written.
 *
 * @module
 */

import { newUuid } from '../../../platform.ts';
import {
  BASELINE_VERSION,
  type Moved,
  type OnStep,
  olderStore,
  reportingSteps,
  unfitVersion,
  versionAfter,
} from '../../port/versions.ts';
import { BUSY_TIMEOUT_MS, type Connection, rollBack } from '../connection.ts';
import { BASELINE } from './baseline.ts';

/** Bytes 68 to 71 of the file: "WRIT". Identifies our files. */
const APPLICATION_ID = 0x57524954;

/** Returns `Moved` when it goes on in another transaction. */
export type Step = (connection: Connection) => unknown;

/** The steps after the baseline, one version each. From release 0.1.0 on a released step never changes. */
const STEPS: readonly Step[] = [];

/** The version of a store with all steps. */
export const lastVersion = (steps: readonly Step[] = STEPS): number => versionAfter(steps);

/** Milliseconds to wait for a step of another process, which takes long over a long log. */
const STEP_TIMEOUT_MS = 120_000;

export function migrate(
  connection: Connection,
  onStep: OnStep = () => undefined,
  steps: readonly Step[] = STEPS,
): void {
  if (versionOf(connection) < lastVersion(steps)) {
    connection.script(`PRAGMA busy_timeout = ${STEP_TIMEOUT_MS}`);
    takeSteps(connection, onStep, steps);
    connection.script(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
  refuse(unfitFile(connection, steps));
}

function takeSteps(connection: Connection, onStep: OnStep, steps: readonly Step[]): void {
  // The steps that make a new store are not reported.
  const isNew = versionOf(connection) === 0;
  const report = reportingSteps(isNew ? () => undefined : onStep, connection.platform.now);
  while (versionOf(connection) < lastVersion(steps)) {
    connection.script('BEGIN IMMEDIATE');
    try {
      const moved = takeNext(connection, steps);
      connection.script('COMMIT');
      report.took(versionOf(connection), lastVersion(steps), moved);
    } catch (error) {
      rollBack(connection);
      throw error;
    }
  }
}

/** The baseline, the next step or a part of it, unless another process has taken the last one. */
function takeNext(connection: Connection, steps: readonly Step[]): Moved | undefined {
  const version = versionOf(connection);
  if (version >= lastVersion(steps)) return undefined;
  refuse(unfitFile(connection, steps));
  if (version > 0) return takeSlice(connection, steps);
  makeStore(connection, newUuid(connection.platform));
  return undefined;
}

/** Makes the tables of the baseline in an empty file. Only inside a transaction. */
export function makeStore(connection: Connection, logId: string): void {
  connection.script(BASELINE);
  connection.run('INSERT INTO store (id, log_id) VALUES (1, ?)', logId);
  connection.run('INSERT INTO origins (first, log_id) VALUES (0, ?)', logId);
  connection.script(`PRAGMA application_id = ${APPLICATION_ID}`);
  connection.script(`PRAGMA user_version = ${BASELINE_VERSION}`);
}

/** Takes the steps up to this version. Only inside a transaction. */
export function upgrade(connection: Connection, to: number, steps: readonly Step[] = STEPS): void {
  while (versionOf(connection) < to) takeSlice(connection, steps);
}

/** Runs the next step, or a part of it: then it returns how far it has come. */
function takeSlice(connection: Connection, steps: readonly Step[]): Moved | undefined {
  const version = versionOf(connection);
  const moved = steps[version - BASELINE_VERSION]?.(connection) as Moved | undefined;
  if (moved) return moved;
  connection.script(`PRAGMA user_version = ${version + 1}`);
  return undefined;
}

/** Why no new store can be made in this file. Only reads. */
export function usedFile(connection: Connection, path: string): string | undefined {
  if (versionOf(connection) === 0) return undefined;
  return `there is a store in "${path}" already; name a file that does not exist`;
}

/** Why this file must not be changed: another, a newer or a much older program wrote it. Only reads. */
export function unfitFile(
  connection: Connection,
  steps: readonly Step[] = STEPS,
): string | undefined {
  const version = versionOf(connection);
  const isMarked = markOf(connection) === APPLICATION_ID;
  // Other programs number their versions too.
  if (version > 0 && !isMarked) return 'the file belongs to another program';
  if (version > 0) return unfitVersion(version, lastVersion(steps));

  // A file without a version must be empty: any table belongs to another program.
  const row = connection.get<{ name: string }>('SELECT name FROM sqlite_schema LIMIT 1');
  return row && `the file is not a store: it contains "${row.name}"`;
}

/** Why a valid file cannot be opened without creating or migrating the store. Only reads. */
export function unmadeFile(
  connection: Connection,
  path: string,
  steps: readonly Step[] = STEPS,
): string | undefined {
  const version = versionOf(connection);
  if (version === lastVersion(steps)) return undefined;
  if (version === 0) return noStoreIn(path);
  return olderStore(version, lastVersion(steps));
}

export function noStoreIn(path: string): string {
  return `there is no store in "${path}"`;
}

function refuse(reason: string | undefined): void {
  if (reason !== undefined) throw new Error(`Cannot open the store: ${reason}`);
}

function versionOf(connection: Connection): number {
  return Number(connection.get<{ user_version: bigint }>('PRAGMA user_version')?.user_version);
}

function markOf(connection: Connection): number {
  return Number(
    connection.get<{ application_id: bigint }>('PRAGMA application_id')?.application_id,
  );
}
