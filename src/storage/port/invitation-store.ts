/**
 * The part of the storage port for invitations: how a person comes to an identity without a key, and to a first passkey.
 *
 * A row has digests of the secret in the link and of the code, never either. Each change has its entry. A person has one
 * open invitation at most.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { IdentityRecord } from './identity-store.ts';
import type { PasskeyRecord } from './passkey-store.ts';

export interface InvitationRecord {
  readonly invitation_id: string;
  /** SHA-256 of the secret in the link, in hex. Two invitations never share it. */
  readonly secret_hash: string;
  /** SHA-256 of secret and code together, so that trying a million codes needs the secret. */
  readonly code_hash: string;
  readonly principal: string;
  /** The identity of a person who is invited again, and keeps it. Absent where enrolment makes the identity. */
  readonly identity_id?: string | undefined;
  readonly scopes: readonly string[];
  readonly subjects: readonly string[];
  readonly caller_class: string;
  readonly caller_classes: readonly string[];
  readonly invited_by: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  /** Covers every field above. */
  readonly mac?: string | undefined;
}

/** How an invitation ended: by an enrolment, by a person, or by wrong codes. */
type InvitationEnd = 'enrolled' | 'cancelled' | 'guessed';

/** An invitation with what changes. The MAC does not cover these. */
export interface StoredInvitation {
  readonly invitation: InvitationRecord;
  /** Wrong codes so far. */
  readonly wrong: number;
  readonly ended_at?: Date | undefined;
  readonly outcome?: InvitationEnd | undefined;
  /** The passkey that it enrolled. */
  readonly credential_id?: string | undefined;
  /** When that passkey counts, where it did not at its enrolment. */
  readonly waits_until?: Date | undefined;
}

/** One attempt to prove the code of an invitation. */
interface CodeAttempt {
  readonly secret_hash: string;
  readonly now: Date;
  readonly wrongMax: number;
  isRight(invitation: InvitationRecord): boolean;
  /** Of the wrong code that ends the invitation. */
  entry(invitation: InvitationRecord): EntryRecord;
}

/** What completes an invitation. */
export interface Enrolment {
  readonly invitation_id: string;
  readonly now: Date;
  readonly passkey: PasskeyRecord;
  /** The person's passkeys as the caller saw them, as for `insertPasskey`. */
  readonly seen: readonly string[];
  /** Made by this enrolment, with its entry; absent where the invitation names one. */
  readonly identity?: { readonly record: IdentityRecord; readonly entry: EntryRecord } | undefined;
  /** Identities that may live, as for `insertIdentity`. */
  readonly livingMax: number;
  /** Of the passkey. */
  readonly entry: EntryRecord;
}

/** The entries of a cancellation. */
interface Cancelling {
  cancelled(stored: StoredInvitation): EntryRecord;
  /** Of the passkey that it enrolled. */
  removed(stored: StoredInvitation): EntryRecord;
}

/** Story: [invitations](../stories/invitations.ts). */
export interface InvitationStore {
  /**
   * Inserts the invitation with its entry, and deletes the person's open one. `full`, and no change, when `openMax` of
   * others are open; each concurrent call may add one beyond. Deletes at most `INVITATIONS_DELETED_MAX` that expired
   * `INVITATION_KEPT_MS` before this one began. Concurrent calls for one person leave one open invitation.
   */
  insertInvitation(
    invitation: InvitationRecord,
    entry: EntryRecord,
    openMax: number,
  ): Promise<'inserted' | 'full'>;

  /** Also one that has ended or expired. */
  findInvitation(invitationId: string): Promise<StoredInvitation | undefined>;

  /** Those that are open, the last to expire first. */
  openInvitations(now: Date, limit: number): Promise<readonly StoredInvitation[]>;

  /** The one of a person that is open. */
  openInvitationOf(principal: string, now: Date): Promise<StoredInvitation | undefined>;

  /** Those that enrolled a passkey which does not count yet, the last to count first; also where it was removed since. */
  waitingInvitations(now: Date, limit: number): Promise<readonly StoredInvitation[]>;

  /**
   * The open invitation with this secret, where its code is right; `unknown` where there is none. A wrong code is counted,
   * and the one that makes `wrongMax` ends the invitation, with its entry: `guessed`. Concurrent attempts are judged one
   * after the other.
   */
  tryCode(attempt: CodeAttempt): Promise<InvitationRecord | 'unknown' | 'wrong' | 'guessed'>;

  /**
   * Ends the invitation as `enrolled`, and inserts passkey and identity with their entries; or changes nothing. `ended`
   * when it is not open, the identity that it names was removed, or it brings one and the person has one by now; `taken` and `stale` as `insertPasskey`, `full` as
   * `insertIdentity`. Of concurrent calls for one invitation one enrols.
   */
  enrol(enrolment: Enrolment): Promise<'enrolled' | 'ended' | 'taken' | 'stale' | 'full'>;

  /**
   * Ends an open invitation as `cancelled`. Of one that enrolled a passkey that does not count yet, removes that passkey.
   * Resolves with what it found; `undefined`, and no entry, where there is neither.
   */
  cancelInvitation(
    invitationId: string,
    now: Date,
    entries: Cancelling,
  ): Promise<StoredInvitation | undefined>;
}

/** In milliseconds: how long a row stays after its invitation expired. */
export const INVITATION_KEPT_MS = 30 * 24 * 3_600_000;

/** Rows that one invitation deletes: more than it adds, so the table shrinks. */
export const INVITATIONS_DELETED_MAX = 100;
