/**
 * Identities and connected accounts in the simulated store.
 *
 * @module
 */

import type {
  ConnectedPlace,
  ConnectedRecord,
  ConnectedStore,
} from '../../../src/storage/port/connected-store.ts';
import type {
  IdentityPage,
  IdentityRecord,
  IdentityStore,
} from '../../../src/storage/port/identity-store.ts';
import type { ActorEnded } from '../../../src/storage/port/records.ts';
import { copiesOf, copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { keyText, textOrder } from './table.ts';
import { endedActor } from './tokens.ts';

export function insertIdentity(
  database: MemoryDatabase,
  ...[identity, entry, livingMax]: Parameters<IdentityStore['insertIdentity']>
): Awaited<ReturnType<IdentityStore['insertIdentity']>> {
  if (findIdentity(database, identity.key_sha256)) return 'taken';
  const living = inOrder(database).filter(({ removed_at }) => removed_at === undefined);
  if (living.length >= livingMax) return 'full';
  database.identities.insert(identity.identity_id, copyOf(identity));
  database.log.append(entry);
  return 'inserted';
}

export function findIdentity(
  { identities }: MemoryDatabase,
  keySha256: string,
): IdentityRecord | undefined {
  for (const row of identities.values()) if (row.key_sha256 === keySha256) return copyOf(row);
  return undefined;
}

export function identitiesOf(
  database: MemoryDatabase,
  ...[principal, limit]: Parameters<IdentityStore['identitiesOf']>
): IdentityRecord[] {
  const rows = inOrder(database).filter((row) => row.principal === principal && !row.removed_at);
  return copiesOf(rows.slice(0, limit));
}

export function listIdentities(
  database: MemoryDatabase,
  ...[limit, after = '']: Parameters<IdentityStore['listIdentities']>
): IdentityPage {
  const rows = inOrder(database).filter(({ identity_id }) => identity_id > after);
  const identities = copiesOf(rows.slice(0, limit));
  return { identities, next: rows.length > limit ? identities.at(-1)?.identity_id : undefined };
}

function inOrder({ identities }: MemoryDatabase): IdentityRecord[] {
  const rows = Array.from(identities.values());
  return rows.sort((one, other) => textOrder(one.identity_id, other.identity_id));
}

export function removeIdentity(
  database: MemoryDatabase,
  now: Date,
  ...[identityId, removed, entry, actor]: Parameters<IdentityStore['removeIdentity']>
): IdentityRecord | ActorEnded | undefined {
  const ended = endedActor(database, actor, now);
  if (ended) return ended;
  const kept = database.identities.get(identityId);
  if (!kept || kept.removed_at) return undefined;
  const next = copyOf(removed(copyOf(kept)));
  database.identities.put(identityId, next);
  database.log.append(entry(copyOf(next)));
  return copyOf(next);
}

export function findConnected(
  { connected }: MemoryDatabase,
  place: ConnectedPlace,
): ConnectedRecord | undefined {
  return copyOf(connected.get(placeText(place)));
}

export function listConnected(
  { connected }: MemoryDatabase,
  ...[limit, after]: Parameters<ConnectedStore['listConnected']>
): ConnectedRecord[] {
  const rows = Array.from(connected.values())
    .filter((row) => !after || byPlace(after, row) < 0)
    .sort(byPlace);
  return copiesOf(rows.slice(0, limit));
}

function byPlace(one: ConnectedPlace, other: ConnectedPlace): number {
  return textOrder(one.principal, other.principal) || textOrder(one.account, other.account);
}

function placeText({ principal, account }: ConnectedPlace): string {
  return keyText(principal, account);
}

export function connect(
  database: MemoryDatabase,
  ...[record, seen, entry]: Parameters<ConnectedStore['connect']>
): boolean {
  const key = placeText(record);
  if (database.connected.get(key)?.connection_id !== seen) return false;
  database.connected.put(key, copyOf(record));
  database.log.append(entry);
  return true;
}

export function replaceConnected(
  { connected }: MemoryDatabase,
  ...[next, seen]: Parameters<ConnectedStore['replaceConnected']>
): boolean {
  const key = placeText(next);
  const kept = connected.get(key);
  if (kept?.connection_id !== seen.connection_id || kept.version !== seen.version) return false;
  connected.put(key, copyOf(next));
  return true;
}

export function endConnected(
  database: MemoryDatabase,
  ...[place, seen, entry]: Parameters<ConnectedStore['endConnected']>
): ConnectedRecord | undefined {
  const key = placeText(place);
  const kept = database.connected.get(key);
  if (kept?.connection_id !== seen.connection_id) return undefined;
  if (seen.version !== undefined && kept.version !== seen.version) return undefined;
  database.connected.remove(key);
  database.log.append(entry);
  return copyOf(kept);
}
