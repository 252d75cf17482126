/**
 * Sign-in: sessions, accounts and consents.
 *
 * A sign-in takes the lock of its person first, so that concurrent ones count each other. A renewal shares the gate of its token tree before it locks its consent, so that
 * a revocation comes before or after the whole of it.
 *
 * @module
 */

import { newBudget } from '../port/row-forms.ts';
import {
  SESSION_KEPT_MS,
  SESSIONS_DELETED_MAX,
  type SignInStore,
  type StoredSession,
  selectionOf,
} from '../port/sign-in-store.ts';
import { HOLD_PERSON } from '../stories/locks.ts';
import type { Row } from '../tables/table.ts';
import { JOIN_GATE } from './calls/actor.ts';
import type { Database, Statement } from './connection.ts';
import { enqueue, enqueueFrom, ROW_VALUES, rowValues } from './log/entries.ts';
import {
  ACCOUNTS,
  BUDGETS,
  CONSENTS,
  type PostgresTable,
  SESSIONS,
  TOKENS,
  timeOf,
} from './rows.ts';
import { insertChild } from './tokens.ts';

export function createSignIn(database: Database): SignInStore {
  return { ...sessionsIn(database), ...consentsIn(database), ...accountsIn(database) };
}

type SessionMethods = Pick<
  SignInStore,
  | 'beginSession'
  | 'findSession'
  | 'touchSession'
  | 'endSessions'
  | 'listSessions'
  | 'livingSessions'
>;

function sessionsIn(database: Database): SessionMethods {
  return {
    beginSession: (session, account, entry, sessionsMax) =>
      database.transaction(async (transaction) => {
        const { principal, created_at: now } = session;
        await transaction.run(HOLD_PERSON, [principal]);
        const values = [principal, now, sessionsMax - 1];
        const oldest = await transaction.run<{ session_id: string }>(OLDEST, values);
        if (oldest.length > 0) {
          const ids = oldest.map(({ session_id }) => session_id);
          await transaction.run(HOLD, [ids]);
          await transaction.run(END, [ids, now]);
        }
        await transaction.run(KEEP_ACCOUNT, [ACCOUNTS.rows([account])]);
        await transaction.run(INSERT_SESSION, [SESSIONS.rows([session])]);
        const expiredBefore = new Date(now.getTime() - SESSION_KEPT_MS);
        await transaction.run(DELETE_EXPIRED, [expiredBefore, SESSIONS_DELETED_MAX]);
        await enqueue(transaction, entry);
      }),

    async findSession(secretHash) {
      const [row] = await database.read<Row>(FIND_SESSION, [secretHash]);
      return row && storedSessionOf(row);
    },

    async touchSession(sessionId, seen_at) {
      await database.write(TOUCH, [sessionId, seen_at]);
    },

    endSessions: (selector, now, entry) =>
      database.transaction(async (transaction) => {
        const { columns, values } = selectionOf(selector);
        const rows = await transaction.run<Row>(holdSelected(columns), [now, ...values]);
        const sessions = rows.map(SESSIONS.read);
        const ids = sessions.map(({ session_id }) => session_id);
        if (ids.length > 0) await transaction.run(END, [ids, now]);
        for (const session of sessions) await enqueue(transaction, entry(session));
        return sessions;
      }),

    async listSessions(principal, now, limit) {
      const rows = await database.read<Row>(LIST_SESSIONS, [principal, now, limit]);
      return rows.map(storedSessionOf);
    },

    async livingSessions(now, limit, after) {
      const rows = await (after === undefined
        ? database.read<Row>(LIVING_SESSIONS, [now, limit])
        : database.read<Row>(NEXT_LIVING_SESSIONS, [now, limit, after]));
      const looked = rows.map(storedSessionOf);
      const next = rows.length === limit ? looked.at(-1)?.session.session_id : undefined;
      return { sessions: looked.filter(({ ended_at }) => ended_at === undefined), next };
    },
  };
}

type ConsentMethods = Pick<
  SignInStore,
  'insertConsent' | 'findConsent' | 'listConsents' | 'renewConsent'
>;

