/**
 * Invitations.
 *
 * An invitation and an enrolment take the lock of their person first, so that they and the passkeys of one person come one
 * after the other. An attempt at a code and a cancellation know no person yet and lock the row first.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import {
  INVITATION_KEPT_MS,
  INVITATIONS_DELETED_MAX,
  type InvitationRecord,
  type InvitationStore,
  type StoredInvitation,
} from '../port/invitation-store.ts';
import type { Sql, SqlReader } from '../sql/sql.ts';
import { among, columns, insertion, part, statement, whole } from '../sql/statement.ts';
import { INVITATIONS } from '../tables/people.ts';
import { hasPerson, INSERT_IDENTITY, isFull, isLiving } from './identities.ts';
import { HOLD_PERSON } from './locks.ts';
import { removeWaitingPasskey, storePasskey } from './passkeys.ts';

type Answer<Name extends keyof InvitationStore> = Steps<Awaited<ReturnType<InvitationStore[Name]>>>;

export function* insertInvitation(
  sql: Sql,
  ...[invitation, entry, openMax]: Parameters<InvitationStore['insertInvitation']>
): Answer<'insertInvitation'> {
  const { principal, created_at: now } = invitation;
  yield* sql.lock(HOLD_PERSON, principal);
  if (yield* sql.one(OTHER_AFTER, principal, now, openMax - 1)) return 'full';
  yield* sql.run(REPLACE, principal);
  yield* sql.run(
    DELETE_EXPIRED,
    new Date(now.getTime() - INVITATION_KEPT_MS),
    INVITATIONS_DELETED_MAX,
  );
  yield* sql.insert(INSERT, [{ ...invitation, wrong: 0 }]);
  yield* sql.append(entry);
  return 'inserted';
}

export function* findInvitation(sql: SqlReader, invitationId: string): Answer<'findInvitation'> {
  const row = yield* sql.one(FIND_INVITATION, invitationId);
  return row && storedOf(row);
}

export function* openInvitations(
  sql: SqlReader,
  ...[now, limit]: Parameters<InvitationStore['openInvitations']>
): Answer<'openInvitations'> {
  return (yield* sql.all(OPEN_INVITATIONS, now, limit)).map(storedOf);
}

export function* openInvitationOf(
  sql: SqlReader,
  ...[principal, now]: Parameters<InvitationStore['openInvitationOf']>
): Answer<'openInvitationOf'> {
  const row = yield* sql.one(OPEN_INVITATION_OF, principal, now);
  return row && storedOf(row);
}

export function* waitingInvitations(
  sql: SqlReader,
  ...[now, limit]: Parameters<InvitationStore['waitingInvitations']>
): Answer<'waitingInvitations'> {
  return (yield* sql.all(WAITING_INVITATIONS, now, limit)).map(storedOf);
}

export function* tryCode(
  sql: Sql,
  { secret_hash, now, wrongMax, isRight, entry }: Parameters<InvitationStore['tryCode']>[0],
): Answer<'tryCode'> {
  const row = yield* sql.one(HOLD_SECRET, secret_hash, now);
  if (!row) return 'unknown';
  const { invitation, wrong } = storedOf(row);
  if (isRight(invitation)) return invitation;
  yield* sql.run(COUNT_WRONG, invitation.invitation_id);
  if (wrong + 1 < wrongMax) return 'wrong';
  yield* sql.run(END, invitation.invitation_id, now, 'guessed', null, null);
  yield* sql.append(entry(invitation));
  return 'guessed';
}

export function* enrol(
  sql: Sql,
  enrolment: Parameters<InvitationStore['enrol']>[0],
): Answer<'enrol'> {
  const { invitation_id, now, passkey, seen, identity, livingMax, entry } = enrolment;
  yield* sql.lock(HOLD_PERSON, passkey.principal);
  if (identity && (yield* isFull(sql, livingMax))) return 'full';
  const row = yield* sql.one(HOLD_OPEN, invitation_id, now);
  if (row?.principal !== passkey.principal) return 'ended';
  const { identity_id } = row;
  if (identity_id !== undefined && !(yield* isLiving(sql, identity_id))) return 'ended';
  if (identity && (yield* hasPerson(sql, passkey.principal, livingMax))) return 'ended';
  const outcome = yield* storePasskey(sql, passkey, seen);
  if (outcome !== 'inserted') return outcome;
  if (identity) {
    yield* sql.insert(INSERT_IDENTITY, [identity.record]);
    yield* sql.append(identity.entry);
  }
  const waitsUntil = passkey.usable_from > now ? passkey.usable_from : null;
  yield* sql.run(END, invitation_id, now, 'enrolled', passkey.credential_id, waitsUntil);
  yield* sql.append(entry);
  return 'enrolled';
}

export function* cancelInvitation(
  sql: Sql,
  ...[invitationId, now, entries]: Parameters<InvitationStore['cancelInvitation']>
): Answer<'cancelInvitation'> {
  const row = yield* sql.one(HOLD_INVITATION, invitationId);
  const stored = row && storedOf(row);
  if (!stored) return undefined;
  if (stored.ended_at === undefined) {
    yield* sql.run(END, invitationId, now, 'cancelled', null, null);
    yield* sql.append(entries.cancelled(stored));
    return stored;
  }
  const { invitation, credential_id } = stored;
  if (credential_id === undefined) return undefined;
  const waiting = { principal: invitation.principal, credential_id };
  if (!(yield* removeWaitingPasskey(sql, waiting, now))) return undefined;
  yield* sql.append(entries.cancelled(stored));
  yield* sql.append(entries.removed(stored));
  return stored;
}

type InvitationRow = InvitationRecord & Omit<StoredInvitation, 'invitation'>;

function storedOf(row: InvitationRow): StoredInvitation {
  const { wrong, ended_at, outcome, credential_id, waits_until, ...invitation } = row;
  return { invitation, wrong, ended_at, outcome, credential_id, waits_until };
}

const INVITATION = whole<InvitationRecord, Omit<StoredInvitation, 'invitation'>>(INVITATIONS);
const SELECTED = columns(INVITATION);
/** All that are open; those of one person are found by `IS_OPEN`, so that no plan for them reads this index. */
const AMONG_OPEN = 'outcome IS NULL AND expires_at >';
const IS_OPEN = 'ended_at IS NULL AND expires_at > $2';

