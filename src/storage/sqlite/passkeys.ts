/**
 * Passkeys in SQLite.
 *
 * All of this runs under one write lock, so what was read still holds at the write.
 *
 * @module
 */

import { isSameIds, type PasskeyStore, type StoredPasskey } from '../port/passkey-store.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import { insert, optionalTime, PASSKEYS } from './rows.ts';

export function insertPasskey(
  connection: Connection,
  log: LogWriter,
  ...[passkey, entry, seen]: Parameters<PasskeyStore['insertPasskey']>
): Awaited<ReturnType<PasskeyStore['insertPasskey']>> {
  const { credential_id, principal } = passkey;
  if (connection.get(FIND, credential_id)) return 'taken';
  const rows = connection.all<{ credential_id: string }>(IDS, principal);
  const ids = rows.map((row) => row.credential_id);
  if (!isSameIds(ids, seen)) return 'stale';
  insert(connection, PASSKEYS, passkey);
  log.append(entry);
  return 'inserted';
}

export function listPasskeys(
  connection: Connection,
  principal: string,
  limit: number,
): StoredPasskey[] {
  return connection.all<Row>(LIST_PASSKEYS, principal, limit).map(storedOf);
}

export function readPasskey(
  connection: Connection,
  credentialId: string,
): StoredPasskey | undefined {
  const row = connection.get<Row>('SELECT * FROM passkeys WHERE credential_id = ?', credentialId);
  return row && storedOf(row);
}

function storedOf(row: Row): StoredPasskey {
  return {
    passkey: PASSKEYS.read(row),
    last_used_at: optionalTime(row.last_used_at as bigint | null),
    removed_at: optionalTime(row.removed_at as bigint | null),
  };
}

export function removePasskey(
  connection: Connection,
  log: LogWriter,
  ...[{ principal, credential_id }, now, entry]: Parameters<PasskeyStore['removePasskey']>
): boolean {
  if (connection.change(REMOVE, now, credential_id, principal) === 0) return false;
  connection.run(DELETE_REMOVED, principal, credential_id);
  log.append(entry);
  return true;
}

/** Whether the passkey is still there; says when it was used. Without one there is nothing to find. */
export function usePasskey(
  connection: Connection,
  principal: string,
  credentialId: string | undefined,
  now: Date,
): boolean {
  return credentialId === undefined || connection.change(USE, now, credentialId, principal) > 0;
}

const IDS = 'SELECT credential_id FROM passkeys WHERE principal = ?';
const FIND = 'SELECT 1 FROM passkeys WHERE credential_id = ?';
const LIVING = 'credential_id = ? AND principal = ? AND removed_at IS NULL';
const REMOVE = `UPDATE passkeys SET removed_at = ? WHERE ${LIVING}`;
const USE = `UPDATE passkeys SET last_used_at = ? WHERE ${LIVING}`;
const DELETE_REMOVED = `DELETE FROM passkeys
  WHERE principal = ? AND removed_at IS NOT NULL AND credential_id <> ?`;

export const LIST_PASSKEYS = `SELECT * FROM passkeys WHERE principal = ?
  ORDER BY created_at, credential_id LIMIT ?`;
