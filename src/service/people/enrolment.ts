/**
 * Enrolment: a person with the link and the code of an invitation makes a passkey, and is signed in.
 *
 * 1. The code is tried: a few wrong ones end the invitation. Opening the link tries nothing.
 * 2. The browser makes the passkey for a challenge that names the invitation and this browser.
 * 3. One change ends the invitation and stores passkey and identity. Of two browsers one enrols.
 *
 * Between the steps the service stores nothing. One text answers every wrong link and every wrong code.
 *
 * @module
 */

import { timingSafeEqual } from 'node:crypto';
import { isApproving } from '../../domain/authority/entitlement.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { usableFrom } from '../../domain/passkey/waiting.ts';
import { digitsHash, secretHash } from '../../keyring/secrets.ts';
import type { PasskeyOptions } from '../../protocol/console/views.ts';
import type { InvitationRecord } from '../../storage/port/invitation-store.ts';
import type { PasskeyRecord, StoredPasskey } from '../../storage/port/passkey-store.ts';
import { frozenFor } from '../authority/freeze.ts';
import { STORED_IDENTITIES_MAX } from '../authority/identities.ts';
import { addedEntry as identityEntry, newIdentity } from '../authority/stored-identities.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { addedEntry, knownPasskeys, makingOptions, readMade, storeMade } from '../passkey/keys.ts';
import { passkeyAccount } from '../sign-in/accounts.ts';
import { sessionEntry } from '../sign-in/entries.ts';
import type { SignInParts } from '../sign-in/parts.ts';
import { begin, type Session } from '../sign-in/sessions.ts';
import { STORE_COMMAND } from './invitations.ts';

/** Codes that an invitation takes. Of a million, so a stranger with the link guesses one in 200,000. */
const WRONG_CODES_MAX = 5;

/** A person in front of a browser, before there is a session. */
export interface Browser {
  /** Of the cookie that the forms of this browser are bound to. */
  readonly secret: string;
  readonly userAgent: string;
}

export interface EnrolmentView {
  readonly invitation_id: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly options: Omit<PasskeyOptions, 'counts'>;
}

export async function beginEnrolment(
  parts: ServiceParts,
  { link, code }: { readonly link: string; readonly code: string },
  browser: Browser,
): Promise<EnrolmentView> {
  const secret_hash = secretHash(link);
  const given = Buffer.from(digitsHash(link, code.replaceAll(/\s/g, '')));
  const found =
    secret_hash === undefined
      ? 'unknown'
      : await parts.store.tryCode({
          secret_hash,
          now: parts.store.now(),
          wrongMax: WRONG_CODES_MAX,
          isRight: ({ code_hash }) => timingSafeEqual(given, Buffer.from(code_hash)),
          entry: (invitation) => guessedEntry(parts, invitation),
        });
  if (typeof found === 'string') throw new Refusal(failure('authentication_required', UNKNOWN));
  const { invitation_id, principal, scopes } = found;
  const known = await knownPasskeys(parts, principal);
  const purpose = purposeOf(invitation_id, browser);
  const options = makingOptions(parts, { principal, known, purpose });
  return { invitation_id, principal, scopes, options };
}

const UNKNOWN =
  'Cannot go on: the link and the code do not belong together, or the invitation has ended; ask for a new one';

/** Whoever has the link acts in the name of the person, and is refused. */
function guessedEntry(parts: ServiceParts, { invitation_id, principal }: InvitationRecord) {
  const detail = `Cannot enrol: ${WRONG_CODES_MAX} codes were wrong; the invitation has ended`;
  const person = { principal, issuer: 'invitation', account_id: invitation_id };
  const refused = failure('authentication_required', detail);
  return sessionEntry(parts, person, 'refused', { failure: refused, invitation_id });
}

/** What a challenge is bound to. */
function purposeOf(invitationId: string, { secret }: Browser): readonly string[] {
  return ['enrolment', invitationId, secretHash(secret) ?? ''];
}

