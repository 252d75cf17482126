/**
 * Passkeys in the simulated store.
 *
 * @module
 */

import type { PasskeyStore, StoredPasskey } from '../../../src/storage/port/passkey-store.ts';
import { copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { timeOrder } from './table.ts';

export function insertPasskey(
  database: MemoryDatabase,
  ...[passkey, entry, seen]: Parameters<PasskeyStore['insertPasskey']>
): Awaited<ReturnType<PasskeyStore['insertPasskey']>> {
  if (database.passkeys.get(passkey.credential_id)) return 'taken';
  const ids = passkeysOf(database, passkey.principal).map((row) => row.passkey.credential_id);
  if (ids.length !== seen.length || ids.some((id) => !seen.includes(id))) return 'stale';
  database.passkeys.insert(passkey.credential_id, { passkey: copyOf(passkey) });
  database.log.append(entry);
  return 'inserted';
}

export function listPasskeys(
  database: MemoryDatabase,
  ...[principal, limit]: Parameters<PasskeyStore['listPasskeys']>
): StoredPasskey[] {
  return passkeysOf(database, principal).slice(0, limit).map(copyOf);
}

/** Oldest first. */
function passkeysOf({ passkeys }: MemoryDatabase, principal: string): StoredPasskey[] {
  return Array.from(passkeys.values())
    .filter(({ passkey }) => passkey.principal === principal)
    .sort(({ passkey: one }, { passkey: other }) => {
      return timeOrder(one.created_at, other.created_at, [one.credential_id, other.credential_id]);
    });
}

export function removePasskey(
  database: MemoryDatabase,
  ...[{ principal, credential_id }, now, entry]: Parameters<PasskeyStore['removePasskey']>
): boolean {
  const kept = livingPasskey(database, principal, credential_id);
  if (!kept) return false;
  for (const row of passkeysOf(database, principal)) {
    if (row.removed_at) database.passkeys.remove(row.passkey.credential_id);
  }
  database.passkeys.put(credential_id, { ...kept, removed_at: copyOf(now) });
  database.log.append(entry);
  return true;
}

/** Notes the use of a passkey. False when the person has no such passkey any more; true without one. */
export function usePasskey(
  database: MemoryDatabase,
  principal: string,
  credentialId: string | undefined,
  now: Date,
): boolean {
  if (credentialId === undefined) return true;
  const kept = livingPasskey(database, principal, credentialId);
  if (!kept) return false;
  database.passkeys.put(credentialId, { ...kept, last_used_at: copyOf(now) });
  return true;
}

function livingPasskey(
  { passkeys }: MemoryDatabase,
  principal: string,
  credentialId: string,
): StoredPasskey | undefined {
  const row = passkeys.get(credentialId);
  return row?.passkey.principal === principal && !row.removed_at ? row : undefined;
}
