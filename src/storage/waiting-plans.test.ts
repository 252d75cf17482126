/**
 * How waiting grants and the newest request of a question are found: by one range of one index each,
 * however many grants were given and used.
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
import * as lists from './stories/approval-lists.ts';
import * as approvals from './stories/approvals.ts';
import { STALE } from './stories/declarations.ts';
import { DELETE_REMOVED } from './stories/passkeys.ts';
import { FIGURES } from './stories/rows.ts';

const QUESTION = 'chain=? AND capability=? AND contract_version=? AND parameters_digest=?';

const SQLITE_PLANS: [query: string, plan: string][] = [
  [
    sqliteText(approvals.WAITING),
    `SEARCH grants USING INDEX grants_waiting (${QUESTION} AND expires_at>?)`,
  ],
  [
    sqliteText(approvals.ASKED),
    `SEARCH approval_requests USING INDEX approval_requests_asked (${QUESTION})`,
  ],
  [
    sqliteText(approvals.OPEN),
    'SEARCH approval_requests USING COVERING INDEX approval_requests_waiting (root_principal=? AND expires_at>?)',
  ],
  [
    sqliteText(approvals.HOLD_DUE),
    'SEARCH approval_requests USING COVERING INDEX approval_requests_pending (expires_at<?)',
  ],
  [
    sqliteText(approvals.LATEST),
    `SEARCH approval_requests USING INDEX approval_requests_by_question (${QUESTION} AND session_id=?)`,
  ],
  [
    sqliteText(lists.ASKED_OF),
    'SEARCH r USING INDEX approval_requests_by_asker (chain=? AND capability=? AND (created_at,approval_request_id)<(?,?))',
  ],
  [
    sqliteText(lists.APPROVED_OF),
    'SEARCH r USING INDEX approval_requests_approved (chain=? AND capability=? AND (created_at,approval_request_id)<(?,?))',
  ],
  [
    sqliteText(lists.STATES_SINCE),
    'SEARCH approval_requests USING COVERING INDEX approval_requests_by_asker (chain=? AND capability=? AND created_at>?)',
  ],
];
for (const [query, plan] of SQLITE_PLANS) {
  test(`SQLite answers with: ${plan}`, () => {
    const connection = openConnection(':memory:');
    migrate(connection);
    const steps = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${query}`);
    connection.close();

    // The votes of each request come after it.
    const details = steps.map(({ detail }) => detail);
    const votes = details.indexOf('CORRELATED SCALAR SUBQUERY 1');
    assert.deepEqual(votes < 0 ? details : details.slice(0, votes), [plan]);
  });
}

/** The votes of a request, and the rows of a page, are sorted as they become JSON. */
const SORT = /TEMP B-TREE(?! FOR json_group_array)/;