/** What the browser sends when the passkey is made. */
export interface MadeByInvitation {
  readonly invitation_id: string;
  readonly label: string;
  readonly challenge: string;
  readonly client_data: string;
  readonly authenticator_data: string;
}

/** Stores the passkey and begins a session with it. */
export async function completeEnrolment(
  parts: SignInParts,
  made: MadeByInvitation,
  browser: Browser,
): Promise<Session> {
  const { invitation_id, label } = made;
  const { passkey: read } = await readMade(parts, made, purposeOf(invitation_id, browser));
  const stored = await parts.store.findInvitation(invitation_id);
  if (!stored) throw ended();
  const { invitation } = stored;
  const { principal } = invitation;
  await refuseEndedInviter(parts, invitation);
  const passkey = await storeMade(parts, principal, async (known) => {
    // Its row says whether it was used, and no MAC covers that; the MAC of the passkey covers it.
    if (known.some((each) => each.passkey.invitation_id === invitation_id)) throw ended();
    const now = parts.store.now();
    const waits = await isWaiting(parts, invitation, known);
    const usable_from = usableFrom(waits ? 'later' : 'at_once', false, now);
    const made = identityOf(parts, invitation);
    const identity_id = made.identity?.record.identity_id ?? invitation.identity_id;
    const next: PasskeyRecord = {
      ...read,
      principal,
      label,
      created_at: now,
      usable_from,
      invitation_id,
      identity_id,
    };
    const outcome = await parts.store.enrol({
      invitation_id,
      now,
      passkey: next,
      seen: known.map((each) => each.passkey.credential_id),
      ...made,
      livingMax: STORED_IDENTITIES_MAX,
      entry: addedEntry(parts, next),
    });
    if (outcome === 'ended') throw ended();
    if (outcome === 'full') throw full();
    return outcome === 'enrolled' ? next : outcome;
  });
  const account = passkeyAccount(principal, passkey.credential_id, passkey.created_at);
  return begin(parts, account, {
    userAgent: browser.userAgent,
    authTime: passkey.created_at,
    credentialId: passkey.credential_id,
  });
}

/**
 * A newcomer's passkey counts at once. That of a person who may approve already, by whatever credential, waits, so that the
 * others can object.
 */
async function isWaiting(
  { identities }: ServiceParts,
  { principal, identity_id, scopes }: InvitationRecord,
  known: readonly StoredPasskey[],
): Promise<boolean> {
  if (await identities.mayApprove(principal)) return true;
  return (identity_id !== undefined || known.length > 0) && scopes.some(isApproving);
}

/** Refuses what an operator gave who could not give it any more. The command at the store always can. */
async function refuseEndedInviter(
  parts: SignInParts,
  { invited_by }: InvitationRecord,
): Promise<void> {
  if (invited_by === STORE_COMMAND) return;
  const isEntitled = await parts.identities.isEntitled(invited_by, 'operator:identities');
  if (!isEntitled || (await frozenFor(parts, invited_by))) throw ended();
}

/** The identity that the enrolment makes, in the name of the one who invited. */
function identityOf(parts: ServiceParts, invitation: InvitationRecord) {
  const { identity_id, principal, invited_by, caller_class } = invitation;
  if (identity_id !== undefined) return {};
  const { scopes, subjects, caller_classes } = invitation;
  const request = { principal, scopes, subjects, caller_classes };
  const record = newIdentity(parts, request, { principal: invited_by, caller_class });
  const by = { principal: invited_by, root_principal: invited_by };
  return { identity: { record, entry: identityEntry(parts, record, by) } };
}

function ended(): Refusal {
  const detail = 'Cannot enrol: the invitation was used, or has ended; ask for a new one';
  return new Refusal(failure('authentication_required', detail));
}

function full(): Refusal {
  const detail =
    'Cannot enrol: the service has as many people as it can; an operator can remove one';
  return new Refusal(failure('not_entitled', detail));
}
