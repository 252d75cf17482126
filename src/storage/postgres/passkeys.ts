/**
 * Passkeys.
 *
 * A new passkey takes the lock of its person first, so that concurrent ones see each other. A decision and a
 * removal lock the row of the passkey before they queue their entries, so the log has them in the order of that lock.
 *
 * @module
 */

import { isSameIds, type PasskeyStore, type StoredPasskey } from '../port/passkey-store.ts';
import type { Row } from '../tables/table.ts';
import type { Database, Session, Statement } from './connection.ts';
import { enqueue } from './log/entries.ts';
import { PASSKEYS, timeOf } from './rows.ts';
import { HOLD_PERSON } from './sign-in.ts';

export function createPasskeys(database: Database): PasskeyStore {
  return {
    insertPasskey: (passkey, entry, seen) =>
      database.transaction(async (transaction) => {
        const { principal, credential_id } = passkey;
        await transaction.run(HOLD_PERSON, [principal]);
        const rows = await transaction.run<{ credential_id: string }>(IDS, [principal]);
        const ids = rows.map((row) => row.credential_id);
        const [taken] = await transaction.run(FIND, [credential_id]);
        if (taken) return 'taken';
        if (!isSameIds(ids, seen)) return 'stale';
        // Another person may take the id meanwhile.
        const inserted = await transaction.run(INSERT, [PASSKEYS.rows([passkey])]);
        if (inserted.length === 0) return 'taken';
        await enqueue(transaction, entry);
        return 'inserted';
      }),

    async listPasskeys(principal, limit) {
      const rows = await database.read<Row>(LIST_PASSKEYS, [principal, limit]);
      return rows.map(passkeyOf);
    },

    removePasskey: ({ principal, credential_id }, now, entry) =>
      database.transaction(async (transaction) => {
        const removed = await transaction.run(REMOVE, [credential_id, principal, now]);
        if (removed.length === 0) return false;
        await transaction.run(DELETE_REMOVED, [credential_id, principal]);
        await enqueue(transaction, entry);
        return true;
      }),
  };
}

export function passkeyOf(row: Row): StoredPasskey {
  return {
    passkey: PASSKEYS.read(row),
    last_used_at: row.last_used_at === null ? undefined : timeOf(row.last_used_at),
    removed_at: row.removed_at === null ? undefined : timeOf(row.removed_at),
  };
}

/** Whether the passkey is still there; says when it was used. Without one there is nothing to find. */
export async function usePasskey(
  session: Session,
  principal: string,
  credentialId: string | undefined,
  now: Date,
): Promise<boolean> {
  if (credentialId === undefined) return true;
  return (await session.run(USE, [credentialId, principal, now])).length > 0;
}

const IDS: Statement = {
  name: 'passkey_ids',
  text: 'SELECT credential_id FROM passkeys WHERE principal = $1',
};

const FIND: Statement = {
  name: 'find_passkey',
  text: 'SELECT 1 AS one FROM passkeys WHERE credential_id = $1',
};

const INSERT: Statement = {
  name: 'insert_passkey',
  text: `${PASSKEYS.insert(1)} ON CONFLICT (credential_id) DO NOTHING RETURNING credential_id`,
};

const LIST_PASSKEYS: Statement = {
  name: 'list_passkeys',
  text: `SELECT ${PASSKEYS.list()}, last_used_at, removed_at FROM passkeys WHERE principal = $1
    ORDER BY created_at, credential_id LIMIT $2`,
};

const REMOVE: Statement = {
  name: 'remove_passkey',
  text: `UPDATE passkeys SET removed_at = $3
    WHERE credential_id = $1 AND principal = $2 AND removed_at IS NULL RETURNING credential_id`,
};

/** Two removals at once leave one each for the other, and the next one deletes both. */
const DELETE_REMOVED: Statement = {
  name: 'delete_removed_passkeys',
  text: `DELETE FROM passkeys WHERE credential_id = ANY (ARRAY(
    SELECT credential_id FROM passkeys
    WHERE principal = $2 AND removed_at IS NOT NULL AND credential_id <> $1 FOR UPDATE SKIP LOCKED))`,
};

const USE: Statement = {
  name: 'use_passkey',
  text: `UPDATE passkeys SET last_used_at = $3 WHERE credential_id = $1 AND principal = $2 AND removed_at IS NULL
    RETURNING credential_id`,
};
