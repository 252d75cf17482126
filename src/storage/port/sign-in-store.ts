/**
 * The part of the storage port for sign-in: sessions of people, their accounts, and their consents.
 *
 * A session is a person who signed in with a browser. An account is how a person proves who they are. A consent
 * is what a person gave to one client; it stands beside one root token, which is never handed out and holds the
 * authority. All three rows have a MAC. No row has a secret in the clear: a store sees digests and texts that
 * are encrypted.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { TokenRecord } from './records.ts';
import type { ChildBounds, TokenStore } from './token-store.ts';

export interface SessionRecord {
  readonly session_id: string;
  /** SHA-256 of the secret in the cookie, in hex. Two sessions never share it. */
  readonly secret_hash: string;
  readonly principal: string;
  readonly account_id: string;
  /** The identity provider. Absent where an API key proved the person; the same for `sub`. */
  readonly issuer?: string | undefined;
  readonly sub?: string | undefined;
  /** The session at the provider, by which a back-channel logout names it. */
  readonly sid?: string | undefined;
  readonly acr?: string | undefined;
  /** Shown to the person. */
  readonly user_agent: string;
  readonly auth_time: Date;
  readonly created_at: Date;
  /** Absolute: no use of the session moves it. */
  readonly expires_at: Date;
  /** Covers every field above. */
  readonly mac?: string | undefined;
}

/** A session with what changes. The MAC does not cover these: a row with `ended_at` is over in any case. */
export interface StoredSession {
  readonly session: SessionRecord;
  readonly seen_at: Date;
  readonly ended_at?: Date | undefined;
}

export interface AccountRecord {
  /** The digest of issuer and `sub`, or of an API key's principal. */
  readonly account_id: string;
  readonly principal: string;
  readonly issuer?: string | undefined;
  readonly sub?: string | undefined;
  /** The provider's refresh token, encrypted under a key that the database does not have. */
  readonly upstream?: string | undefined;
  /** When the provider last confirmed the person. */
  readonly checked_at: Date;
  /** The provider refused the person at this time: every consent of the account is over. */
  readonly ended_at?: Date | undefined;
  /** Covers every field. */
  readonly mac?: string | undefined;
}

export interface ConsentRecord {
  readonly consent_id: string;
  /** The root token. No other consent has it. */
  readonly token_id: string;
  readonly principal: string;
  readonly subject: string;
  readonly account_id: string;
  readonly client_id: string;
  /** As the client states it. */
  readonly client_name: string;
  readonly redirect_uri: string;
  readonly user_agent: string;
  /** Of PKCE, by S256. */
  readonly challenge: string;
  readonly resource?: string | undefined;
  /** SHA-256 of the authorization code, in hex. Two consents never share it. */
  readonly code_hash: string;
  readonly code_expires_at: Date;
  readonly code_used_at?: Date | undefined;
  /** Of the refresh token that is valid now. 0 until the code is used. */
  readonly generation: number;
  readonly rotated_at?: Date | undefined;
  readonly created_at: Date;
  /** That of the root token. */
  readonly expires_at: Date;
  /** Covers every field, so each change makes it anew. */
  readonly mac?: string | undefined;
}

interface SessionPage {
  readonly sessions: readonly StoredSession[];
  /** The `after` of the next query. Absent when no session is left. */
  readonly next?: string | undefined;
}

/** Which sessions end. Where both are given, `sid` takes precedence over `sub`. */
export type SessionSelector =
  | { readonly session_id: string }
  | { readonly principal: string }
  | { readonly issuer: string; readonly sub: string }
  | { readonly issuer: string; readonly sid: string };

/** Story: [sign-in](../stories/sign-in.ts). */
export interface SignInStore {
  /**
   * Inserts the session with its entry, and stores the account in place of the one with the same id. Ends the
   * oldest of the principal's other living sessions, so that `sessionsMax` remain with this one. Deletes at
   * most `SESSIONS_DELETED_MAX` sessions that expired `SESSION_KEPT_MS` before this one began. Concurrent
   * calls for one principal never leave more than the bound. With a passkey: the person's, which was last used now. False,
   * and nothing changes, when the passkey is gone, or a session of the principal with this id began before.
   */
  beginSession(
    session: SessionRecord,
    account: AccountRecord,
    entry: EntryRecord,
    sessionsMax: number,
    credentialId?: string,
  ): Promise<boolean>;

