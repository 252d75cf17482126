/**
 * Sign-in in SQLite: sessions, accounts and consents.
 *
 * All of this runs under one write lock, so what was read still holds at the write.
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
  type SignInStore,
  type StoredSession,
  selectionOf,
} from '../port/sign-in-store.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import {
  ACCOUNTS,
  CONSENTS,
  insert,
  optionalTime,
  SESSIONS,
  type SqliteTable,
  timeOf,
} from './rows.ts';
import { insertChild, insertRoot } from './tokens.ts';

export function beginSession(
  connection: Connection,
  log: LogWriter,
  ...[session, account, entry, sessionsMax]: Parameters<SignInStore['beginSession']>
): void {
  const { principal, created_at: now } = session;
  connection.run(END_OLDEST, now, principal, now, sessionsMax - 1);
  connection.run(KEEP_ACCOUNT, ...ACCOUNTS.values(account));
  connection.run(INSERT_SESSION, ...SESSIONS.values(session), now);
  const expiredBefore = new Date(now.getTime() - SESSION_KEPT_MS);
  connection.run(DELETE_EXPIRED, expiredBefore, SESSIONS_DELETED_MAX);
  log.append(entry);
}

export function findSession(connection: Connection, secretHash: string): StoredSession | undefined {
  const row = connection.get<Row>(FIND_SESSION, secretHash);
  return row && storedSessionOf(row);
}

export function touchSession(connection: Connection, sessionId: string, seen_at: Date): void {
  connection.run(
    `UPDATE sessions SET seen_at = ?1
     WHERE session_id = ?2 AND ended_at IS NULL AND seen_at < ?1`,
    seen_at,
    sessionId,
  );
}

export function endSessions(
  connection: Connection,
  log: LogWriter,
  ...[selector, now, entry]: Parameters<SignInStore['endSessions']>
): SessionRecord[] {
  const { columns, values } = selectionOf(selector);
  const rows = connection.all<Row>(selectedSessions(columns), ...values, now);
  const sessions = rows.map(SESSIONS.read);
  for (const session of sessions) {
    connection.run(
      'UPDATE sessions SET ended_at = ? WHERE session_id = ?',
      now,
      session.session_id,
    );
    log.append(entry(session));
  }
  return sessions;
}

export function listSessions(
  connection: Connection,
  ...[principal, now, limit]: Parameters<SignInStore['listSessions']>
): StoredSession[] {
  return connection.all<Row>(LIST_SESSIONS, principal, now, limit).map(storedSessionOf);
}

export function livingSessions(
  connection: Connection,
  ...[now, limit, after]: Parameters<SignInStore['livingSessions']>
): SessionPage {
  const rows = after
    ? connection.all<Row>(NEXT_LIVING_SESSIONS, now, after, limit)
    : connection.all<Row>(LIVING_SESSIONS, now, limit);
  const looked = rows.map(storedSessionOf);
  const next = rows.length === limit ? looked.at(-1)?.session.session_id : undefined;
  return { sessions: looked.filter(({ ended_at }) => ended_at === undefined), next };
}

export function insertConsent(
  connection: Connection,
  log: LogWriter,
  ...[consent, token, entry]: Parameters<SignInStore['insertConsent']>
): void {
  insertRoot(connection, log, token, entry);
  insert(connection, CONSENTS, consent);
}

export function findConsent(
  connection: Connection,
  by: Parameters<SignInStore['findConsent']>[0],
): ConsentRecord | undefined {
  const [[column, value] = []] = Object.entries(by);
  const row = connection.get<Row>(consentBy(column as ConsentKey), value);
  return row && CONSENTS.read(row);
}

export function listConsents(
  connection: Connection,
  ...[principal, limit, before]: Parameters<SignInStore['listConsents']>
): ConsentRecord[] {
  const rows = before
    ? connection.all<Row>(OLDER_CONSENTS, principal, before.created_at, before.consent_id, limit)
    : connection.all<Row>(LIST_CONSENTS, principal, limit);
  return rows.map(CONSENTS.read);
}

export function renewConsent(
  connection: Connection,
  log: LogWriter,
  ...[next, seen, child, entry, bounds]: Parameters<SignInStore['renewConsent']>
): Awaited<ReturnType<SignInStore['renewConsent']>> {
  const { consent_id } = next;
  const { generation, code_used_at } = seen;
  if (!connection.get(SEEN_CONSENT, consent_id, generation, code_used_at)) return 'stale';
  const answer = insertChild(connection, log, child, entry, bounds);
  if (answer !== 'inserted') return answer;
  connection.run(REPLACE_CONSENT, ...CONSENTS.values(next), consent_id);
  return answer;
}

export function findAccount(connection: Connection, accountId: string): AccountRecord | undefined {
  const row = connection.get<Row>('SELECT * FROM accounts WHERE account_id = ?', accountId);
  return row && ACCOUNTS.read(row);
}

export function replaceAccount(connection: Connection, next: AccountRecord, seen: Date): boolean {
  const values = ACCOUNTS.values(next);
  return connection.change(REPLACE_ACCOUNT, ...values, next.account_id, seen) > 0;
}

function storedSessionOf(row: Row): StoredSession {
  return {
    session: SESSIONS.read(row),
    seen_at: timeOf(row.seen_at as bigint),
    ended_at: optionalTime(row.ended_at as bigint | null),
  };
}

function replacement<Kept>(table: SqliteTable<Kept>, condition: string): string {
  return `UPDATE ${table.name} SET (${table.list()}) = (${table.slots}) WHERE ${condition}`;
}

const LIVING = 'ended_at IS NULL AND expires_at > ?';
const NEWEST_FIRST = 'ORDER BY created_at DESC, session_id DESC';

export const END_OLDEST: string = `UPDATE sessions SET ended_at = ? WHERE session_id IN (
  SELECT session_id FROM sessions WHERE principal = ? AND ${LIVING} ${NEWEST_FIRST}
  LIMIT -1 OFFSET ?)`;

const KEEP_ACCOUNT = `INSERT OR REPLACE INTO accounts (${ACCOUNTS.list()})
  VALUES (${ACCOUNTS.slots})`;

const INSERT_SESSION = `INSERT INTO sessions (${SESSIONS.list()}, seen_at)
  VALUES (${SESSIONS.slots}, ?)`;

export const FIND_SESSION = 'SELECT * FROM sessions WHERE secret_hash = ?';

type ConsentKey = 'consent_id' | 'code_hash' | 'token_id';

export function consentBy(column: ConsentKey): string {
  return `SELECT * FROM consents WHERE ${column} = ?`;
}

export const DELETE_EXPIRED = `DELETE FROM sessions WHERE session_id IN (
  SELECT session_id FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;

export function selectedSessions(columns: readonly string[]): string {
  const selected = columns.map((column) => `${column} = ?`).join(' AND ');
  return `SELECT * FROM sessions WHERE ${selected} AND ${LIVING}`;
}

export const LIST_SESSIONS: string = `SELECT * FROM sessions WHERE principal = ? AND ${LIVING}
  ${NEWEST_FIRST} LIMIT ?`;

const LAST_TO_EXPIRE_FIRST = 'ORDER BY expires_at DESC, session_id DESC';

export const LIVING_SESSIONS: string = `SELECT * FROM sessions
  WHERE expires_at > ?1 ${LAST_TO_EXPIRE_FIRST} LIMIT ?2`;

export const NEXT_LIVING_SESSIONS: string = `SELECT * FROM sessions
  WHERE expires_at > ?1 AND (expires_at, session_id) <
    (SELECT expires_at, session_id FROM sessions WHERE session_id = ?2)
  ${LAST_TO_EXPIRE_FIRST} LIMIT ?3`;

export const LIST_CONSENTS = `SELECT * FROM consents WHERE principal = ?
  ORDER BY created_at DESC, consent_id DESC LIMIT ?`;

export const OLDER_CONSENTS = `SELECT * FROM consents
  WHERE principal = ? AND (created_at, consent_id) < (?, ?)
  ORDER BY created_at DESC, consent_id DESC LIMIT ?`;

const SEEN_CONSENT = `SELECT 1 FROM consents
  WHERE consent_id = ? AND generation = ? AND code_used_at IS ?`;

const REPLACE_CONSENT = replacement(CONSENTS, 'consent_id = ?');
const REPLACE_ACCOUNT = replacement(ACCOUNTS, 'account_id = ? AND checked_at = ?');
