/**
 * People: who signs in with passkeys, and the rules by which operators, approvers and people themselves manage it.
 *
 * A session whose passkey does not count yet changes nothing here: it may be the one that the others have to end.
 *
 * @module
 */

import { isApproving, widerIdentity } from '../../domain/authority/entitlement.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { isUsable, PASSKEY_ACCOUNT } from '../../domain/passkey/waiting.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type {
  DeviceList,
  InvitationView,
  InvitedPerson,
  PeopleList,
  PersonView,
  Recovery,
} from '../../protocol/console/people.ts';
import type { IdentityRecord } from '../../storage/port/identity-store.ts';
import type { InvitationRecord, StoredInvitation } from '../../storage/port/invitation-store.ts';
import type { SessionRecord } from '../../storage/port/sign-in-store.ts';
import { frozenFor, notOperator } from '../authority/freeze.ts';
import { isPerson, STORED_IDENTITIES_MAX } from '../authority/identities.ts';
import {
  approvingName,
  endIdentity,
  entitlementInPerson,
  type IdentityParts,
  livingIdentities,
} from '../authority/stored-identities.ts';
import { type Caller, holdsScope } from '../caller/caller.ts';
import { passkeysOf, removePasskey } from '../passkey/keys.ts';
import { passkeyOf } from '../sign-in/accounts.ts';
import type { SignInParts } from '../sign-in/parts.ts';
import {
  cancelInvitation,
  invitedApprover,
  newInvitation,
  OPEN_MAX,
  storeInvitation,
} from './invitations.ts';

/** A person at the console. */
export interface AtConsole {
  readonly caller: Caller;
  readonly session: { readonly record: SessionRecord };
}

/** Parts that know the address of the pages. */
export interface PeopleParts extends SignInParts {
  pageUrl(path: `/${string}`): string | undefined;
}

export async function invitePerson(
  parts: PeopleParts,
  { caller, session }: AtConsole,
  request: ConsoleRequest<'people.invite'>,
): Promise<InvitedPerson> {
  refuse(notOperator(caller, 'identities'));
  await refuseWaiting(parts, session.record);
  const maker = entitlementInPerson(caller);
  refuse(await frozenFor(parts, caller.root_principal));
  const { principal } = request;
  const open = await parts.store.openInvitationOf(principal, parts.store.now());
  const mayApprove = open
    ? await isOfApprover(parts, open)
    : await parts.identities.mayApprove(principal);
  refuse(invitedApprover(principal, mayApprove));
  const page = parts.pageUrl('/enrol');
  if (page === undefined) throw new Refusal(failure('not_entitled', NOBODY_ENROLS));
  const { record, secret, code } = await newInvitation(parts, request, maker);
  refuse(widerIdentity(maker, record));
  refuse(await approvingName(parts, maker, record));
  await storeInvitation(parts, record, caller);
  return { ...invitationView(record), link: linkOf(page, secret), code };
}

const NOBODY_ENROLS =
  'Cannot invite: people sign in to the app here, and the service has no page where somebody enrols a passkey';

/** The secret is in the fragment, which no browser sends and no server logs. */
export function linkOf(page: string, secret: string): string {
  return `${page}#${secret}`;
}

export function invitationView(record: InvitationRecord): InvitationView {
  const { invitation_id, principal, invited_by, expires_at } = record;
  return { invitation_id, principal, invited_by, expires_at: expires_at.toISOString() };
}

/** People and open invitations; for operators. */
export async function listPeople(parts: IdentityParts): Promise<PeopleList> {
  const living = await livingIdentities(parts);
  const invitations = await parts.store.openInvitations(parts.store.now(), OPEN_MAX);
  return {
    people: living.filter(isPerson).map(personView),
    invitations: invitations.map(({ invitation }) => invitationView(invitation)),
  };
}

function personView(person: IdentityRecord): PersonView {
  const { identity_id, principal, scopes, subjects, created_at, created_by } = person;
  return {
    identity_id,
    principal,
    scopes,
    subjects,
    created_at: created_at.toISOString(),
    created_by,
  };
}

export async function devicesOf(parts: IdentityParts, principal: string): Promise<DeviceList> {
  return { devices: await passkeysOf(parts, principal) };
}

/**
 * Ends a person: the open invitation, every passkey with its sessions, then the identity; also what is left of one. In this
 * order a stop in between leaves less, never more. A passkey that is added meanwhile signs in for no identity. False where
 * there is nothing.
 */
