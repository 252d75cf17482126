/**
 * From when on a new passkey counts.
 *
 * A first passkey counts at once, because there is nothing that could confirm it; so the person must have signed
 * in just now. Any other counts at once only when a passkey that counts confirms it. A replacement for a lost one
 * waits, so that the person can notice and remove a passkey that somebody else added. A passkey that an invitation enrols waits
 * where its person may approve and is no newcomer.
 *
 * @module
 */

/** In milliseconds: how long a passkey waits that no other confirmed. */
export const WAITING_MS = 24 * 3_600_000;

/** In milliseconds: the age of a session from which a first passkey counts at once. */
export const FRESH_SESSION_MS = 15 * 60_000;

/** Begins the account id of a passkey. Its credential id follows. */
export const PASSKEY_ACCOUNT = 'passkey:';

/** A passkey, as far as it matters here. */
export interface CountedPasskey {
  readonly usable_from: Date;
  readonly removed_at?: Date | undefined;
}

export function isUsable({ usable_from, removed_at }: CountedPasskey, now: Date): boolean {
  return removed_at === undefined && usable_from <= now;
}

/**
 * Whether the person signs in with it. One that an invitation enrolled signs in at once: it is all that a person has who
 * lost the others. Another one that waits may be somebody else's.
 */
export function maySignIn(
  passkey: CountedPasskey & { readonly invitation_id?: string | undefined },
  now: Date,
): boolean {
  if (passkey.invitation_id === undefined) return isUsable(passkey, now);
  return passkey.removed_at === undefined;
}

/** How a new passkey comes to count. `known` includes one that was removed: its person has lost a passkey. */
export function countsWhen(
  known: readonly CountedPasskey[],
  session: { readonly created_at: Date },
  now: Date,
): 'at_once' | 'when_confirmed' | 'later' {
  if (known.some((each) => isUsable(each, now))) return 'when_confirmed';
  const ageMs = now.getTime() - session.created_at.getTime();
  return known.length === 0 && ageMs <= FRESH_SESSION_MS ? 'at_once' : 'later';
}

export function usableFrom(
  counts: ReturnType<typeof countsWhen>,
  isConfirmed: boolean,
  now: Date,
): Date {
  const isAtOnce = counts === 'at_once' || (counts === 'when_confirmed' && isConfirmed);
  return isAtOnce ? now : new Date(now.getTime() + WAITING_MS);
}
