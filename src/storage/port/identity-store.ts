/**
 * The part of the storage port for identities: credentials that operators add and remove while the service runs.
 *
 * A row has the SHA-256 of a credential, never the credential; the row of an invited person has none. Each change has its entry. A removed row stays, so
 * that its credential cannot be added again and `fsck` can compare it with its entries.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { ActorEnded } from './records.ts';

export interface IdentityRecord {
  readonly identity_id: string;
  /** Of the credential, in hex. Two identities never share it. Absent for a person who signs in with a passkey. */
  readonly key_sha256?: string | undefined;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly subjects: readonly string[];
  readonly caller_class: string;
  readonly caller_classes: readonly string[];
  readonly created_at: Date;
  readonly created_by: string;
  readonly removed_at?: Date | undefined;
  readonly removed_by?: string | undefined;
  /** Covers every field above; a removal makes it anew. */
  readonly mac?: string | undefined;
}

/** Story: [identities](../stories/identities.ts). */
export interface IdentityStore {
  /**
   * Inserts the identity with its entry. `taken` when any identity, also a removed one, has its digest; `full` when
   * `livingMax` identities are not removed. Of concurrent calls with one digest one inserts.
   */
  insertIdentity(
    identity: IdentityRecord,
    entry: EntryRecord,
    livingMax: number,
  ): Promise<'inserted' | 'taken' | 'full'>;

  /** The identity of a credential, by its digest; also a removed one. */
  findIdentity(keySha256: string): Promise<IdentityRecord | undefined>;

  /** The identities of a principal that are not removed, in the order of their ids; at most `limit`. */
  identitiesOf(principal: string, limit: number): Promise<readonly IdentityRecord[]>;

  /** A page of all identities in the order of their ids, and where the next page begins. */
  listIdentities(limit: number, after?: string): Promise<IdentityPage>;

  /**
   * Replaces an identity that is not removed by `removed(identity)`, with its entry. `undefined`, and no entry, when
   * there is none, or it was removed before. Of concurrent removals one happens.
   */
  removeIdentity(
    identityId: string,
    removed: (kept: IdentityRecord) => RemovedIdentity,
    entry: (removed: IdentityRecord) => EntryRecord,
    actor?: string,
  ): Promise<IdentityRecord | ActorEnded | undefined>;
}

export type RemovedIdentity = IdentityRecord & {
  readonly removed_at: Date;
  readonly removed_by: string;
};

interface IdentityPage {
  readonly identities: readonly IdentityRecord[];
  readonly next?: string | undefined;
}
