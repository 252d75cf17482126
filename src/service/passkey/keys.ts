/**
 * The passkeys of a person: adds, lists and removes them.
 *
 * Each change leaves an entry. The entry of a new one has its public key, so that an auditor can tell whose key
 * confirmed a decision without asking the service.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import { readNewPasskey } from '../../domain/passkey/assertion.ts';
import type { RelyingParty } from '../../domain/passkey/relying-party.ts';
import { countsWhen, isUsable, PASSKEY_ACCOUNT, usableFrom } from '../../domain/passkey/waiting.ts';
import { fromBase64url, toBase64url } from '../../domain/wire/base64.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import { sha256, utf8 } from '../../domain/wire/hash.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type { PasskeyOptions } from '../../protocol/console/views.ts';
import type { Passkey } from '../../protocol/decision.ts';
import type { PasskeyAdded } from '../../protocol/passkey.ts';
import type { PasskeyRecord, StoredPasskey } from '../../storage/port/passkey-store.ts';
import type { SessionRecord } from '../../storage/port/sign-in-store.ts';
import { assertionFault, isPasskeyKey } from '../../verify/assertion.ts';
import { actEntry } from '../caller/entries.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { openNonce, type Purpose, sealNonce } from './nonce.ts';

/** Passkeys of one person: devices, and some in a drawer. */
const PASSKEYS_MAX = 20;

/** One more than a person can have is listed: the one that was removed last. */
const LISTED_MAX = PASSKEYS_MAX + 1;

/** Attempts. Each lost race means that the person's passkeys changed meanwhile. */
const ATTEMPTS_MAX = 3;

/** The person of a session. */
type Person = Pick<SessionRecord, 'session_id' | 'principal' | 'created_at' | 'account_id'>;

/** Also the one that was removed last. */
export function knownPasskeys(
  { store }: Pick<ServiceParts, 'store'>,
  principal: string,
): Promise<readonly StoredPasskey[]> {
  return store.listPasskeys(principal, LISTED_MAX);
}

export async function passkeysOf(
  parts: Pick<ServiceParts, 'store'>,
  principal: string,
): Promise<Passkey[]> {
  return livingOf(await knownPasskeys(parts, principal)).map(passkeyView);
}

/** Those that count now. */
export async function usablePasskeys(
  parts: ServiceParts,
  principal: string,
): Promise<readonly StoredPasskey[]> {
  const now = parts.store.now();
  const known = await knownPasskeys(parts, principal);
  return known.filter((each) => isUsable(countedOf(each), now));
}

export async function usableViews(parts: ServiceParts, principal: string): Promise<Passkey[]> {
  return (await usablePasskeys(parts, principal)).map(passkeyView);
}

/** The person's word for a passkey; its id once its row is deleted. */
export async function passkeyLabel(
  parts: ServiceParts,
  principal: string,
  credentialId: string,
): Promise<string> {
  const known = await knownPasskeys(parts, principal);
  const found = known.find(({ passkey }) => passkey.credential_id === credentialId);
  return found?.passkey.label ?? credentialId;
}

function livingOf(known: readonly StoredPasskey[]): StoredPasskey[] {
  return known.filter(({ removed_at }) => removed_at === undefined);
}

function countedOf({ passkey, removed_at }: StoredPasskey) {
  return { usable_from: passkey.usable_from, removed_at };
}

function passkeyView({ passkey, last_used_at }: StoredPasskey): Passkey {
  return {
    credential_id: passkey.credential_id,
    label: passkey.label,
    created_at: passkey.created_at.toISOString(),
    usable_from: passkey.usable_from.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  };
}

/** The relying party; refuses where the service has no name that passkeys could belong to. */
export function relyingParty(parts: ServiceParts): RelyingParty {
  const found = parts.relyingParty();
  if (found) return found;
  const detail =
    'Cannot use passkeys at this address: it is an IP address; set public_url to a name';
  throw new Refusal(failure('not_entitled', detail));
}

export async function passkeyOptions(parts: ServiceParts, person: Person): Promise<PasskeyOptions> {
  const known = await knownPasskeys(parts, person.principal);
  return {
    ...makingOptions(parts, { principal: person.principal, known, purpose: purposeOf(person) }),
    counts: countsWhen(known.map(countedOf), person, parts.store.now()),
  };
}

interface Making {
  readonly principal: string;
  readonly known: readonly StoredPasskey[];
  readonly purpose: Purpose;
}

/** What a browser needs to make a passkey. */
export function makingOptions(
  parts: ServiceParts,
  { principal, known, purpose }: Making,
): Omit<PasskeyOptions, 'counts'> {
  const { rpId } = relyingParty(parts);
  refuseFull(known);
  const service = parts.definition.id;
  return {
    challenge: challengeText(parts, purpose),
    rp_id: rpId,
    rp_name: service,
    // The same for every passkey of the person, and no name: devices show it to no one, and store it.
    user_id: toBase64url(sha256(utf8(`${service}\n${principal}`))),
    user_name: principal,
    exclude: livingOf(known).map(({ passkey }) => passkey.credential_id),
  };
}

/** A nonce as the bytes that a browser gives to the device, in base64url. */
export function challengeText(parts: ServiceParts, purpose: Purpose): string {
  return toBase64url(utf8(sealNonce(parts, purpose)));
}

/** The bytes of a challenge; `undefined` for one that is not for this purpose, or too old. */
export function challengeBytes(
  parts: ServiceParts,
  text: string,
  purpose: Purpose,
): Uint8Array | undefined {
  const bytes = fromBase64url(text);
  const isOurs = bytes && openNonce(parts, new TextDecoder().decode(bytes), purpose);
  return isOurs ? bytes : undefined;
}

