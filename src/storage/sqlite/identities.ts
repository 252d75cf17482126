/**
 * Identities in SQLite.
 *
 * All of this runs under one write lock, so what was read still holds at the write.
 *
 * @module
 */

import type { IdentityPage, IdentityRecord, IdentityStore } from '../port/identity-store.ts';
import type { ActorEnded } from '../port/records.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import { IDENTITIES, insert } from './rows.ts';
import { endedActor } from './tokens.ts';

export function insertIdentity(
  connection: Connection,
  log: LogWriter,
  ...[identity, entry, livingMax]: Parameters<IdentityStore['insertIdentity']>
): Awaited<ReturnType<IdentityStore['insertIdentity']>> {
  if (connection.get(FIND_IDENTITY, identity.key_sha256)) return 'taken';
  const counted = connection.get<{ living: bigint }>(LIVING, livingMax);
  if (Number(counted?.living) >= livingMax) return 'full';
  insert(connection, IDENTITIES, identity);
  log.append(entry);
  return 'inserted';
}

export function findIdentity(
  connection: Connection,
  keySha256: string,
): IdentityRecord | undefined {
  const row = connection.get<Row>(FIND_IDENTITY, keySha256);
  return row && IDENTITIES.read(row);
}

export function identitiesOf(
  connection: Connection,
  principal: string,
  limit: number,
): IdentityRecord[] {
  return connection.all<Row>(IDENTITIES_OF, principal, limit).map(IDENTITIES.read);
}

export function listIdentities(connection: Connection, limit: number, after = ''): IdentityPage {
  const identities = connection.all<Row>(LIST_IDENTITIES, after, limit).map(IDENTITIES.read);
  const isFull = identities.length === limit;
  return { identities, next: isFull ? identities.at(-1)?.identity_id : undefined };
}

export function removeIdentity(
  connection: Connection,
  log: LogWriter,
  [identityId, removed, entry, actor]: Parameters<IdentityStore['removeIdentity']>,
  now: Date,
): IdentityRecord | ActorEnded | undefined {
  const ended = endedActor(connection, actor, now);
  if (ended) return ended;
  const row = connection.get<Row>(BY_ID, identityId);
  if (!row) return undefined;
  const next = removed(IDENTITIES.read(row));
  connection.run(REMOVE, next.removed_at, next.removed_by, next.mac ?? null, identityId);
  log.append(entry(next));
  return next;
}

/** For fsck: in any state. */
export function readIdentity(connection: Connection, id: string): IdentityRecord | undefined {
  const row = connection.get<Row>('SELECT * FROM identities WHERE identity_id = ?', id);
  return row && IDENTITIES.read(row);
}

export const FIND_IDENTITY = 'SELECT * FROM identities WHERE key_sha256 = ?';
export const IDENTITIES_OF = `SELECT * FROM identities WHERE principal = ? AND removed_at IS NULL
  ORDER BY identity_id LIMIT ?`;
export const LIST_IDENTITIES = `SELECT * FROM identities WHERE identity_id > ?
  ORDER BY identity_id LIMIT ?`;

const LIVING = `SELECT count(*) AS living FROM (
  SELECT 1 FROM identities WHERE removed_at IS NULL LIMIT ?)`;
const BY_ID = 'SELECT * FROM identities WHERE identity_id = ? AND removed_at IS NULL';
const REMOVE = `UPDATE identities SET removed_at = ?, removed_by = ?, mac = ?
  WHERE identity_id = ?`;
