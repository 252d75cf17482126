/**
 * Passkeys.
 *
 * A new passkey takes the lock of its person, so that concurrent ones see each other. A decision, an addition and a removal
 * change the row of the passkey that they use or remove before they append their entries, so the log has them in the order
 * of that change.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import {
  isSameIds,
  type PasskeyRecord,
  type PasskeyStore,
  type StoredPasskey,
} from '../port/passkey-store.ts';
import type { Sql, SqlReader } from '../sql/sql.ts';
import { among, columns, insertion, part, statement, whole } from '../sql/statement.ts';
import { PASSKEYS } from '../tables/people.ts';
import { HOLD_PERSON } from './locks.ts';

export function* insertPasskey(
  sql: Sql,
  ...[passkey, entry, seen, confirmedBy]: Parameters<PasskeyStore['insertPasskey']>
): Steps<Awaited<ReturnType<PasskeyStore['insertPasskey']>>> {
  const { principal, created_at } = passkey;
  yield* sql.lock(HOLD_PERSON, principal);
  if (!(yield* usePasskey(sql, principal, confirmedBy, created_at))) return 'stale';
  const outcome = yield* storePasskey(sql, passkey, seen);
  if (outcome === 'inserted') yield* sql.append(entry);
  return outcome;
}

/** Under the lock of the person. */
export function* storePasskey(
  sql: Sql,
  passkey: PasskeyRecord,
  seen: readonly string[],
): Steps<'inserted' | 'taken' | 'stale'> {
  const { principal, credential_id } = passkey;
  const rows = yield* sql.all(IDS, principal);
  if (yield* sql.one(FIND, credential_id)) return 'taken';
  const ids = rows.map((row) => row.credential_id);
  if (!isSameIds(ids, seen)) return 'stale';
  // Another person may take the id meanwhile.
  return (yield* sql.insertNew(INSERT, passkey)) ? 'inserted' : 'taken';
}

export function* findPasskey(
  sql: SqlReader,
  credentialId: string,
): Steps<StoredPasskey | undefined> {
  const row = yield* sql.one(FIND_PASSKEY, credentialId);
  return row && passkeyOf(row);
}

export function* listPasskeys(
  sql: SqlReader,
  principal: string,
  limit: number,
): Steps<readonly StoredPasskey[]> {
  return (yield* sql.all(LIST_PASSKEYS, principal, limit)).map(passkeyOf);
}

export function* removePasskey(
  sql: Sql,
  ...[{ principal, credential_id }, now, entry]: Parameters<PasskeyStore['removePasskey']>
): Steps<boolean> {
  if (!(yield* sql.one(REMOVE, credential_id, principal, now))) return false;
  yield* sql.run(DELETE_REMOVED, credential_id, principal);
  yield* sql.append(entry);
  return true;
}

/** Removes a passkey of the person that does not count yet. False when there is none. */
export function* removeWaitingPasskey(
  sql: Sql,
  { principal, credential_id }: Pick<PasskeyRecord, 'principal' | 'credential_id'>,
  now: Date,
): Steps<boolean> {
  if (!(yield* sql.one(REMOVE_WAITING, credential_id, principal, now))) return false;
  yield* sql.run(DELETE_REMOVED, credential_id, principal);
  return true;
}

/** Whether the passkey is still there; says when it was used. Without one there is nothing to find. */
export function* usePasskey(
  sql: Sql,
  principal: string,
  credentialId: string | undefined,
  now: Date,
): Steps<boolean> {
  if (credentialId === undefined) return true;
  return (yield* sql.one(USE, credentialId, principal, now)) !== undefined;
}

export function passkeyOf({
  last_used_at,
  removed_at,
  ...passkey
}: PasskeyRecord & Omit<StoredPasskey, 'passkey'>): StoredPasskey {
  return { passkey, last_used_at, removed_at };
}

export const PASSKEY = whole<PasskeyRecord, Omit<StoredPasskey, 'passkey'>>(PASSKEYS);
const ID = part(PASSKEYS, 'credential_id');
const LIVING = 'credential_id = $1 AND principal = $2 AND removed_at IS NULL';

const IDS = statement('passkey_ids', ID)`
  SELECT credential_id FROM passkeys WHERE principal = $1`;

const FIND = statement('find_passkey', ID)`
  SELECT credential_id FROM passkeys WHERE credential_id = $1`;

const FIND_PASSKEY = statement('passkey', PASSKEY)`
  SELECT ${columns(PASSKEY)} FROM passkeys WHERE credential_id = $1`;

const INSERT = insertion('insert_passkey', PASSKEYS, '(credential_id)');

export const LIST_PASSKEYS = statement('list_passkeys', PASSKEY)`
  SELECT ${columns(PASSKEY)} FROM passkeys WHERE principal = $1
  ORDER BY created_at, credential_id LIMIT $2`;

const REMOVE = statement('remove_passkey', ID)`
  UPDATE passkeys SET removed_at = $3 WHERE ${LIVING} RETURNING credential_id`;

const REMOVE_WAITING = statement('remove_waiting_passkey', ID)`
  UPDATE passkeys SET removed_at = $3 WHERE ${LIVING} AND usable_from > $3 RETURNING credential_id`;

const USE = statement('use_passkey', ID)`
  UPDATE passkeys SET last_used_at = $3 WHERE ${LIVING} RETURNING credential_id`;

/** Two removals at once leave one each for the other, and the next one deletes both. */
export const DELETE_REMOVED = statement('delete_removed_passkeys')`
  DELETE FROM passkeys WHERE credential_id ${among(
    `SELECT credential_id FROM passkeys
      WHERE principal = $2 AND removed_at IS NOT NULL AND credential_id <> $1
      FOR UPDATE SKIP LOCKED`,
  )}`;
