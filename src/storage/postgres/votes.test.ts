/**
 * Votes that are stored while another change of their request is under way.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'vitest';
import { decisionOn } from '../../../test/store/cases/approvals/decisions.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { approval, at, entry, HOUR, happened, newId } from '../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../test/support/postgres.ts';
import { openPostgres } from './store.ts';

test('requestApproval() that waits for a vote returns the request with this vote', async () => {
  const { store, holder, waiting } = await openWatched();
  const request = approval({ approvals_required: 2 });
  await store.requestApproval(request, entry(), []);
  await holder.query('BEGIN');
  await holder.query('SELECT FROM approval_requests FOR UPDATE');
  await holder.query(VOTE, [request.approval_request_id]);

  const again = { ...request, approval_request_id: newId('apr_') };
  const asked = store.requestApproval(again, entry(), []);
  while ((await waiting()) === 0) await turn();
  await holder.query('COMMIT');

  const { approval_request_id, approvals } = happened(await asked);
  assert.deepEqual([approval_request_id, approvals.length], [request.approval_request_id, 1]);
});

test('expireApprovals() sees every vote of the requests that it expires', async () => {
  const { store, holder, waiting } = await openWatched();
  const fields = { approvals_required: 2, expires_at: at(HOUR) };
  const [first, second] = [approval(fields), approval({ ...fields, expires_at: at(HOUR + 1) })];
  for (const request of [first, second]) await store.requestApproval(request, entry(), []);
  await holder.query(SLOW_UPDATES);
  await holder.query('SELECT pg_advisory_lock(1)');
  const seen = new Map<string, number>();

  const expiring = store.expireApprovals(at(2 * HOUR), 10, (request) => {
    seen.set(request.approval_request_id, request.approvals.length);
    return { entry: entry(), deliveries: [] };
  });
  while ((await waiting()) === 0) await turn();
  let hasVoted = false;
  const voting = store.approve(decisionOn(second)).finally(() => {
    hasVoted = true;
  });
  while (!hasVoted && (await waiting()) < 2) await turn();
  await holder.query('SELECT pg_advisory_unlock(1)');
  await Promise.all([expiring, voting]);

  const { approval_request_id } = second;
  const stored = await store.loadApproval(approval_request_id);
  assert.equal(stored?.status, 'expired');
  assert.equal(seen.get(approval_request_id), stored.approvals.length);
});

async function openWatched() {
  const server = await freshDatabase();
  const store = closedAtEnd(await openPostgres(server.url));
  const [holder, observer] = [await connectedTo(server.url), await connectedTo(server.url)];
  return { store, holder, waiting: async () => (await observer.query(WAITING)).rows.length };
}

const WAITING = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND application_name = 'writ'`;

const VOTE = `INSERT INTO approvals (approval_request_id, place, approver, approved_at)
  VALUES ($1, 0, 'human:a@example.com', now())`;

/** A change of a request waits while the test holds the lock. */
const SLOW_UPDATES = `
  CREATE FUNCTION held_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
  CREATE TRIGGER held_update BEFORE UPDATE ON approval_requests
    FOR EACH ROW EXECUTE FUNCTION held_update()`;