function purposeOf({ principal, session_id }: Person): readonly string[] {
  return ['new passkey', principal, session_id];
}

function refuseFull(known: readonly StoredPasskey[]): void {
  if (livingOf(known).length < PASSKEYS_MAX) return;
  const detail = `Cannot add a passkey: you have ${PASSKEYS_MAX}; remove one first`;
  throw new Refusal(failure('not_entitled', detail));
}

export async function addPasskey(
  parts: ServiceParts,
  person: Person,
  made: ConsoleRequest<'passkeys.add'>,
): Promise<Passkey> {
  const { principal } = person;
  const { passkey: read, expected } = await readMade(parts, made, purposeOf(person));
  return storeMade(parts, principal, async (known) => {
    const now = parts.store.now();
    const isConfirmed = await isConfirmedBy(known, made.confirmed_by, expected, now);
    const counts = countsWhen(known.map(countedOf), person, now);
    const usable_from = usableFrom(counts, isConfirmed, now);
    const identity_id = identityBehind(known, person);
    const passkey: PasskeyRecord = {
      ...read,
      principal,
      label: made.label,
      created_at: now,
      usable_from,
      identity_id,
    };
    const seen = known.map((each) => each.passkey.credential_id);
    const entry = addedEntry(parts, passkey);
    const confirmedBy = made.confirmed_by?.credential_id;
    const outcome = await parts.store.insertPasskey(passkey, entry, seen, confirmedBy);
    return outcome === 'inserted' ? passkeyView({ passkey }) : outcome;
  });
}

/** A passkey signs in for the identity that the passkey of its session signs in for. */
function identityBehind(
  known: readonly StoredPasskey[],
  { account_id }: Person,
): string | undefined {
  const own = livingOf(known).find(({ passkey }) => {
    return account_id === `${PASSKEY_ACCOUNT}${passkey.credential_id}`;
  });
  return own?.passkey.identity_id;
}

/** What a browser made, for a challenge with this purpose. Refuses anything else. */
export async function readMade(
  parts: ServiceParts,
  made: Pick<ConsoleRequest<'passkeys.add'>, 'challenge' | 'client_data' | 'authenticator_data'>,
  purpose: Purpose,
) {
  const party = relyingParty(parts);
  const challenge = challengeBytes(parts, made.challenge, purpose);
  if (!challenge) {
    throw unusable('the page took too long or began in another session; begin again');
  }
  const expected = { ...party, challenge };
  const read = readNewPasskey(made, expected);
  if ('fault' in read) throw unusable(read.fault);
  const { id, key: public_key } = read.credential;
  if (!(await isPasskeyKey(public_key))) throw unusable('its public key is not one');
  return {
    passkey: { credential_id: toBase64url(id), public_key, rp_id: party.rpId },
    expected,
  };
}

/** Stores a passkey beside those that the person has, and looks again where they changed meanwhile. */
export async function storeMade<Stored extends object>(
  parts: Pick<ServiceParts, 'store'>,
  principal: string,
  store: (known: readonly StoredPasskey[]) => Promise<Stored | 'taken' | 'stale'>,
): Promise<Stored> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const known = await knownPasskeys(parts, principal);
    refuseFull(known);
    const outcome = await store(known);
    if (outcome === 'taken') throw unusable('it is known already');
    if (outcome !== 'stale') return outcome;
  }
  const detail = 'Cannot add the passkey now: your passkeys change at the same time; try again';
  throw new Refusal(failure('service_unavailable', detail));
}

/** A confirmation that does not hold is refused: without one the passkey would wait, and the person would not know. */
async function isConfirmedBy(
  known: readonly StoredPasskey[],
  confirmation: ConsoleRequest<'passkeys.add'>['confirmed_by'],
  expected: Parameters<typeof assertionFault>[2],
  now: Date,
): Promise<boolean> {
  if (!confirmation) return false;
  const by = known.find(({ passkey }) => passkey.credential_id === confirmation.credential_id);
  if (!by || !isUsable(countedOf(by), now))
    throw unusable('the one that confirms it does not count');
  const wrong = await assertionFault(confirmation, by.passkey.public_key, expected);
  if (wrong) throw unusable(`the confirmation does not hold: ${wrong.fault}`);
  return true;
}

function unusable(why: string): Refusal {
  return new Refusal(failure('invalid_parameters', `Cannot add the passkey: ${why}`));
}

/** Removes a passkey of a person, with an entry that belongs to the person. */
export async function removePasskey(
  parts: Pick<ServiceParts, 'store' | 'platform'>,
  passkey: Pick<PasskeyRecord, 'principal' | 'credential_id'>,
  by: string,
): Promise<boolean> {
  return parts.store.removePasskey(passkey, parts.store.now(), removedEntry(parts, passkey, by));
}

export function removedEntry(
  parts: Pick<ServiceParts, 'store' | 'platform'>,
  { principal, credential_id }: Pick<PasskeyRecord, 'principal' | 'credential_id'>,
  by: string,
) {
  const detail = { verb: 'passkey_removed', credential_id };
  const person = { principal: by, root_principal: principal };
  return actEntry(parts, person, { entry_type: 'session', detail });
}

export function addedEntry(parts: ServiceParts, passkey: PasskeyRecord) {
  const { principal, credential_id, public_key, rp_id, usable_from, label, invitation_id } =
    passkey;
  const detail: PasskeyAdded & { label: string } = {
    verb: 'passkey_added',
    credential_id,
    label,
    public_key,
    key_digest: digestOf(public_key),
    rp_id,
    usable_from: usable_from.toISOString(),
    ...(invitation_id !== undefined && { invitation_id }),
  };
  const person = { principal, root_principal: principal };
  return actEntry(parts, person, { entry_type: 'session', detail });
}
