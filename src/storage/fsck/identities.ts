/**
 * Compares stored identities with the folded log: what each may do, who made it, and which were removed.
 *
 * The MAC of a row covers its removal, but someone who kept a copy of the row from before it can put that copy back.
 * The log has the removal, so such a row is found here, and so is a row that was deleted.
 *
 * @module
 */

import type { IdentityRecord } from '../port/identity-store.ts';
import type { ExpectedIdentity } from './fold.ts';
import { difference, differing, type RowCheck, unexplained } from './rows.ts';

export function checkIdentity(check: RowCheck, identity: IdentityRecord): void {
  const { identity_id: id, removed_at } = identity;
  check.seen.identity.add(id);
  const known = check.expected.identities.get(id);
  if (!known) {
    if (areDetailsErased(check)) check.note(ERASED);
    else unexplained(check, 'identity', id, 'operator');
    return;
  }
  const logged = loggedOf(known);
  const found = { ...identity, key_sha256: identity.key_sha256 ?? null };
  for (const each of differing(logged, found)) {
    check.report('identity', id, difference(each, logged, found));
  }
  if (removed_at === undefined && known.removedBy !== undefined) {
    check.report('identity', id, `it is not removed, entry ${known.removedBy} says that it was`);
  }
  if (removed_at === undefined || known.removedBy !== undefined) return;
  if (areDetailsErased(check)) check.note(ERASED);
  else check.report('identity', id, 'it is removed, no entry says so');
}

/** Reports entries without a row. */
export function checkMissingIdentities({ expected, seen, report }: RowCheck): void {
  for (const [id, { by }] of expected.identities) {
    if (!seen.identity.has(id)) report('identity', id, `it is missing, entry ${by} made it`);
  }
}

const ERASED = 'identities, because entries of operators were erased';

function loggedOf({ added, createdBy }: ExpectedIdentity) {
  const { verb: _, ...facts } = added;
  return { ...facts, ...(createdBy !== null && { created_by: createdBy }) };
}

function areDetailsErased({ expected: { erasedPersonal } }: RowCheck): boolean {
  return erasedPersonal.has('operator');
}
