/**
 * How sessions, consents and root tokens are found: by one range of one index each, however many there are.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../test/support/ends.ts';
import { freshDatabase } from '../../test/support/postgres.ts';
import { openDatabase } from './postgres/connection.ts';
import { settingsOf } from './postgres/options.ts';
import { postgresStatement } from './postgres/sql.ts';
import { openPostgres } from './postgres/store.ts';
import { openConnection } from './sqlite/connection.ts';
import { migrate } from './sqlite/schema/migrations.ts';
import { sqliteText } from './sqlite/sql.ts';
import { FIND_CONNECTED, LIST_CONNECTED } from './stories/connected.ts';
import * as identities from './stories/identities.ts';
import * as invitations from './stories/invitations.ts';
import { LIST_PASSKEYS } from './stories/passkeys.ts';
import * as signIn from './stories/sign-in.ts';
import * as tokens from './stories/tokens.ts';

/** SQLite names the index of a UNIQUE column by its number. */
const SQLITE_PLANS: [query: string, plans: string[]][] = [
  [sqliteText(signIn.FIND_SESSION), ['sqlite_autoindex_sessions_2 (secret_hash=?)']],
  [sqliteText(signIn.LIST_SESSIONS), ['sessions_by_principal (principal=? AND ended_at=?)']],
  [
    sqliteText(signIn.END_OLDEST),
    [
      'sqlite_autoindex_sessions_1 (session_id=?)',
      'sessions_by_principal (principal=? AND ended_at=?)',
    ],
  ],
  [
    sqliteText(signIn.DELETE_EXPIRED),
    ['sqlite_autoindex_sessions_1 (session_id=?)', 'sessions_by_expiry (expires_at<?)'],
  ],
  [
    sqliteText(signIn.holdSelected(['principal'])),
    ['sessions_by_principal (principal=? AND ended_at=?)'],
  ],
  [
    sqliteText(signIn.holdSelected(['issuer', 'sub'])),
    ['sessions_by_sub (sub=? AND issuer=? AND ended_at=?)'],
  ],
  [
    sqliteText(signIn.holdSelected(['issuer', 'sid'])),
    ['sessions_by_sid (sid=? AND issuer=? AND ended_at=?)'],
  ],
  [sqliteText(signIn.LIVING_SESSIONS), ['sessions_by_expiry (expires_at>?)']],
  [
    sqliteText(signIn.NEXT_LIVING_SESSIONS),
    [
      'sessions_by_expiry (expires_at>? AND expires_at<?)',
      'sqlite_autoindex_sessions_1 (session_id=?)',
    ],
  ],
  [sqliteText(tokens.ROOTS), ['tokens_by_root (root_principal=?)']],
  [
    sqliteText(tokens.OLDER_ROOTS),
    [
      'tokens_by_root (root_principal=? AND (issued_at,token_id)<(?,?))',
      'sqlite_autoindex_tokens_1 (token_id=?)',
    ],
  ],
  [sqliteText(signIn.CONSENT_BY.code_hash), ['sqlite_autoindex_consents_3 (code_hash=?)']],
  [sqliteText(signIn.CONSENT_BY.token_id), ['sqlite_autoindex_consents_2 (token_id=?)']],
  [sqliteText(LIST_PASSKEYS), ['passkeys_by_principal (principal=?)']],
  [sqliteText(invitations.OPEN_INVITATIONS), ['invitations_open (expires_at>?)']],
  [
    sqliteText(invitations.OPEN_INVITATION_OF),
    ['invitations_by_principal (principal=? AND ended_at=?)'],
  ],
  [sqliteText(invitations.WAITING_INVITATIONS), ['invitations_waiting (waits_until>?)']],
  [sqliteText(invitations.OTHER_AFTER), ['invitations_open (expires_at>?)']],
  [sqliteText(identities.FIND_IDENTITY), ['sqlite_autoindex_identities_2 (key_sha256=?)']],
  [sqliteText(identities.IDENTITIES_OF), ['identities_by_principal (principal=?)']],
  [sqliteText(identities.LIST_IDENTITIES), ['sqlite_autoindex_identities_1 (identity_id>?)']],
  [
    sqliteText(FIND_CONNECTED),
    ['sqlite_autoindex_connected_accounts_1 (principal=? AND account=?)'],
  ],
  [
    sqliteText(LIST_CONNECTED),
    ['sqlite_autoindex_connected_accounts_1 ((principal,account)>(?,?))'],
  ],
  [
    sqliteText(signIn.LIST_CONSENTS),
    ['consents_by_principal (principal=? AND (created_at,consent_id)<(?,?))'],
  ],
];
for (const [query, plans] of SQLITE_PLANS) {
  test(`SQLite uses ${plans.join(' and ')}, and neither scans nor sorts`, () => {
    const connection = openConnection(':memory:');
    migrate(connection);
    const steps = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${query}`);
    connection.close();

    const details = steps.map(({ detail }) => detail);
    for (const plan of plans) {
      assert.ok(
        details.some((detail) => detail.endsWith(plan)),
        details.join('\n'),
      );
    }
    assert.ok(!details.some((detail) => /^SCAN|TEMP B-TREE/.test(detail)), details.join('\n'));
  });
}

const BY_PRINCIPAL =
  /Index Scan using sessions_by_principal .*\n *Index Cond: \(\(principal = .*ended_at IS NULL/;

/** Sessions of one person that did not end are few, so they may be sorted. */
const POSTGRES_PLANS: [{ text: string }, plan: RegExp, isSorted?: boolean][] = [
  [
    postgresStatement(signIn.FIND_SESSION),
    /Index Scan using sessions_secret_hash_key .*\n *Index Cond/,
  ],
  [postgresStatement(signIn.LIST_SESSIONS), BY_PRINCIPAL, true],
  [postgresStatement(signIn.END_OLDEST), BY_PRINCIPAL, true],
  [
    postgresStatement(signIn.DELETE_EXPIRED),
    /Index Scan using sessions_by_expiry .*\n *Index Cond: \(expires_at <= [\s\S]*Index Scan using sessions_pkey .*\n *Index Cond: \(session_id = ANY/,
  ],
  [postgresStatement(signIn.holdSelected(['principal'])), BY_PRINCIPAL, true],
  [
    postgresStatement(signIn.holdSelected(['issuer', 'sub'])),
    /Index Scan using sessions_by_sub .*\n *Index Cond: \(\(sub = .*issuer = .*ended_at IS NULL/,
    true,
  ],
  [
    postgresStatement(signIn.holdSelected(['issuer', 'sid'])),
    /Index Scan using sessions_by_sid .*\n *Index Cond: \(\(sid = .*issuer = .*ended_at IS NULL/,
    true,
  ],
  [
    postgresStatement(signIn.LIVING_SESSIONS),
    /Index Scan Backward using sessions_by_expiry .*\n *Index Cond/,
  ],
  [
    postgresStatement(signIn.NEXT_LIVING_SESSIONS),
    /Index Scan Backward using sessions_by_expiry .*\n *Index Cond: .*ROW\(expires_at, session_id\) </,
  ],
  [
    postgresStatement(invitations.OPEN_INVITATIONS),
    /Index Scan Backward using invitations_open .*\n *Index Cond: \(expires_at > /,
  ],
  [
    postgresStatement(invitations.OPEN_INVITATION_OF),
    /Index Scan using invitations_by_principal .*\n *Index Cond: \(\(principal = .*ended_at IS NULL/,
  ],
  [
    postgresStatement(invitations.WAITING_INVITATIONS),
    /Index Scan Backward using invitations_waiting .*\n *Index Cond: \(waits_until > /,
  ],
  [
    postgresStatement(invitations.OTHER_AFTER),
    /Index Scan Backward using invitations_open .*\n *Index Cond: \(expires_at > /,
  ],
  [
    postgresStatement(identities.FIND_IDENTITY),
    /Index Scan using identities_by_key .*\n *Index Cond/,
  ],
  [
    postgresStatement(identities.IDENTITIES_OF),
    /Index Scan using identities_by_principal .*\n *Index Cond: \(principal = /,
  ],
  [
    postgresStatement(identities.LIST_IDENTITIES),
    /Index Scan using identities_pkey .*\n *Index Cond/,
  ],
  [
    postgresStatement(tokens.ROOTS),
    /Index Scan Backward using tokens_by_root .*\n *Index Cond: \(root_principal = /,
  ],
  [
    postgresStatement(tokens.OLDER_ROOTS),
    /Index Scan Backward using tokens_by_root .*\n *Index Cond: \(\(root_principal = .*ROW\(issued_at, token_id\) </,
  ],
  [
    postgresStatement(signIn.CONSENT_BY.code_hash),
    /Index Scan using consents_code_hash_key .*\n *Index Cond/,
  ],
  [
    postgresStatement(signIn.CONSENT_BY.token_id),
    /Index Scan using consents_token_id_key .*\n *Index Cond/,
  ],
  [
    postgresStatement(signIn.LIST_CONSENTS),
    /Index Scan Backward using consents_by_principal .*\n *Index Cond: \(\(principal = .*ROW\(created_at, consent_id\) </,
  ],
];

test('PostgreSQL ranges over one index for each, and sorts only sessions of one person', async () => {
  const server = await freshDatabase();
  closedAtEnd(await openPostgres(server.url, { poolSize: 1 }));
  const database = closedAtEnd(openDatabase(server.url, settingsOf({}), 1));

  for (const [{ text }, expected, isSorted = false] of POSTGRES_PLANS) {
    const explain = { name: '', text: `EXPLAIN (GENERIC_PLAN) ${text}` };
    const lines = await database.read<{ 'QUERY PLAN': string }>(explain, []);
    const plan = lines.map((line) => line['QUERY PLAN']).join('\n');

    assert.match(plan, expected);
    assert.doesNotMatch(plan, /Seq Scan/);
    assert.equal(/Sort/.test(plan), isSorted, plan);
  }
});
