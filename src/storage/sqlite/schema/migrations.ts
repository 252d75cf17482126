/**
 * Migrations: brings a file to the version of this program, or refuses it.
 *
 * Each step is one transaction under SQLite's write lock and reads the version again inside it, so processes
 * that start at once take turns and each step happens once. A file of a newer or another program is not
 * changed: `unfitFile` detects it before anything is written.
 *
 * @module
 */

import { newUuid } from '../../../platform.ts';
import {
  type Moved,
  newerStore,
  type OnStep,
  olderStore,
  reportingSteps,
} from '../../port/versions.ts';
import {
  BUSY_TIMEOUT_MS,
  type Connection,
  IN_MEMORY,
  openConnection,
  rollBack,
} from '../connection.ts';
import { AGENTS } from './agents.ts';
import { APPROVED_THROUGH, REQUESTED_THROUGH } from './approvals.ts';
import { ASKED_BY } from './asked.ts';
import { giveChains } from './chains.ts';
import { CONNECTED_ACCOUNTS } from './connected.ts';
import { DEBTS } from './debts.ts';
import { DECLARATIONS } from './declarations.ts';
import { IDENTITIES } from './identities.ts';
import { BOUNDED_LISTS } from './lists.ts';
import { type Blueprint, blueprintOf, build } from './new-store.ts';
import { OPEN_REQUESTS } from './open-requests.ts';
import { ORIGINS } from './origins.ts';
import { PASSKEYS } from './passkeys.ts';
import { ROW_MACS } from './rows.ts';
import { FIRST_VERSION, LEAF_HASHES_IN_BLOCKS } from './schema.ts';
import { moveLog } from './segments.ts';
import { SIGN_IN } from './sign-in.ts';
import { WAITING_GRANTS } from './waiting.ts';

/** Bytes 68 to 71 of the file: "WRIT". Identifies our files. */
const APPLICATION_ID = 0x57524954;

/** Returns `Moved` when it goes on in another transaction. */
type Migration = (connection: Connection) => unknown;

/** The step at index n leads from version n to n + 1. Released steps never change. */
export const MIGRATIONS: readonly Migration[] = [
  (connection) => {
    connection.script(FIRST_VERSION);
    connection.run('INSERT INTO store (id, log_id) VALUES (1, ?)', newUuid(connection.platform));
    connection.script(`PRAGMA application_id = ${APPLICATION_ID}`);
  },
  (connection) => connection.script(REQUESTED_THROUGH),
  (connection) => connection.script(APPROVED_THROUGH),
  (connection) => connection.script(LEAF_HASHES_IN_BLOCKS),
  giveChains,
  (connection) => connection.script(ROW_MACS),
  (connection) => connection.script(DEBTS),
  (connection) => connection.script(ORIGINS),
  (connection) => connection.script(BOUNDED_LISTS),
  (connection) => connection.script(WAITING_GRANTS),
  (connection) => connection.script(DECLARATIONS),
  (connection) => connection.script(SIGN_IN),
  (connection) => connection.script(ASKED_BY),
  (connection) => connection.script(AGENTS),
  (connection) => connection.script(PASSKEYS),
  (connection) => connection.script(CONNECTED_ACCOUNTS),
  (connection) => connection.script(IDENTITIES),
  moveLog,
  (connection) => connection.script(OPEN_REQUESTS),
];

/** The first version that has its log in segments. */
export const SEGMENTED = 18;

/** Milliseconds to wait for a migration step of another process, which takes long over a long log. */
const STEP_TIMEOUT_MS = 120_000;

export function migrate(
  connection: Connection,
  migrations: readonly Migration[] = MIGRATIONS,
  onStep: OnStep = () => undefined,
): void {
  if (versionOf(connection) < migrations.length) {
    connection.script(`PRAGMA busy_timeout = ${STEP_TIMEOUT_MS}`);
    takeSteps(connection, migrations, onStep);
    connection.script(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
  refuse(unfitFile(connection, migrations));
}

function takeSteps(connection: Connection, migrations: readonly Migration[], onStep: OnStep): void {
  // The steps that make a new store are not reported.
  const isNew = versionOf(connection) === 0;
  const steps = reportingSteps(isNew ? () => undefined : onStep, connection.platform.now);
  while (versionOf(connection) < migrations.length) {
    connection.script('BEGIN IMMEDIATE');
    try {
      const moved = takeNext(connection, migrations);
      connection.script('COMMIT');
      steps.took(versionOf(connection), migrations.length, moved);
    } catch (error) {
      rollBack(connection);
      throw error;
    }
  }
}

/** The next step, or a part of it, unless another process has taken the last one. */
function takeNext(connection: Connection, migrations: readonly Migration[]): Moved | undefined {
  const version = versionOf(connection);
  if (version >= migrations.length) return undefined;
  refuse(unfitFile(connection, migrations));
  if (version > 0 || migrations !== MIGRATIONS) return takeSlice(connection, version, migrations);
  makeWhole(connection);
  return undefined;
}

/** Of a store that the steps made in this process, once. */
let blueprint: Blueprint | undefined;

/** Makes a store of the last version in an empty file. Only inside a transaction. */
function makeWhole(connection: Connection): void {
  blueprint ??= wholeStore();
  build(connection, blueprint);
  connection.script(`PRAGMA application_id = ${APPLICATION_ID}`);
  connection.script(`PRAGMA user_version = ${MIGRATIONS.length}`);
}

function wholeStore(): Blueprint {
  const store = openConnection(IN_MEMORY);
  try {
    for (let version = 0; version < MIGRATIONS.length; version++) takeStep(store, version);
    return blueprintOf(store);
  } finally {
    store.close();
  }
}

/** Runs the step that leads from `version`, unless it was done. Only inside a transaction. */
export function takeStep(
  connection: Connection,
  version: number,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  while (versionOf(connection) === version) takeSlice(connection, version, migrations);
}

/** Runs the step that leads from `version`, or a part of it: then it returns how far it has come. */
function takeSlice(
  connection: Connection,
  version: number,
  migrations: readonly Migration[],
): Moved | undefined {
  const moved = (migrations[version] as Migration)(connection) as Moved | undefined;
  if (moved) return moved;
  connection.script(`PRAGMA user_version = ${version + 1}`);
  return undefined;
}

/** Why no new store can be made in this file. Only reads. */
export function usedFile(connection: Connection, path: string): string | undefined {
  if (versionOf(connection) === 0) return undefined;
  return `there is a store in "${path}" already; name a file that does not exist`;
}

/** Why this file must not be changed: another or a newer program wrote it. Only reads. */
export function unfitFile(
  connection: Connection,
  migrations: readonly Migration[] = MIGRATIONS,
): string | undefined {
  const version = versionOf(connection);
  const isMarked = markOf(connection) === APPLICATION_ID;
  // Other programs number their versions too.
  if (version > 0 && !isMarked) return 'the file belongs to another program';
  if (version > migrations.length) {
    return newerStore(version, migrations.length);
  }
  if (version > 0) return undefined;

  // A file without a version must be empty: any table belongs to another program.
  const row = connection.get<{ name: string }>('SELECT name FROM sqlite_schema LIMIT 1');
  return row && `the file is not a store: it contains "${row.name}"`;
}

/** Why a valid file cannot be opened without creating or migrating the store. Only reads. */
export function unmadeFile(
  connection: Connection,
  path: string,
  migrations: readonly Migration[] = MIGRATIONS,
): string | undefined {
  const version = versionOf(connection);
  if (version === migrations.length) return undefined;
  if (version === 0) return noStoreIn(path);
  return olderStore(version, migrations.length);
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
