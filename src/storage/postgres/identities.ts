/**
 * Identities.
 *
 * A new identity waits for other new ones, so that their number is counted exactly. A removal locks the row of the
 * identity before it queues its entry, so the log has the removal after the entry that added it.
 *
 * @module
 */

import type { IdentityStore } from '../port/identity-store.ts';
import type { Row } from '../tables/table.ts';
import { endedActor } from './calls/actor.ts';
import type { Database, Statement } from './connection.ts';
import { enqueue } from './log/entries.ts';
import { IDENTITIES } from './rows.ts';

export function createIdentities(database: Database, now: () => Date): IdentityStore {
  return {
    insertIdentity: (identity, entry, livingMax) =>
      database.transaction(async (transaction) => {
        await transaction.run(HOLD);
        const [taken] = await transaction.run(FIND_IDENTITY, [identity.key_sha256]);
        if (taken) return 'taken';
        const [counted] = await transaction.run<{ living: string }>(LIVING, [livingMax]);
        if (Number(counted?.living) >= livingMax) return 'full';
        await transaction.run(INSERT, [IDENTITIES.rows([identity])]);
        await enqueue(transaction, entry);
        return 'inserted';
      }),

    async findIdentity(keySha256) {
      const [row] = await database.read<Row>(FIND_IDENTITY, [keySha256]);
      return row && IDENTITIES.read(row);
    },

    async identitiesOf(principal, limit) {
      const rows = await database.read<Row>(IDENTITIES_OF, [principal, limit]);
      return rows.map(IDENTITIES.read);
    },

    async listIdentities(limit, after = '') {
      const rows = await database.read<Row>(LIST_IDENTITIES, [after, limit]);
      const identities = rows.map(IDENTITIES.read);
      const isFull = identities.length === limit;
      return { identities, next: isFull ? identities.at(-1)?.identity_id : undefined };
    },

    removeIdentity: (identityId, removed, entry, actor) =>
      database.transaction(async (transaction) => {
        const ended = await endedActor(transaction, actor, now());
        if (ended) return ended;
        const [row] = await transaction.run<Row>(HOLD_ONE, [identityId]);
        if (!row) return undefined;
        const next = removed(IDENTITIES.read(row));
        const { removed_at, removed_by, mac = null } = next;
        await transaction.run(REMOVE, [identityId, removed_at, removed_by, mac]);
        await enqueue(transaction, entry(next));
        return next;
      }),
  };
}

const HOLD: Statement = {
  name: 'hold_identities',
  text: 'LOCK TABLE identities IN SHARE ROW EXCLUSIVE MODE',
};

export const FIND_IDENTITY: Statement = {
  name: 'find_identity',
  text: `SELECT ${IDENTITIES.list()} FROM identities WHERE key_sha256 = $1`,
};

export const IDENTITIES_OF: Statement = {
  name: 'identities_of',
  text: `SELECT ${IDENTITIES.list()} FROM identities WHERE principal = $1 AND removed_at IS NULL
    ORDER BY identity_id LIMIT $2`,
};

export const LIST_IDENTITIES: Statement = {
  name: 'list_identities',
  text: `SELECT ${IDENTITIES.list()} FROM identities WHERE identity_id > $1
    ORDER BY identity_id LIMIT $2`,
};

const LIVING: Statement = {
  name: 'living_identities',
  text: `SELECT count(*) AS living FROM (
    SELECT FROM identities WHERE removed_at IS NULL LIMIT $1) counted`,
};

const INSERT: Statement = { name: 'insert_identity', text: IDENTITIES.insert(1) };

const HOLD_ONE: Statement = {
  name: 'hold_identity',
  text: `SELECT ${IDENTITIES.list()} FROM identities WHERE identity_id = $1 AND removed_at IS NULL
    FOR UPDATE`,
};

const REMOVE: Statement = {
  name: 'remove_identity',
  text: `UPDATE identities SET removed_at = $2, removed_by = $3, mac = $4 WHERE identity_id = $1`,
};