function consentsIn(database: Database): ConsentMethods {
  return {
    async insertConsent(consent, token, entry) {
      const budget = newBudget(token);
      await database.write(INSERT_CONSENT, [
        ...rowValues([entry]),
        TOKENS.rows([token]),
        BUDGETS.rows(budget ? [budget] : []),
        CONSENTS.rows([consent]),
      ]);
    },

    async findConsent(by) {
      const [[column, value] = []] = Object.entries(by);
      const [row] = await database.read<Row>(consentBy(column as ConsentKey), [value]);
      return row && CONSENTS.read(row);
    },

    async listConsents(principal, limit, before) {
      const values = [principal, before?.created_at, before?.consent_id, limit];
      return (await database.read<Row>(LIST_CONSENTS, values)).map(CONSENTS.read);
    },

    renewConsent: (next, { generation, code_used_at }, token, ...[entry, bounds]) =>
      database.transaction(async (transaction) => {
        await transaction.run(JOIN_GATE, [token.parent_token_id]);
        const values = [next.consent_id, generation, code_used_at];
        const seen = await transaction.run(HOLD_CONSENT, values);
        if (seen.length === 0) return 'stale';
        const answer = await insertChild(transaction.run, { token, entry }, bounds);
        if (answer === 'inserted') await transaction.run(RENEW, [CONSENTS.rows([next])]);
        return answer;
      }),
  };
}

function accountsIn(database: Database): Pick<SignInStore, 'findAccount' | 'replaceAccount'> {
  return {
    async findAccount(accountId) {
      const [row] = await database.read<Row>(ACCOUNT, [accountId]);
      return row && ACCOUNTS.read(row);
    },

    async replaceAccount(next, seen) {
      const rows = await database.write(REPLACE_ACCOUNT, [ACCOUNTS.rows([next]), seen]);
      return rows.length > 0;
    },
  };
}

function storedSessionOf(row: Row): StoredSession {
  const { seen_at, ended_at } = row;
  return {
    session: SESSIONS.read(row),
    seen_at: timeOf(seen_at),
    ended_at: ended_at === null ? undefined : timeOf(ended_at),
  };
}

/** Stores the row in the JSON parameter in place of the one with its key. */
function replacement<Kept>({ name, list }: PostgresTable<Kept>, key: string): string {
  return `UPDATE ${name} t SET (${list()}) = ROW (${list('new')})
    FROM jsonb_populate_record(NULL::${name}, $1::jsonb -> 0) new WHERE t.${key} = new.${key}`;
}

const FIRST = ROW_VALUES + 1;

const NEWEST_FIRST = 'ORDER BY created_at DESC, session_id DESC';

/** The living sessions of a person after the newest ones. */
export const OLDEST: Statement = {
  name: 'oldest_sessions',
  text: `SELECT session_id FROM sessions
    WHERE principal = $1 AND ended_at IS NULL AND expires_at > $2 ${NEWEST_FIRST}
    OFFSET $3::integer`,
};

/** Sessions are always locked in the order of their ids. */
const HOLD: Statement = {
  name: 'hold_sessions',
  text: `SELECT FROM sessions WHERE session_id = ANY ($1::text[])
    ORDER BY session_id FOR NO KEY UPDATE`,
};

export function holdSelected(columns: readonly string[]): Statement {
  const selected = columns.map((column, place) => `${column} = $${place + 2}`).join(' AND ');
  return {
    name: `hold_sessions_by_${columns.join('_')}`,
    text: `SELECT ${SESSIONS.list()} FROM sessions
      WHERE ${selected} AND ended_at IS NULL AND expires_at > $1
      ORDER BY session_id FOR NO KEY UPDATE`,
  };
}

const END: Statement = {
  name: 'end_sessions',
  text: `UPDATE sessions SET ended_at = $2
    WHERE session_id = ANY ($1::text[]) AND ended_at IS NULL`,
};

const KEEP_ACCOUNT: Statement = {
  name: 'keep_account',
  text: `${ACCOUNTS.insert(1)} ON CONFLICT (account_id)
    DO UPDATE SET (${ACCOUNTS.list()}) = ROW (${ACCOUNTS.list('EXCLUDED')})`,
};

