/**
 * Invitations: how a person comes to an identity without a key, and back to it after a lost device (decision 29).
 *
 * The secret of the link and the code leave the service once, to the person who invites. At the console an operator gives no
 * more than it has, and nothing to a person who may approve; the command at the store gives what its options name. A person
 * who is here already keeps what that person has: an invitation then brings a new passkey and nothing else.
 *
 * @module
 */

import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { digitsHash, newDigits, newSecret, secretHash } from '../../keyring/secrets.ts';
import type { PersonInvite } from '../../protocol/console/people.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { IdentityRecord } from '../../storage/port/identity-store.ts';
import type { InvitationRecord } from '../../storage/port/invitation-store.ts';
import { isPerson, STORED_IDENTITIES_MAX } from '../authority/identities.ts';
import {
  type IdentityParts,
  newIdentity,
  unusableIdentity,
} from '../authority/stored-identities.ts';
import type { Caller } from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { newId } from '../operations/random.ts';
import { removedEntry } from '../passkey/keys.ts';
import { isHuman } from '../sign-in/sessions.ts';

/** Who invites and adds in the name of whoever has the store. */
export const STORE_COMMAND = 'service:store-command';

/** In milliseconds: how long an invitation waits for its person. */
const INVITATION_MS = 24 * 3_600_000;

/** Invitations that are open at once, so that one answer lists all. */
export const OPEN_MAX = 1_000;

/** Who invites, as the entry names it. */
type Actor = Pick<Caller, 'principal' | 'root_principal'>;

export interface NewInvitation {
  readonly record: InvitationRecord;
  /** For the fragment of the link. */
  readonly secret: string;
  /** Given by another way than the link. */
  readonly code: string;
}

/** The invitation of a request, not stored yet. Refuses what no one can give. */
export async function newInvitation(
  parts: IdentityParts,
  request: PersonInvite,
  maker: Parameters<typeof newIdentity>[2],
): Promise<NewInvitation> {
  const { principal } = request;
  if (!isHuman(principal))
    throw cannotInvite(`"${principal}" is not a person: only people sign in`);
  const known = await personIn(parts, principal);
  if (known && namesAuthority(request)) {
    throw cannotInvite(
      `${principal} is a person here and keeps what ${principal} has; name no scope, subject or class`,
    );
  }
  if (!known && (request.scopes ?? []).length === 0) await refuseEmptied(parts, principal);
  const { identity_id, scopes, subjects, caller_class, caller_classes } =
    known ?? newIdentity(parts, request, maker);
  const [secret, code] = [newSecret(), newDigits()];
  const now = parts.store.now();
  const record: InvitationRecord = {
    invitation_id: newId(parts.platform, 'pin_'),
    secret_hash: secretHash(secret) as string,
    code_hash: digitsHash(secret, code),
    principal,
    identity_id: known && identity_id,
    scopes,
    subjects,
    caller_class,
    caller_classes,
    invited_by: maker.principal,
    created_at: now,
    expires_at: new Date(now.getTime() + INVITATION_MS),
  };
  refuse(unusableIdentity(record));
  return { record, secret, code };
}

/** An invitation replaces the open one, and without scopes it would silently take them from who has not enrolled yet. */
async function refuseEmptied({ store }: IdentityParts, principal: string): Promise<void> {
  const before = await store.openInvitationOf(principal, store.now());
  const [scope] = before?.invitation.scopes ?? [];
  if (scope === undefined) return;
  throw cannotInvite(
    `${principal} is invited and has not enrolled yet: name the scopes again, such as "${scope}"`,
  );
}

/** The identity of a person who signs in with passkeys. */
async function personIn(
  { store }: Pick<IdentityParts, 'store'>,
  principal: string,
): Promise<IdentityRecord | undefined> {
  return (await store.identitiesOf(principal, STORED_IDENTITIES_MAX)).find(isPerson);
}

function namesAuthority({ scopes, subjects, caller_class, caller_classes }: PersonInvite): boolean {
  const lists = [scopes, subjects, caller_classes].some((list = []) => list.length > 0);
  return lists || caller_class !== undefined;
}

function cannotInvite(why: string): Refusal {
  return new Refusal(failure('invalid_parameters', `Cannot invite: ${why}`));
}

/** Stores the invitation. Its entry belongs to the person, who finds it among the own ones. */
export async function storeInvitation(
  parts: IdentityParts,
  record: InvitationRecord,
  by: Actor,
): Promise<void> {
  const { invitation_id, principal, identity_id = null, scopes, subjects } = record;
  const detail = {
    verb: 'person_invited',
    invitation_id,
    identity_id,
    scopes: [...scopes],
    subjects: [...subjects],
    caller_class: record.caller_class,
    caller_classes: [...record.caller_classes],
    expires_at: record.expires_at.toISOString(),
  };
  const entry = entryOf(parts, by, principal, detail);
  if ((await parts.store.insertInvitation(record, entry, OPEN_MAX)) === 'inserted') return;
  const full = `Cannot invite: ${OPEN_MAX} invitations are open; cancel one first`;
  throw new Refusal(failure('not_entitled', full));
}

/** Ends an invitation, and the passkey that it enrolled while that does not count. False where there is neither. */
export async function cancelInvitation(
  parts: IdentityParts,
  invitationId: string,
  by: Actor,
): Promise<boolean> {
  const detail = { verb: 'invitation_cancelled', invitation_id: invitationId };
  const found = await parts.store.cancelInvitation(invitationId, parts.store.now(), {
    cancelled: ({ invitation }) => entryOf(parts, by, invitation.principal, detail),
    removed: ({ invitation: { principal }, credential_id = '' }) =>
      removedEntry(parts, { principal, credential_id }, by.principal),
  });
  return found !== undefined;
}

function entryOf(
  parts: IdentityParts,
  { principal }: Actor,
  root_principal: string,
  detail: Record<string, unknown>,
) {
  return actEntry(parts, { principal, root_principal }, { entry_type: 'operator', detail });
}

/** Why no operator invites this person over the wire. The inviter could enrol, and approve in the person's name. */
export function invitedApprover(principal: string, mayApprove: boolean): Failure | undefined {
  if (!mayApprove) return undefined;
  const how = 'only the command at the store invites such a person';
  return failure('not_entitled', `Cannot invite: ${principal} may approve; ${how}`);
}
