/**
 * Accounts: how a person proves who they are, and whether they still may.
 *
 * Every refresh of a delegation asks here. A person of an identity provider is asked for at the provider,
 * when the configuration says so; a person with a key must still have it, in the
 * configuration or in the store; a person with a passkey must still have that passkey, and the identity of the store that it was enrolled for. What the person is entitled to is read again.
 *
 * @module
 */

import { type Entitlement, withoutDeciding } from '../../domain/authority/entitlement.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { isUsable, maySignIn, PASSKEY_ACCOUNT } from '../../domain/passkey/waiting.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import { sha256Hex, utf8 } from '../../domain/wire/hash.ts';
import type { StoredPasskey } from '../../storage/port/passkey-store.ts';
import type { AccountRecord } from '../../storage/port/sign-in-store.ts';
import { endConsentsOf } from './consents.ts';
import { endSessions } from './entries.ts';
import type { SignInParts } from './parts.ts';
import type { ProvedPerson } from './provider.ts';

/** In milliseconds: a person who was confirmed this recently is not asked for again. */
const CONFIRMED_MS = 60_000;

/** In milliseconds: how long delegations go on while the identity provider cannot be asked. */
const UNCONFIRMED_MAX_MS = 86_400_000;

/** Begins the account id of a configured credential. The digest of the credential follows. */
const KEY = 'key:';

export function keyAccount(principal: string, key: string, now: Date): AccountRecord {
  return { account_id: `${KEY}${sha256Hex(utf8(key))}`, principal, checked_at: now };
}

export function passkeyAccount(principal: string, credentialId: string, now: Date): AccountRecord {
  return { account_id: `${PASSKEY_ACCOUNT}${credentialId}`, principal, checked_at: now };
}

/** The passkey of an account, as far as it still signs in. */
export async function passkeyOf(
  { store }: Pick<SignInParts, 'store'>,
  { account_id: accountId, principal }: Pick<AccountRecord, 'account_id' | 'principal'>,
): Promise<StoredPasskey | undefined> {
  const stored = await store.findPasskey(accountId.slice(PASSKEY_ACCOUNT.length));
  if (stored?.passkey.principal !== principal) return undefined;
  return maySignIn({ ...stored.passkey, ...stored }, store.now()) ? stored : undefined;
}

export function providerAccount(
  parts: SignInParts,
  { principal, issuer, sub, upstream }: ProvedPerson,
): AccountRecord {
  const account_id = digestOf(['provider', issuer, sub]);
  return {
    account_id,
    principal,
    issuer,
    sub,
    upstream: upstream === undefined ? undefined : sealed(parts, account_id, upstream),
    checked_at: parts.store.now(),
  };
}

function sealed({ keyring }: SignInParts, accountId: string, upstream: string): string {
  return keyring.rows.sealText(upstream, `account ${accountId}`);
}

/**
 * What the person of a session or a consent is entitled to now. Undefined when the account is over, and
 * when it is of another principal by now: a session or a consent of the former one has no rights of the
 * latter.
 */
export async function entitlementOf(
  parts: SignInParts,
  { account_id: accountId, principal }: Pick<AccountRecord, 'account_id' | 'principal'>,
): Promise<Entitlement | undefined> {
  const account = await parts.store.findAccount(accountId);
  if (account?.principal !== principal || account.ended_at !== undefined) return undefined;
  const { issuer } = account;
  if (issuer !== undefined) {
    return parts.providers.ofIssuer(issuer) && parts.identities.byRules(principal);
  }
  if (accountId.startsWith(PASSKEY_ACCOUNT)) return passkeyEntitlement(parts, account);
  const entitlement = await parts.identities.byDigest(accountId.slice(KEY.length));
  return entitlement?.principal === principal ? entitlement : undefined;
}

/** While the passkey waits, its person decides and operates nothing: the others can still say that it is not the person's. */
async function passkeyEntitlement(
  parts: SignInParts,
  account: AccountRecord,
): Promise<Entitlement | undefined> {
  const stored = await passkeyOf(parts, account);
  const entitlement = stored && (await parts.identities.ofPerson(stored.passkey));
  if (!stored || !entitlement) return undefined;
  const counts = isUsable({ ...stored.passkey, ...stored }, parts.store.now());
  return counts ? entitlement : withoutDeciding(entitlement);
}

/**
 * Asks the identity provider whether a person may still sign in. When the answer is no, the account
 * ends, and with it the sessions and delegations of the person. Refuses while the provider could not
 * be asked for too long.
 */
export async function confirm(parts: SignInParts, accountId: string): Promise<void> {
  const account = await parts.store.findAccount(accountId);
  if (account?.upstream === undefined || account.ended_at !== undefined) return;
  const now = parts.store.now();
  if (now.getTime() - account.checked_at.getTime() < CONFIRMED_MS) return;
  const asking = { ...account, checked_at: now };
  // Another process asks already. Its answer counts from the next refresh on.
  if (!(await parts.store.replaceAccount(asking, account.checked_at))) return;
  const answer = await ask(parts, account);
  if (answer.state === 'alive') {
    const upstream = sealed(parts, accountId, answer.upstream);
    await parts.store.replaceAccount({ ...asking, upstream }, now);
  } else if (answer.state === 'ended') {
    await endAccount(parts, asking, now);
  } else {
    await parts.store.replaceAccount(account, now);
    refuseUnconfirmed(account, now);
  }
}

function ask(parts: SignInParts, { account_id, issuer, sub = '', upstream }: AccountRecord) {
  const provider = parts.providers.ofIssuer(issuer ?? '');
  const token = parts.keyring.rows.openText(upstream ?? '', `account ${account_id}`);
  // Without a configured provider, or a token that a key opens, the service cannot ask. The account ends.
  if (!provider || token === undefined) return { state: 'ended' as const };
  return provider.check({ upstream: token, sub });
}

function refuseUnconfirmed({ checked_at, issuer }: AccountRecord, now: Date): void {
  if (now.getTime() - checked_at.getTime() <= UNCONFIRMED_MAX_MS) return;
  const detail = `Cannot confirm the person: the identity provider "${issuer}" is not reachable`;
  throw new Refusal(failure('service_unavailable', detail));
}

async function endAccount(parts: SignInParts, account: AccountRecord, seen: Date): Promise<void> {
  const { upstream: _, ...rest } = account;
  await parts.store.replaceAccount({ ...rest, ended_at: parts.store.now() }, seen);
  const { issuer = '', sub = '' } = account;
  await endSessions(parts, { issuer, sub }, 'provider');
  await endConsentsOf(parts, account, 'the identity provider no longer knows the person');
}
