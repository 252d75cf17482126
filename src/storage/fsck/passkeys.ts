/**
 * Compares stored passkeys with the folded log: whose they are, from when on they count, and which were removed.
 *
 * The MAC of a row does not cover its removal, and a deleted row has none. So a passkey that was removed and counts
 * again, and a person whose rows were deleted and whose next passkey would count at once, are found here.
 *
 * @module
 */

import { digestOf } from '../../domain/wire/canonical.ts';
import type { StoredPasskey } from '../port/passkey-store.ts';
import type { ExpectedPasskey } from './fold.ts';
import { difference, differing, type RowCheck, unexplained } from './rows.ts';

export function checkPasskey(check: RowCheck, { passkey, removed_at }: StoredPasskey): void {
  const { credential_id: id, principal, public_key, rp_id, usable_from } = passkey;
  check.seen.passkey.add(id);
  if (isErased(check)) {
    check.note('passkeys, because entries of sessions were erased');
    return;
  }
  const known = check.expected.passkeys.get(id);
  if (!known) {
    unexplained(check, 'passkey', id, 'session');
    return;
  }
  const logged = loggedOf(known);
  const found = {
    ...{ principal, rp_id, key_digest: digestOf(public_key) },
    usable_from: usable_from.toISOString(),
  };
  for (const each of differing(logged, found)) {
    check.report('passkey', id, difference(each, logged, found));
  }
  if (removed_at === undefined && known.removedBy !== undefined) {
    check.report('passkey', id, `it is not removed, entry ${known.removedBy} says that it was`);
  }
  if (removed_at !== undefined && known.removedBy === undefined) {
    check.report('passkey', id, 'it is removed, no entry says so');
  }
}

function loggedOf({ principal, added }: ExpectedPasskey) {
  const { rp_id, key_digest, usable_from } = added;
  return { principal, rp_id, key_digest, usable_from };
}

/** Reports entries without a row. Of a person's removed passkeys the store keeps one at least. */
export function checkMissingPasskeys(check: RowCheck): void {
  if (isErased(check)) return;
  const { expected, seen, report } = check;
  const lost = new Map<string | null, string>();
  for (const [id, { by, removedBy, principal }] of expected.passkeys) {
    if (removedBy !== undefined) lost.set(principal, id);
    else if (!seen.passkey.has(id)) report('passkey', id, `it is missing, entry ${by} made it`);
  }
  for (const [id, { removedBy, principal }] of expected.passkeys) {
    if (removedBy !== undefined && seen.passkey.has(id)) lost.delete(principal);
  }
  for (const [principal, id] of lost) {
    report('passkey', id, `it is missing, and so is every other that ${principal} removed`);
  }
}

function isErased({ expected: { erased, erasedPersonal } }: RowCheck): boolean {
  return erased.has('session') || erasedPersonal.has('session');
}
