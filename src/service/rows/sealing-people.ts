/**
 * Sealing of the rows of people: sessions, consents, passkeys, invitations, connected accounts and identities.
 *
 * @module
 */

import type { RemovedIdentity } from '../../storage/port/identity-store.ts';
import type { StoredPasskey } from '../../storage/port/passkey-store.ts';
import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import { demand, type Sealed } from './sealing.ts';

export const sealsSession: Sealed<'beginSession'> =
  (next, { seal }) =>
  (session, account, ...rest) => {
    const sealed = seal('account', account);
    return next(seal('session', session), sealed, ...rest);
  };

/** A session that does not match can still end, with an alarm. */
export const verifiesEndedSessions: Sealed<'endSessions'> =
  (next, { check }) =>
  (selector, now, entry) =>
    next(selector, now, (session) => {
      check.isSession({ session, seen_at: now });
      return entry(session);
    });

export const sealsConsent: Sealed<'insertConsent'> =
  (next, { seal }) =>
  (consent, token, entry) =>
    next(seal('consent', consent), seal('token', token), entry);

export const sealsConsentRenewal: Sealed<'renewConsent'> =
  (renew, { seal, check }) =>
  async (next, seen, child, ...[entry, bounds]) => {
    demand(bounds.judged, `renew consent "${next.consent_id}"`);
    const [consent, token] = [seal('consent', next), seal('token', child)];
    const answer = await renew(consent, seen, token, entry, bounds);
    if (answer === 'parent_altered') check.altered('token', child.parent_token_id ?? '');
    return answer;
  };

export const verifiesConsents: Sealed<'listConsents'> =
  (next, { check }) =>
  async (principal, limit, before) => {
    const consents: ConsentRecord[] = [];
    // A shorter page means that none is left, so consents that do not match must not shorten it.
    for (let last = before; ; ) {
      const page = await next(principal, limit, last);
      consents.push(...page.filter(check.isConsent));
      last = page.at(-1);
      const isLast = page.length < limit || Number.isNaN(last?.created_at.getTime());
      if (isLast || consents.length >= limit) return consents.slice(0, limit);
    }
  };

/**
 * A passkey that does not match counts as one that was removed: it confirms nothing, nothing that it says is shown,
 * and the next passkey of its person waits.
 */
export const verifiesPasskeys: Sealed<'listPasskeys'> =
  (next, { check }) =>
  async (...query) => {
    const passkeys = await next(...query);
    return passkeys.map((each) => (check.isPasskey(each) ? each : removedOf(each)));
  };

function removedOf({ passkey }: StoredPasskey): StoredPasskey {
  const { credential_id } = passkey;
  return { passkey: { ...passkey, label: credential_id }, removed_at: new Date(0) };
}

/** An invitation that does not match has no right code. */
export const verifiesCode: Sealed<'tryCode'> =
  (next, { check }) =>
  (attempt) =>
    next({
      ...attempt,
      isRight: (invitation) =>
        check.isInvitation({ invitation, wrong: 0 }) && attempt.isRight(invitation),
    });

export const sealsEnrolment: Sealed<'enrol'> =
  (next, { seal }) =>
  (enrolment) => {
    const { passkey, identity } = enrolment;
    return next({
      ...enrolment,
      passkey: seal('passkey', passkey),
      ...(identity && { identity: { ...identity, record: seal('identity', identity.record) } }),
    });
  };

/**
 * A connected account that does not match counts as absent, and a new login of the person replaces it. It can still
 * be listed and end: its tokens open only for the person and the account that they were sealed for.
 */
export const sealsConnection: Sealed<'connect'> =
  (next, { seal, check, store }) =>
  async (record, seen, entry) => {
    const current = await store.findConnected(record);
    const isHidden = current !== undefined && seen === undefined && !check.isConnected(current);
    const replaced = isHidden ? current.connection_id : seen;
    return next(seal('connected_account', record), replaced, entry);
  };

/**
 * An identity that does not match counts as absent, and so does one of a log that ended. It can still be removed, with
 * an alarm: its row could match again later.
 */
export const sealsRemovedIdentity: Sealed<'removeIdentity'> =
  (next, { seal, check }) =>
  (identityId, removed, ...rest) => {
    const sealed = (identity: RemovedIdentity) => seal('identity', identity);
    return next(
      identityId,
      // An altered row gets no MAC, so fsck names it for as long as it is there.
      (kept) =>
        check.isIdentity(kept) ? sealed(removed(kept)) : removed({ ...kept, mac: undefined }),
      ...rest,
    );
  };