const INSERT_SESSION: Statement = {
  name: 'insert_session',
  text: `INSERT INTO sessions (${SESSIONS.list()}, seen_at) SELECT ${SESSIONS.list('new')}, new.created_at
    FROM jsonb_populate_recordset(NULL::sessions, $1::jsonb) new`,
};

/** Sessions that another transaction locks are left for the next sign-in. */
export const DELETE_EXPIRED: Statement = {
  name: 'delete_expired_sessions',
  text: `DELETE FROM sessions WHERE session_id = ANY (ARRAY(
    SELECT session_id FROM sessions WHERE expires_at <= $1 ORDER BY expires_at
    LIMIT $2::integer FOR UPDATE SKIP LOCKED))`,
};

export const FIND_SESSION: Statement = {
  name: 'find_session',
  text: `SELECT ${SESSIONS.list()}, seen_at, ended_at FROM sessions WHERE secret_hash = $1`,
};

const TOUCH: Statement = {
  name: 'touch_session',
  text: `UPDATE sessions SET seen_at = $2
    WHERE session_id = $1 AND ended_at IS NULL AND seen_at < $2`,
};

export const LIST_SESSIONS: Statement = {
  name: 'list_sessions',
  text: `SELECT ${SESSIONS.list()}, seen_at, ended_at FROM sessions
    WHERE principal = $1 AND ended_at IS NULL AND expires_at > $2 ${NEWEST_FIRST} LIMIT $3`,
};

const LIVING = `SELECT ${SESSIONS.list()}, seen_at, ended_at FROM sessions
    WHERE expires_at > $1`;
const LAST_TO_EXPIRE_FIRST = 'ORDER BY expires_at DESC, session_id DESC LIMIT $2';

export const LIVING_SESSIONS: Statement = {
  name: 'living_sessions',
  text: `${LIVING} ${LAST_TO_EXPIRE_FIRST}`,
};

export const NEXT_LIVING_SESSIONS: Statement = {
  name: 'next_living_sessions',
  text: `${LIVING} AND (expires_at, session_id)
      < ((SELECT b.expires_at FROM sessions b WHERE b.session_id = $3), $3::text)
    ${LAST_TO_EXPIRE_FIRST}`,
};

const INSERT_CONSENT: Statement = {
  name: 'insert_consent',
  text: `WITH token AS (${TOKENS.insert(FIRST)}), budget AS (${BUDGETS.insert(FIRST + 1)}),
      consent AS (${CONSENTS.insert(FIRST + 2)})
    ${enqueueFrom(1, '')}`,
};

type ConsentKey = 'consent_id' | 'code_hash' | 'token_id';

export function consentBy(column: ConsentKey): Statement {
  return {
    name: `consent_by_${column}`,
    text: `SELECT ${CONSENTS.list()} FROM consents WHERE ${column} = $1`,
  };
}

export const LIST_CONSENTS: Statement = {
  name: 'list_consents',
  text: `SELECT ${CONSENTS.list()} FROM consents
    WHERE principal = $1 AND (created_at, consent_id)
      < (coalesce($2::timestamptz, 'infinity'), coalesce($3::text, ''))
    ORDER BY created_at DESC, consent_id DESC LIMIT $4`,
};

const HOLD_CONSENT: Statement = {
  name: 'hold_consent',
  text: `SELECT FROM consents WHERE consent_id = $1 AND generation = $2
      AND code_used_at IS NOT DISTINCT FROM $3::timestamptz
    FOR NO KEY UPDATE`,
};

const RENEW: Statement = { name: 'renew_consent', text: replacement(CONSENTS, 'consent_id') };

const ACCOUNT: Statement = {
  name: 'account',
  text: `SELECT ${ACCOUNTS.list()} FROM accounts WHERE account_id = $1`,
};

/** A time is read in milliseconds. An edit below that must not keep every check from being stored. */
const REPLACE_ACCOUNT: Statement = {
  name: 'replace_account',
  text: `${replacement(ACCOUNTS, 'account_id')}
    AND date_trunc('milliseconds', t.checked_at) = $2 RETURNING t.account_id`,
};
