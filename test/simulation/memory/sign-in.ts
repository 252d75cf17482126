/**
 * Sign-in in the simulated store: sessions, accounts and consents.
 *
 * @module
 */

import {
  type AccountRecord,
  type ConsentRecord,
  SESSION_KEPT_MS,
  SESSIONS_DELETED_MAX,
  type SessionPage,
  type SessionRecord,
  type SessionSelector,
  type SignInStore,
  type StoredSession,
} from '../../../src/storage/port/sign-in-store.ts';
import { copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { timeOrder } from './table.ts';
import { insertChild, insertRoot } from './tokens.ts';

export function beginSession(
  database: MemoryDatabase,
  ...[session, account, entry, sessionsMax]: Parameters<SignInStore['beginSession']>
): void {
  const { session_id, secret_hash, principal, created_at: now } = session;
  const { sessions } = database;
  if (findSession(database, secret_hash)) {
    throw new Error(`Cannot begin session "${session_id}": another one has its secret`);
  }
  const others = livingOf(database, now).filter((row) => row.session.principal === principal);
  for (const row of others.sort(newerFirst).slice(Math.max(0, sessionsMax - 1))) {
    sessions.put(row.session.session_id, { ...row, ended_at: copyOf(now) });
  }
  database.accounts.put(account.account_id, copyOf(account));
  const expiredBy = now.getTime() - SESSION_KEPT_MS;
  const old = Array.from(sessions.values())
    .filter((row) => row.session.expires_at.getTime() <= expiredBy)
    .sort((one, other) => laterExpiryFirst(other, one))
    .slice(0, SESSIONS_DELETED_MAX);
  for (const row of old) sessions.remove(row.session.session_id);
  sessions.insert(session_id, { session: copyOf(session), seen_at: copyOf(now) });
  database.log.append(entry);
}

export function findSession(
  { sessions }: MemoryDatabase,
  secretHash: string,
): StoredSession | undefined {
  for (const row of sessions.values()) {
    if (row.session.secret_hash === secretHash) return copyOf(row);
  }
  return undefined;
}

export function touchSession(
  { sessions }: MemoryDatabase,
  ...[sessionId, seen_at]: Parameters<SignInStore['touchSession']>
): void {
  const row = sessions.get(sessionId);
  if (!row || row.ended_at || row.seen_at >= seen_at) return;
  sessions.put(sessionId, { ...row, seen_at: copyOf(seen_at) });
}

export function endSessions(
  database: MemoryDatabase,
  ...[selector, now, entry]: Parameters<SignInStore['endSessions']>
): SessionRecord[] {
  const rows = livingOf(database, now).filter(({ session }) => isSelected(session, selector));
  for (const row of rows) {
    database.sessions.put(row.session.session_id, { ...row, ended_at: copyOf(now) });
    database.log.append(entry(copyOf(row.session)));
  }
  return rows.map(({ session }) => copyOf(session));
}

/** The narrower name decides where a selector has several. */
function isSelected(session: SessionRecord, selector: SessionSelector): boolean {
  if ('session_id' in selector) return session.session_id === selector.session_id;
  if ('sid' in selector) return session.issuer === selector.issuer && session.sid === selector.sid;
  if ('sub' in selector) return session.issuer === selector.issuer && session.sub === selector.sub;
  return session.principal === selector.principal;
}

export function listSessions(
  database: MemoryDatabase,
  ...[principal, now, limit]: Parameters<SignInStore['listSessions']>
): StoredSession[] {
  return livingOf(database, now)
    .filter(({ session }) => session.principal === principal)
    .sort(newerFirst)
    .slice(0, limit)
    .map(copyOf);
}

/** Looks at `limit` sessions that have not expired, also at ended ones. */
export function livingSessions(
  { sessions }: MemoryDatabase,
  ...[now, limit, after]: Parameters<SignInStore['livingSessions']>
): SessionPage {
  const place = after === undefined ? undefined : sessions.get(after);
  if (after !== undefined && !place) return { sessions: [], next: undefined };
  const rows = Array.from(sessions.values())
    .filter(({ session }) => session.expires_at > now)
    .filter((row) => !place || laterExpiryFirst(place, row) < 0)
    .sort(laterExpiryFirst);
  const looked = rows.slice(0, limit);
  return {
    sessions: looked.filter(({ ended_at }) => ended_at === undefined).map(copyOf),
    next: rows.length > limit ? looked.at(-1)?.session.session_id : undefined,
  };
}

function livingOf({ sessions }: MemoryDatabase, now: Date): StoredSession[] {
  return Array.from(sessions.values()).filter(({ session, ended_at }) => {
    return ended_at === undefined && session.expires_at > now;
  });
}

function newerFirst({ session: one }: StoredSession, { session: other }: StoredSession): number {
  return timeOrder(other.created_at, one.created_at, [other.session_id, one.session_id]);
}

function laterExpiryFirst(
  { session: one }: StoredSession,
  { session: other }: StoredSession,
): number {
  return timeOrder(other.expires_at, one.expires_at, [other.session_id, one.session_id]);
}

export function insertConsent(
  database: MemoryDatabase,
  ...[consent, token, entry]: Parameters<SignInStore['insertConsent']>
): void {
  const { consent_id, token_id, code_hash } = consent;
  if (findConsent(database, { token_id }) ?? findConsent(database, { code_hash })) {
    throw new Error(`Cannot insert consent "${consent_id}": another one has its token or its code`);
  }
  insertRoot(database, token, entry);
  if (!database.tokens.get(token_id)) {
    throw new Error(`Cannot insert consent "${consent_id}": its token does not exist`);
  }
  database.consents.insert(consent_id, copyOf(consent));
}

export function findConsent(
  { consents }: MemoryDatabase,
  by: Parameters<SignInStore['findConsent']>[0],
): ConsentRecord | undefined {
  if ('consent_id' in by) return copyOf(consents.get(by.consent_id));
  for (const row of consents.values()) {
    const isFound =
      'code_hash' in by ? row.code_hash === by.code_hash : row.token_id === by.token_id;
    if (isFound) return copyOf(row);
  }
  return undefined;
}

export function listConsents(
  { consents }: MemoryDatabase,
  ...[principal, limit, before]: Parameters<SignInStore['listConsents']>
): ConsentRecord[] {
  return Array.from(consents.values())
    .filter((row) => row.principal === principal)
    .filter((row) => !before || byAge(row, before) < 0)
    .sort((one, other) => byAge(other, one))
    .slice(0, limit)
    .map(copyOf);
}

type ConsentAge = Pick<ConsentRecord, 'created_at' | 'consent_id'>;

function byAge(one: ConsentAge, other: ConsentAge): number {
  return timeOrder(one.created_at, other.created_at, [one.consent_id, other.consent_id]);
}

export function renewConsent(
  database: MemoryDatabase,
  ...[next, seen, child, entry, bounds]: Parameters<SignInStore['renewConsent']>
): Awaited<ReturnType<SignInStore['renewConsent']>> {
  const kept = database.consents.get(next.consent_id);
  const isSeen =
    kept?.generation === seen.generation &&
    kept.code_used_at?.getTime() === seen.code_used_at?.getTime();
  if (!isSeen) return 'stale';
  const answer = insertChild(database, child, entry, bounds);
  if (answer === 'inserted') database.consents.put(next.consent_id, copyOf(next));
  return answer;
}

export function findAccount({ accounts }: MemoryDatabase, id: string): AccountRecord | undefined {
  return copyOf(accounts.get(id));
}

export function replaceAccount(
  { accounts }: MemoryDatabase,
  ...[next, seen]: Parameters<SignInStore['replaceAccount']>
): boolean {
  const kept = accounts.get(next.account_id);
  if (kept?.checked_at.getTime() !== seen.getTime()) return false;
  accounts.put(next.account_id, copyOf(next));
  return true;
}
