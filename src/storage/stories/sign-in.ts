/**
 * Sign-in: sessions, accounts and consents.
 *
 * A sign-in takes the lock of its person first, so that concurrent ones count each other. Sessions are always locked in the
 * order of their ids. A renewal shares the gate of its token tree before it locks its consent, so that a revocation
 * comes before or after the whole of it.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import {
  type ConsentRecord,
  SELECTIONS,
  SESSION_KEPT_MS,
  SESSIONS_DELETED_MAX,
  type SessionRecord,
  type SignInStore,
  type StoredSession,
  selectionOf,
} from '../port/sign-in-store.ts';
import type { Sql, SqlReader, SqlWriter } from '../sql/sql.ts';
import {
  among,
  columns,
  either,
  insertion,
  LAST_TIME,
  part,
  replacement,
  statement,
  whole,
} from '../sql/statement.ts';
import { ACCOUNTS, CONSENTS, SESSIONS } from '../tables/people.ts';
import { HOLD_PERSON } from './locks.ts';
import { usePasskey } from './passkeys.ts';

type Answer<Name extends keyof SignInStore> = Steps<Awaited<ReturnType<SignInStore[Name]>>>;

export function* beginSession(
  sql: Sql,
  ...[session, account, entry, sessionsMax, credentialId]: Parameters<SignInStore['beginSession']>
): Answer<'beginSession'> {
  const { principal, created_at: now } = session;
  yield* sql.lock(HOLD_PERSON, principal);
  if (yield* sql.one(FIND_ID, session.session_id)) return false;
  if (!(yield* usePasskey(sql, principal, credentialId, now))) return false;
  yield* sql.run(END_OLDEST, principal, now, sessionsMax - 1);
  yield* sql.put(KEEP_ACCOUNT, [account]);
  yield* sql.insert(INSERT_SESSION, [{ ...session, seen_at: now }]);
  const expiredBefore = new Date(now.getTime() - SESSION_KEPT_MS);
  yield* sql.run(DELETE_EXPIRED, expiredBefore, SESSIONS_DELETED_MAX);
  yield* sql.append(entry);
  return true;
}

export function* findSession(sql: SqlReader, secretHash: string): Answer<'findSession'> {
  const row = yield* sql.one(FIND_SESSION, secretHash);
  return row && sessionOf(row);
}

export function* touchSession(
  sql: SqlWriter,
  sessionId: string,
  seen_at: Date,
): Answer<'touchSession'> {
  yield* sql.run(TOUCH, sessionId, seen_at);
}

export function* endSessions(
  sql: Sql,
  ...[selector, now, entry]: Parameters<SignInStore['endSessions']>
): Answer<'endSessions'> {
  const { columns, values } = selectionOf(selector);
  const sessions = yield* sql.all(holdSelected(columns), now, ...values);
  const ids = sessions.map(({ session_id }) => session_id);
  if (ids.length > 0) yield* sql.run(END, ids, now);
  for (const session of sessions) yield* sql.append(entry(session));
  return sessions;
}

export function* listSessions(
  sql: SqlReader,
  ...[principal, now, limit]: Parameters<SignInStore['listSessions']>
): Answer<'listSessions'> {
  return (yield* sql.all(LIST_SESSIONS, principal, now, limit)).map(sessionOf);
}

export function* livingSessions(
  sql: SqlReader,
  ...[now, limit, after]: Parameters<SignInStore['livingSessions']>
): Answer<'livingSessions'> {
  const rows = yield* after === undefined
    ? sql.all(LIVING_SESSIONS, now, limit)
    : sql.all(NEXT_LIVING_SESSIONS, now, limit, after);
  const next = rows.length === limit ? rows.at(-1)?.session_id : undefined;
  return { sessions: rows.filter(({ ended_at }) => !ended_at).map(sessionOf), next };
}

export function* insertConsent(
  sql: Sql,
  ...[consent, token, entry]: Parameters<SignInStore['insertConsent']>
): Answer<'insertConsent'> {
  yield* sql.insertRoot(token, entry);
  yield* sql.insert(INSERT_CONSENT, [consent]);
}

export function* findConsent(
  sql: SqlReader,
  ...[by]: Parameters<SignInStore['findConsent']>
): Answer<'findConsent'> {
  const [[column, value] = []] = Object.entries(by);
  return yield* sql.one(CONSENT_BY[column as keyof typeof CONSENT_BY], value);
}

export function* listConsents(
  sql: SqlReader,
  ...[principal, limit, before]: Parameters<SignInStore['listConsents']>
): Answer<'listConsents'> {
  return yield* sql.all(LIST_CONSENTS, principal, before?.created_at, before?.consent_id, limit);
}

export function* renewConsent(
  sql: Sql,
  ...[next, { generation, code_used_at }, child, entry, bounds]: Parameters<
    SignInStore['renewConsent']
  >
): Answer<'renewConsent'> {
  const { consent_id } = next;
  yield* sql.joinGate(child.parent_token_id);
  const seen = yield* sql.one(HOLD_CONSENT, consent_id, generation, code_used_at);
  if (!seen) return 'stale';
  const answer = yield* sql.insertChild(child, entry, bounds);
  if (answer === 'inserted') yield* sql.replace(RENEW, next, consent_id);
  return answer;
}

export function* findAccount(sql: SqlReader, accountId: string): Answer<'findAccount'> {
  return yield* sql.one(ACCOUNT, accountId);
}

export function* replaceAccount(
  sql: SqlWriter,
  ...[next, seen]: Parameters<SignInStore['replaceAccount']>
): Answer<'replaceAccount'> {
  return yield* sql.replace(REPLACE_ACCOUNT, next, next.account_id, seen);
}

type SessionRow = SessionRecord & Omit<StoredSession, 'session'>;

function sessionOf({ seen_at, ended_at, ...session }: SessionRow): StoredSession {
  return { session, seen_at, ended_at };
}

const SESSION = whole<SessionRecord, Omit<StoredSession, 'session'>>(SESSIONS);
const OF_PERSON = 'principal = $1 AND ended_at IS NULL AND expires_at > $2';
const NEWEST_FIRST = 'ORDER BY created_at DESC, session_id DESC';

/** The living sessions of a person after the newest ones. */
const OLDEST = `SELECT session_id FROM sessions WHERE ${OF_PERSON} ${NEWEST_FIRST}`;