export async function removePerson(
  parts: IdentityParts,
  principal: string,
  by: Pick<Caller, 'principal' | 'root_principal'>,
): Promise<boolean> {
  const open = await parts.store.openInvitationOf(principal, parts.store.now());
  let isAny =
    open !== undefined && (await cancelInvitation(parts, open.invitation.invitation_id, by));
  for (const { credential_id } of await passkeysOf(parts, principal)) {
    isAny = (await removePasskey(parts, { principal, credential_id }, by.principal)) || isAny;
  }
  const kept = await parts.store.identitiesOf(principal, STORED_IDENTITIES_MAX);
  for (const { identity_id } of kept.filter(isPerson)) {
    isAny = typeof (await endIdentity(parts, identity_id, by)) === 'object' || isAny;
  }
  return isAny;
}

/** Operators at the console remove no person and no device of a person who may approve: that is a way to act as one. */
export async function demandRemovable(
  parts: SignInParts,
  { caller, session }: AtConsole,
  principal: string,
): Promise<void> {
  refuse(notOperator(caller, 'identities'));
  await refuseWaiting(parts, session.record);
  if (!(await parts.identities.mayApprove(principal))) return;
  const detail = `Cannot remove anything of ${principal}, who may approve: only the command at the store does`;
  throw new Refusal(failure('not_entitled', detail));
}

/** By operators; where the person may approve also by the person and by every approver. */
export async function cancelAtConsole(
  parts: SignInParts,
  { caller, session }: AtConsole,
  invitationId: string,
): Promise<boolean> {
  await refuseWaiting(parts, session.record);
  const found = await parts.store.findInvitation(invitationId);
  if (!found) return false;
  const mayEnd = (await isOfApprover(parts, found))
    ? mayObject(caller, found)
    : holdsScope(caller, 'operator:identities');
  return mayEnd ? cancelInvitation(parts, invitationId, caller) : false;
}

/** Of somebody who may approve, now or by this invitation. */
async function isOfApprover(
  { identities }: SignInParts,
  { invitation: { principal, scopes } }: StoredInvitation,
): Promise<boolean> {
  return scopes.some(isApproving) || identities.mayApprove(principal);
}

function mayObject(caller: Caller, { invitation: { principal } }: StoredInvitation): boolean {
  return caller.principal === principal || approves(caller);
}

function approves(caller: Caller): boolean {
  return caller.kind === 'identity' && caller.entitlement.scopes.some(isApproving);
}

/** Invitations of people who may approve, open or with a passkey that waits, for those who can object. */
export async function recoveriesFor(parts: SignInParts, caller: Caller): Promise<Recovery[]> {
  const now = parts.store.now();
  const found: Recovery[] = [];
  for (const stored of [
    ...(await parts.store.waitingInvitations(now, OPEN_MAX)),
    ...(await openFor(parts, caller, now)),
  ]) {
    if (!mayObject(caller, stored)) continue;
    const waits = await waitsUntil(parts, stored, now);
    if (waits === undefined || !(await isOfApprover(parts, stored))) continue;
    found.push({ ...invitationView(stored.invitation), waits_until: waits?.toISOString() ?? null });
  }
  return found;
}

/** Of the open ones, those that the caller may object to are among these. Only an approver reads those of others. */
async function openFor(
  { store }: SignInParts,
  caller: Caller,
  now: Date,
): Promise<readonly StoredInvitation[]> {
  if (approves(caller)) return store.openInvitations(now, OPEN_MAX);
  const own = await store.openInvitationOf(caller.principal, now);
  return own ? [own] : [];
}

/** Null for an open invitation; `undefined` for one that nobody can object to any more. */
async function waitsUntil(
  { store }: SignInParts,
  { ended_at, credential_id }: StoredInvitation,
  now: Date,
): Promise<Date | null | undefined> {
  if (ended_at === undefined) return null;
  const passkey = credential_id === undefined ? undefined : await store.findPasskey(credential_id);
  if (!passkey || passkey.removed_at !== undefined) return undefined;
  const { usable_from } = passkey.passkey;
  return usable_from > now ? usable_from : undefined;
}

/** Refuses a session whose passkey does not count yet. */
export async function refuseWaiting(parts: SignInParts, record: SessionRecord): Promise<void> {
  if (!(await isWaiting(parts, record))) return;
  const detail =
    'Cannot do this: the passkey that you signed in with does not count yet; another one of yours does';
  throw new Refusal(failure('not_entitled', detail));
}

async function isWaiting(parts: SignInParts, record: SessionRecord): Promise<boolean> {
  if (!record.account_id.startsWith(PASSKEY_ACCOUNT)) return false;
  const stored = await passkeyOf(parts, record);
  return !stored || !isUsable({ ...stored.passkey, ...stored }, parts.store.now());
}

/** A session of a passkey that waits removes that passkey alone: the person could not stop it any more. */
export async function removeOwnPasskey(
  parts: SignInParts,
  record: SessionRecord,
  credential_id: string,
): Promise<boolean> {
  const { principal, account_id } = record;
  if (account_id !== `${PASSKEY_ACCOUNT}${credential_id}`) await refuseWaiting(parts, record);
  return removePasskey(parts, { principal, credential_id }, principal);
}