  /** Also one that has ended or expired. */
  findSession(secretHash: string): Promise<StoredSession | undefined>;

  /** Moves `seen_at` forward, never back, and only while the session has not ended. */
  touchSession(sessionId: string, seen_at: Date): Promise<void>;

  /**
   * Ends the selected sessions that neither ended nor expired before `now`, with one entry for each. Resolves
   * with them. Of two concurrent calls one ends a given session.
   */
  endSessions(
    selector: SessionSelector,
    now: Date,
    entry: (session: SessionRecord) => EntryRecord,
  ): Promise<readonly SessionRecord[]>;

  /** The principal's sessions that neither ended nor expired before `now`, newest first. */
  listSessions(principal: string, now: Date, limit: number): Promise<readonly StoredSession[]>;

  /**
   * The sessions of all people that neither ended nor expired before `now`, the last to expire first, after the
   * session `after`. One query looks at `limit` sessions, also ended ones, so a page may have fewer, even none, and
   * still a `next`. Pages that continue at `next` neither miss nor repeat one.
   */
  livingSessions(now: Date, limit: number, after?: string): Promise<SessionPage>;

  /** Inserts the consent, its root token with the budget, and the entry of the issuance. */
  insertConsent(consent: ConsentRecord, token: TokenRecord, entry: EntryRecord): Promise<void>;

  findConsent(
    by:
      | { readonly consent_id: string }
      | { readonly code_hash: string }
      | { readonly token_id: string },
  ): Promise<ConsentRecord | undefined>;

  /** Newest first; those older than `before`. Includes consents whose token expired or is revoked. */
  listConsents(
    principal: string,
    limit: number,
    before?: Pick<ConsentRecord, 'created_at' | 'consent_id'>,
  ): Promise<readonly ConsentRecord[]>;

  /**
   * Stores `next` in place of its row and inserts the child as `insertChild` does, or changes nothing. `stale`
   * when the row is missing, or its generation or use of the code is not the one in `seen`; this is
   * decided before anything about the parent. Of concurrent calls with the same `seen` one succeeds.
   */
  renewConsent(
    next: ConsentRecord,
    seen: Pick<ConsentRecord, 'generation' | 'code_used_at'>,
    child: TokenRecord,
    entry: EntryRecord,
    bounds: ChildBounds,
  ): Promise<'stale' | Awaited<ReturnType<TokenStore['insertChild']>>>;

  findAccount(accountId: string): Promise<AccountRecord | undefined>;

  /**
   * Stores `next` in place of its row while that still has the `checked_at` in `seen`, and resolves with
   * whether it did: of several processes one checks a person at a time.
   */
  replaceAccount(next: AccountRecord, seen: Date): Promise<boolean>;
}

/** In milliseconds: how long a row stays after its session expired. */
export const SESSION_KEPT_MS = 30 * 24 * 3_600_000;

/** Sessions that one sign-in deletes: more than it adds, so the table shrinks, and few enough for one transaction. */
export const SESSIONS_DELETED_MAX = 100;

type SessionColumn = 'session_id' | 'principal' | 'issuer' | 'sub' | 'sid';

/** The columns by which sessions are selected. The narrower comes first. */
export const SELECTIONS: readonly (readonly SessionColumn[])[] = [
  ['session_id'],
  ['issuer', 'sid'],
  ['issuer', 'sub'],
  ['principal'],
];

/** The columns that a selector names, and their values. */
export function selectionOf(selector: SessionSelector): {
  readonly columns: readonly SessionColumn[];
  readonly values: readonly string[];
} {
  const given: Readonly<Partial<Record<SessionColumn, string>>> = selector;
  const columns = SELECTIONS.find((each) => each.every((column) => given[column] !== undefined));
  if (!columns) throw new Error('Cannot end sessions: the selector names none');
  return { columns, values: columns.map((column) => given[column] as string) };
}