export const END_OLDEST = statement('end_oldest_sessions')`
  UPDATE sessions SET ended_at = $2 WHERE ended_at IS NULL AND session_id ${either({
    sqlite: `IN (${OLDEST} LIMIT -1 OFFSET $3)`,
    postgres: `= ANY (ARRAY(
      SELECT session_id FROM sessions WHERE session_id = ANY (ARRAY(${OLDEST} OFFSET $3::integer))
      ORDER BY session_id FOR NO KEY UPDATE))`,
  })}`;

const KEEP_ACCOUNT = insertion('keep_account', ACCOUNTS, '(account_id)');
const INSERT_SESSION = insertion('insert_session', { name: SESSIONS.name, ...SESSION });

/** Sessions that another transaction locks are left for the next sign-in. */
export const DELETE_EXPIRED = statement('delete_expired_sessions')`
  DELETE FROM sessions WHERE session_id ${among(
    `SELECT session_id FROM sessions WHERE expires_at <= $1 ORDER BY expires_at
      LIMIT $2::integer FOR UPDATE SKIP LOCKED`,
  )}`;

export const FIND_SESSION = statement('find_session', SESSION)`
  SELECT ${columns(SESSION)} FROM sessions WHERE secret_hash = $1`;

const FIND_ID = statement('session_id', part(SESSIONS, 'session_id'))`
  SELECT session_id FROM sessions WHERE session_id = $1`;

