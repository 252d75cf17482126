/**
 * The part of the storage port for connected accounts: the logins of people at other services.
 *
 * A row holds the tokens that one person got from one other service, encrypted under a key that the database does
 * not have. A person has at most one row for each account. Connecting and ending have an entry; a refresh has none.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';

export interface ConnectedRecord {
  readonly principal: string;
  /** The name of the account in the definition of the service. */
  readonly account: string;
  /** Of this connection: each login of the person gives a new one. */
  readonly connection_id: string;
  /** Counts the changes of this connection. */
  readonly version: number;
  /** The tokens, encrypted. */
  readonly sealed: string;
  readonly scopes: readonly string[];
  readonly connected_at: Date;
  /** Of the access token. Absent where the other service names no end. */
  readonly expires_at?: Date | undefined;
  /** One process renews the tokens, until this time at the latest. */
  readonly renewing_until?: Date | undefined;
  /** Covers every field, so each change makes it anew. */
  readonly mac?: string | undefined;
}

/** Which connection a caller saw. */
type SeenConnection = Pick<ConnectedRecord, 'connection_id' | 'version'>;

export type ConnectedPlace = Pick<ConnectedRecord, 'principal' | 'account'>;

/** Story: [connected](../stories/connected.ts). */
export interface ConnectedStore {
  findConnected(place: ConnectedPlace): Promise<ConnectedRecord | undefined>;

  /** All rows by principal and account, after the one at `after`. */
  listConnected(limit: number, after?: ConnectedPlace): Promise<readonly ConnectedRecord[]>;

  /**
   * Stores the record with its entry, in place of the connection with the id `seen`; without one, where there is
   * none. False, and nothing changes, when there is another. Of concurrent calls with the same `seen` one succeeds.
   */
  connect(record: ConnectedRecord, seen: string | undefined, entry: EntryRecord): Promise<boolean>;

  /**
   * Stores `next` in place of its row while that has exactly the connection and the version in `seen`, and resolves
   * with whether it did. Of concurrent calls with the same `seen` one succeeds.
   */
  replaceConnected(next: ConnectedRecord, seen: SeenConnection): Promise<boolean>;

  /**
   * Deletes the connection with its entry, and resolves with the row as it was. Undefined, and no entry, when the
   * connection is gone; or, where a version is given, when the row has another.
   */
  endConnected(
    place: ConnectedPlace,
    seen: Pick<SeenConnection, 'connection_id'> & Partial<SeenConnection>,
    entry: EntryRecord,
  ): Promise<ConnectedRecord | undefined>;
}
