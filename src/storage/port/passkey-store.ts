/**
 * The part of the storage port for passkeys: the public keys by which people sign in and confirm decisions.
 *
 * Each change has its entry. A decision or a new passkey names the passkey that confirmed it, and the same step finds that
 * this one is still there, so neither follows the removal of that passkey in the log.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { PasskeyKey } from '../../protocol/passkey.ts';

export interface PasskeyRecord {
  /** Base64url, as the authenticator chose it. Two passkeys never share it. */
  readonly credential_id: string;
  readonly principal: string;
  /** The person's own word for it. */
  readonly label: string;
  readonly public_key: PasskeyKey;
  /** The host that it was made for. */
  readonly rp_id: string;
  readonly created_at: Date;
  /** From when on it counts. */
  readonly usable_from: Date;
  /** The invitation that enrolled it. Its person signs in with it before it counts. */
  readonly invitation_id?: string | undefined;
  /** The person's identity, which it signs in for while that lives. Without one it confirms decisions and signs nobody in. */
  readonly identity_id?: string | undefined;
  /** Covers every field above. */
  readonly mac?: string | undefined;
}

/** A passkey with what changes. The MAC does not cover these: a row with `removed_at` counts for nothing. */
export interface StoredPasskey {
  readonly passkey: PasskeyRecord;
  readonly last_used_at?: Date | undefined;
  readonly removed_at?: Date | undefined;
}

/** Story: [passkeys](../stories/passkeys.ts). */
export interface PasskeyStore {
  /**
   * Inserts the passkey with its entry. `taken` when any person has one with its id; `stale` when the person's
   * passkeys, as they are listed, are not exactly those in `seen`, or `confirmedBy` was removed, so that the caller decides again by
   * what there is. Of concurrent calls with the same `seen` one inserts. The passkey that confirmed it was last used then.
   */
  insertPasskey(
    passkey: PasskeyRecord,
    entry: EntryRecord,
    seen: readonly string[],
    confirmedBy?: string,
  ): Promise<'inserted' | 'taken' | 'stale'>;

  /** Also one that was removed, while its row is there. */
  findPasskey(credentialId: string): Promise<StoredPasskey | undefined>;

  /**
   * The person's passkeys, oldest first; at most `limit`. Includes the one that was removed last: a person who
   * removed all of them is not one who never had any.
   */
  listPasskeys(principal: string, limit: number): Promise<readonly StoredPasskey[]>;

  /**
   * Removes the person's passkey with its entry, and deletes the person's earlier removed ones. False, and no
   * entry, when the person has none with this id, or it was removed before.
   */
  removePasskey(
    passkey: Pick<PasskeyRecord, 'principal' | 'credential_id'>,
    now: Date,
    entry: EntryRecord,
  ): Promise<boolean>;
}

/** Whether the ids are those that a caller saw, in any order. */
export function isSameIds(ids: readonly string[], seen: readonly string[]): boolean {
  return ids.length === seen.length && ids.every((id) => seen.includes(id));
}