const TOUCH = statement('touch_session')`
  UPDATE sessions SET seen_at = $2 WHERE session_id = $1 AND ended_at IS NULL AND seen_at < $2`;

const HELD = new Map(
  SELECTIONS.map((selected) => {
    const values = selected.map((column, index) => `${column} = $${index + 2}`).join(' AND ');
    const held = statement(`hold_sessions_by_${selected.join('_')}`, SESSIONS)`
      SELECT ${columns(SESSIONS)} FROM sessions
      WHERE ${values} AND ended_at IS NULL AND expires_at > $1
      ${either({ postgres: 'ORDER BY session_id FOR NO KEY UPDATE' })}`;
    return [selected.join(), held];
  }),
);

/** The living sessions with given values in these columns. */
export function holdSelected(selected: readonly string[]) {
  const held = HELD.get(selected.join());
  if (!held) throw new Error(`Cannot select sessions by "${selected.join()}"`);
  return held;
}

const END = statement('end_sessions')`
  UPDATE sessions SET ended_at = $2 WHERE session_id = ANY ($1::text[]) AND ended_at IS NULL`;

export const LIST_SESSIONS = statement('list_sessions', SESSION)`
  SELECT ${columns(SESSION)} FROM sessions WHERE ${OF_PERSON} ${NEWEST_FIRST} LIMIT $3`;

const LAST_TO_EXPIRE_FIRST = 'ORDER BY expires_at DESC, session_id DESC LIMIT $2';

export const LIVING_SESSIONS = statement('living_sessions', SESSION)`
  SELECT ${columns(SESSION)} FROM sessions WHERE expires_at > $1 ${LAST_TO_EXPIRE_FIRST}`;

export const NEXT_LIVING_SESSIONS = statement('next_living_sessions', SESSION)`
  SELECT ${columns(SESSION)} FROM sessions
  WHERE expires_at > $1 AND (expires_at, session_id) < ${either({
    sqlite: '(SELECT expires_at, session_id FROM sessions WHERE session_id = $3)',
    postgres: '((SELECT b.expires_at FROM sessions b WHERE b.session_id = $3), $3::text)',
  })}
  ${LAST_TO_EXPIRE_FIRST}`;

const INSERT_CONSENT = insertion('insert_consent', CONSENTS);

export const CONSENT_BY = {
  consent_id: consentBy('consent_id'),
  code_hash: consentBy('code_hash'),
  token_id: consentBy('token_id'),
};

function consentBy(column: keyof ConsentRecord) {
  return statement(`consent_by_${column}`, CONSENTS)`
    SELECT ${columns(CONSENTS)} FROM consents WHERE ${column} = $1`;
}

export const LIST_CONSENTS = statement('list_consents', CONSENTS)`
  SELECT ${columns(CONSENTS)} FROM consents
  WHERE principal = $1 AND (created_at, consent_id)
    < (coalesce($2::timestamptz, ${LAST_TIME}), coalesce($3::text, ''))
  ORDER BY created_at DESC, consent_id DESC LIMIT $4`;

const HOLD_CONSENT = statement('hold_consent', part(CONSENTS, 'consent_id'))`
  SELECT consent_id FROM consents WHERE consent_id = $1 AND generation = $2
    AND code_used_at IS NOT DISTINCT FROM $3::timestamptz
  FOR NO KEY UPDATE`;

const RENEW = replacement('renew_consent', CONSENTS, 'consent_id = $1');

const ACCOUNT = statement('account', ACCOUNTS)`
  SELECT ${columns(ACCOUNTS)} FROM accounts WHERE account_id = $1`;

/** A time is read in milliseconds. An edit below that must not keep every check from being stored. */
const REPLACE_ACCOUNT = replacement(
  'replace_account',
  ACCOUNTS,
  either({
    sqlite: 'account_id = $1 AND checked_at = $2',
    postgres: "account_id = $1 AND date_trunc('milliseconds', checked_at) = $2",
  }),
);
