/**
 * Migrations: brings a file to the version this program knows, or refuses it.
 *
 * Each step is one transaction under SQLite's write lock and looks at the version again inside it,
 * so processes that start at once take turns and each step happens once. A file of a newer program,
 * or of another one, is left as it is.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { type Connection, rollBack } from './connection.ts';
import { FIRST_VERSION } from './schema.ts';

/** Bytes 68 to 71 of the file: "WRIT". Tells our files from those of other programs. */
const APPLICATION_ID = 0x57524954;

type Migration = (connection: Connection) => void;

/** The step at index n leads from version n to n + 1. Steps that were released never change. */
export const MIGRATIONS: readonly Migration[] = [
  (connection) => {
    connection.script(FIRST_VERSION);
    connection.run('INSERT INTO store (id, log_id) VALUES (1, ?)', randomUUID());
    connection.script(`PRAGMA application_id = ${APPLICATION_ID}`);
  },
];

export function migrate(
  connection: Connection,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  for (let version = versionOf(connection); version < migrations.length; ) {
    connection.script('BEGIN IMMEDIATE');
    try {
      version = versionOf(connection);
      if (version < migrations.length) {
        if (version === 0) refuseForeign(connection);
        (migrations[version] as Migration)(connection);
        version += 1;
        connection.script(`PRAGMA user_version = ${version}`);
      }
      connection.script('COMMIT');
    } catch (error) {
      rollBack(connection);
      throw error;
    }
  }
  refuseNewer(versionOf(connection), migrations.length);
  refuseUnmarked(connection);
}

function versionOf(connection: Connection): number {
  return Number(connection.get<{ user_version: bigint }>('PRAGMA user_version')?.user_version);
}

function refuseNewer(version: number, known: number): void {
  if (version <= known) return;
  throw new Error(
    `Cannot open the store: it was written by version ${version}, this program knows ${known}`,
  );
}

/** A file without a version must be empty: anything in it is somebody else's. */
function refuseForeign(connection: Connection): void {
  const row = connection.get<{ name: string }>('SELECT name FROM sqlite_schema LIMIT 1');
  if (row) throw new Error(`Cannot open the store: the file is no store, it has "${row.name}"`);
}

/** Other programs number their versions too. */
function refuseUnmarked(connection: Connection): void {
  const row = connection.get<{ application_id: bigint }>('PRAGMA application_id');
  if (Number(row?.application_id) === APPLICATION_ID) return;
  throw new Error('Cannot open the store: the file belongs to another program');
}
