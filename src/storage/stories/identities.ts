/**
 * Identities.
 *
 * A new identity waits for other new ones, so that their number is counted exactly. A removal locks the row of the
 * identity before it appends its entry, so the log has the removal after the entry that added it.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import type { IdentityStore } from '../port/identity-store.ts';
import type { Sql, SqlReader } from '../sql/sql.ts';
import { columns, insertion, lockOnTable, type Shape, statement } from '../sql/statement.ts';
import { IDENTITIES } from '../tables/people.ts';

type Answer<Name extends keyof IdentityStore> = Steps<Awaited<ReturnType<IdentityStore[Name]>>>;

export function* insertIdentity(
  sql: Sql,
  ...[identity, entry, livingMax]: Parameters<IdentityStore['insertIdentity']>
): Answer<'insertIdentity'> {
  const isTooMany = yield* isFull(sql, livingMax);
  if (yield* sql.one(FIND_IDENTITY, identity.key_sha256)) return 'taken';
  if (isTooMany) return 'full';
  yield* sql.insert(INSERT_IDENTITY, [identity]);
  yield* sql.append(entry);
  return 'inserted';
}

/** Whether no identity can be added. Others that add one wait until this change ends. */
export function* isFull(sql: Sql, livingMax: number): Steps<boolean> {
  yield* sql.lock(HOLD);
  const counted = yield* sql.one(LIVING, livingMax);
  return counted === undefined || counted.living >= livingMax;
}

/** Locks the identity, so that it is not removed before this change ends. */
export function* isLiving(sql: Sql, identityId: string): Steps<boolean> {
  return (yield* sql.one(HOLD_ONE, identityId)) !== undefined;
}

/** Whether the principal has an identity without a key. */
export function* hasPerson(sql: Sql, principal: string, limit: number): Steps<boolean> {
  const identities = yield* sql.all(IDENTITIES_OF, principal, limit);
  return identities.some(({ key_sha256 }) => key_sha256 === undefined);
}

export function* findIdentity(sql: SqlReader, keySha256: string): Answer<'findIdentity'> {
  return yield* sql.one(FIND_IDENTITY, keySha256);
}

export function* identitiesOf(
  sql: SqlReader,
  principal: string,
  limit: number,
): Answer<'identitiesOf'> {
  return yield* sql.all(IDENTITIES_OF, principal, limit);
}

export function* listIdentities(
  sql: SqlReader,
  limit: number,
  after = '',
): Answer<'listIdentities'> {
  const identities = yield* sql.all(LIST_IDENTITIES, after, limit);
  const isFull = identities.length === limit;
  return { identities, next: isFull ? identities.at(-1)?.identity_id : undefined };
}

export function* removeIdentity(
  sql: Sql,
  ...[identityId, removed, entry, actor]: Parameters<IdentityStore['removeIdentity']>
): Answer<'removeIdentity'> {
  const ended = yield* sql.endedActor(actor, sql.now());
  if (ended) return ended;
  const identity = yield* sql.one(HOLD_ONE, identityId);
  if (!identity) return undefined;
  const next = removed(identity);
  yield* sql.run(REMOVE, identityId, next.removed_at, next.removed_by, next.mac);
  yield* sql.append(entry(next));
  return next;
}

const HOLD = lockOnTable('hold_identities', 'identities');
const SELECTED = columns(IDENTITIES);

export const FIND_IDENTITY = statement('find_identity', IDENTITIES)`
  SELECT ${SELECTED} FROM identities WHERE key_sha256 = $1`;

export const IDENTITIES_OF = statement('identities_of', IDENTITIES)`
  SELECT ${SELECTED} FROM identities WHERE principal = $1 AND removed_at IS NULL
  ORDER BY identity_id LIMIT $2`;

export const LIST_IDENTITIES = statement('list_identities', IDENTITIES)`
  SELECT ${SELECTED} FROM identities WHERE identity_id > $1 ORDER BY identity_id LIMIT $2`;

const COUNTED: Shape<{ readonly living: number }> = { fields: { living: 'integer' } };
const LIVING = statement('living_identities', COUNTED)`
  SELECT count(*) AS living FROM (
    SELECT 1 FROM identities WHERE removed_at IS NULL LIMIT $1) counted`;

export const INSERT_IDENTITY = insertion('insert_identity', IDENTITIES);

const HOLD_ONE = statement('hold_identity', IDENTITIES)`
  SELECT ${SELECTED} FROM identities WHERE identity_id = $1 AND removed_at IS NULL FOR UPDATE`;

const REMOVE = statement('remove_identity')`
  UPDATE identities SET removed_at = $2, removed_by = $3, mac = $4 WHERE identity_id = $1`;