/** The open one of others after as many as `$3`. */
export const OTHER_AFTER = statement('other_open_invitation', part(INVITATIONS, 'invitation_id'))`
  SELECT invitation_id FROM invitations WHERE ${AMONG_OPEN} $2 AND principal <> $1
  ORDER BY expires_at DESC, invitation_id DESC LIMIT 1 OFFSET $3`;

const REPLACE = statement('replace_invitation')`
  DELETE FROM invitations WHERE principal = $1 AND ended_at IS NULL`;

const DELETE_EXPIRED = statement('delete_expired_invitations')`
  DELETE FROM invitations WHERE invitation_id ${among(
    `SELECT invitation_id FROM invitations WHERE expires_at <= $1 ORDER BY expires_at
      LIMIT $2::integer FOR UPDATE SKIP LOCKED`,
  )}`;

const INSERT = insertion('insert_invitation', { name: INVITATIONS.name, ...INVITATION });

const FIND_INVITATION = statement('find_invitation', INVITATION)`
  SELECT ${SELECTED} FROM invitations WHERE invitation_id = $1`;

export const OPEN_INVITATIONS = statement('open_invitations', INVITATION)`
  SELECT ${SELECTED} FROM invitations WHERE ${AMONG_OPEN} $1
  ORDER BY expires_at DESC, invitation_id DESC LIMIT $2`;

export const OPEN_INVITATION_OF = statement('open_invitation_of', INVITATION)`
  SELECT ${SELECTED} FROM invitations WHERE principal = $1 AND ${IS_OPEN}`;

export const WAITING_INVITATIONS = statement('waiting_invitations', INVITATION)`
  SELECT ${SELECTED} FROM invitations WHERE waits_until > $1
  ORDER BY waits_until DESC, invitation_id DESC LIMIT $2`;

const HOLD_SECRET = statement('hold_invitation_by_secret', INVITATION)`
  SELECT ${SELECTED} FROM invitations WHERE secret_hash = $1 AND ${IS_OPEN} FOR UPDATE`;

const HOLD_OPEN = statement('hold_open_invitation', INVITATION)`
  SELECT ${SELECTED} FROM invitations WHERE invitation_id = $1 AND ${IS_OPEN} FOR UPDATE`;

const HOLD_INVITATION = statement('hold_invitation', INVITATION)`
  SELECT ${SELECTED} FROM invitations WHERE invitation_id = $1 FOR UPDATE`;

const COUNT_WRONG = statement('count_wrong_code')`
  UPDATE invitations SET wrong = wrong + 1 WHERE invitation_id = $1`;

const END = statement('end_invitation')`
  UPDATE invitations SET ended_at = $2, outcome = $3, credential_id = $4, waits_until = $5
  WHERE invitation_id = $1`;