const STALE_PLANS: [query: string, plan: string][] = [
  [
    sqliteText(approvals.EXPIRE),
    'SEARCH approval_requests USING COVERING INDEX sqlite_autoindex_approval_requests_1 (approval_request_id=?)',
  ],
  [sqliteText(DELETE_REMOVED), 'SEARCH passkeys USING INDEX passkeys_by_principal (principal=?)'],
  [
    sqliteText(DELETE_REMOVED),
    'SEARCH passkeys USING COVERING INDEX sqlite_autoindex_passkeys_1 (credential_id=?)',
  ],
  [
    sqliteText(STALE),
    'SEARCH approval_requests USING INDEX approval_requests_open (capability=? AND expires_at>?)',
  ],
  [
    sqliteText(FIGURES),
    'SEARCH approval_requests USING COVERING INDEX approval_requests_pending (expires_at>?)',
  ],
  [sqliteText(STALE), 'SEARCH grants USING INDEX grants_unused (capability=? AND expires_at>?)'],
  [
    sqliteText(lists.LIST),
    'SEARCH r USING INDEX approval_requests_by_age ((created_at,approval_request_id)>(?,?) AND (created_at,approval_request_id)<(?,?))',
  ],
  [
    sqliteText(lists.PENDING),
    'SEARCH r USING INDEX approval_requests_pending ((expires_at,approval_request_id)>(?,?) AND (expires_at,approval_request_id)<(?,?))',
  ],
];
for (const [query, plan] of STALE_PLANS) {
  test(`SQLite counts with: ${plan}, and sorts nothing`, () => {
    const connection = openConnection(':memory:');
    migrate(connection);
    const steps = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${query}`);
    connection.close();

    const details = steps.map(({ detail }) => detail);
    assert.ok(details.includes(plan), details.join('\n'));
    assert.ok(!details.some((detail) => SORT.test(detail)), details.join('\n'));
  });
}

test('PostgreSQL ranges over the index of each, and sorts nothing', async () => {
  const server = await freshDatabase();
  closedAtEnd(await openPostgres(server.url, { poolSize: 1 }));
  const database = closedAtEnd(openDatabase(server.url, settingsOf({}), 1));
  const planOf = ({ text }: { text: string }) =>
    database.reading(async (session) => {
      // An empty table is read as a whole otherwise.
      await session.run({ name: '', text: 'SET LOCAL enable_seqscan = off' });
      await session.run({ name: '', text: 'SET LOCAL enable_bitmapscan = off' });
      const explain = { name: '', text: `EXPLAIN (GENERIC_PLAN) ${text}` };
      const lines = await session.run<{ 'QUERY PLAN': string }>(explain, []);
      return lines.map((line) => line['QUERY PLAN']).join('\n');
    });
  const waiting = await planOf(postgresStatement(approvals.WAITING));
  const latest = await planOf(postgresStatement(approvals.LATEST));
  const asked = await planOf(postgresStatement(approvals.ASKED));
  const open = await planOf(postgresStatement(approvals.OPEN));
  const due = await planOf(postgresStatement(approvals.HOLD_DUE));
  const expired = await planOf(postgresStatement(approvals.EXPIRE));
  const removed = await planOf(postgresStatement(DELETE_REMOVED));
  const stale = await planOf(postgresStatement(STALE));
  const pending = await planOf(postgresStatement(lists.PENDING));
  const askedOf = await planOf(postgresStatement(lists.ASKED_OF));
  const approvedOf = await planOf(postgresStatement(lists.APPROVED_OF));
  const statesSince = await planOf(postgresStatement(lists.STATES_SINCE));
  const figures = await planOf(postgresStatement(FIGURES));

  assert.match(figures, /Index Only Scan using approval_requests_(?:pending|open|due|waiting) on/);
  assert.match(
    waiting,
    /Index Scan using grants_waiting .*\n *Index Cond: .*chain = .*digest = .*expires_at > /,
  );
  assert.match(latest, /Index Scan Backward using approval_requests_by_question /);
  assert.match(latest, /Index Cond: .*chain = .*digest = .*COALESCE\(session_id/);
  assert.match(
    asked,
    /Index Scan using approval_requests_asked .*\n *Index Cond: .*chain = .*digest = /,
  );
  assert.match(
    open,
    /Index Only Scan using approval_requests_waiting .*\n *Index Cond: .*expires_at > /,
  );
  assert.match(due, /Index Scan using approval_requests_due .*\n *Index Cond: \(expires_at <= /);
  assert.match(expired, /Index Scan using approval_requests_pkey .*\n *Index Cond: .*= ANY/);
  assert.match(removed, /Index Scan using passkeys_by_principal /);
  assert.match(removed, /Index Scan using passkeys_pkey .*\n *Index Cond: .*= ANY/);
  assert.match(stale, /Index Scan using approval_requests_open /);
  assert.match(stale, /Index Scan using grants_unused /);
  assert.match(pending, /Index Only Scan using approval_requests_due .*\n *Index Cond: .*ROW\(/);
  assert.match(askedOf, /Index Scan Backward using approval_requests_by_asker /);
  assert.match(approvedOf, /Index Scan Backward using approval_requests_approved /);
  assert.match(statesSince, /Index Scan Backward using approval_requests_by_asker /);
  const unsorted = [waiting, latest, asked, open, due, stale, askedOf, approvedOf, statesSince];
  for (const plan of unsorted) {
    assert.doesNotMatch(plan.split('SubPlan')[0] ?? '', /Sort/);
  }
});
