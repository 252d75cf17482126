/**
 * `withRecovery` against a real service: it does what failures advise, and stops where they end.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Client, type Recovered, withRecovery } from '../../src/client/index.ts';
import { group } from '../support/missing.ts';
import { ALICE, BOB, OPERATOR, STORES } from '../support/world.ts';
import { openDesk, TRIP } from './desk.ts';

const BUDGET = { budget: { currency: 'USD', max_amount: 30_000 } };
const JET = { capability: 'charter_jet', parameters: { route: 'SEA-SFO', date: '2026-12-01' } };

const pauseBriefly = (ms: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, Math.min(ms, 20)));

for (const { name, open } of STORES) {
  group(name, async () => {
    const { url } = await open();
    const desk = await openDesk({ store: url });

    test('withRecovery() fetches a fresh binding when the one it has is stale', async () => {
      const client = await desk.client(['travel.search', 'travel.book'], { token: BUDGET });
      const stale = await quoteOf(client);
      desk.service.advance(16 * 60_000);

      const parameters = { quote: stale, passenger: 'Ann Lee' };
      const recovered = await withRecovery(
        client,
        { capability: 'book_flight', parameters },
        { bindings: { quote: quoteOf } },
      );

      assert.deepEqual(typesOf(recovered), ['binding_stale']);
      assert.ok(recovered.reply.ok);
      assert.equal(recovered.reply.answer.result.passenger, 'Ann Lee');
    });

    test('withRecovery() returns a stale binding to a caller that gave no way to renew it', async () => {
      const client = await desk.client(['travel.search', 'travel.book']);
      const stale = await quoteOf(client);
      desk.service.advance(16 * 60_000);

      const parameters = { quote: stale, passenger: 'Ann Lee' };
      const recovered = await withRecovery(client, { capability: 'book_flight', parameters });

      assert.deepEqual(typesOf(recovered), ['binding_stale']);
      assert.equal(recovered.stopped, 'caller');
    });

    test('withRecovery() waits for the approval and continues with the grant', async () => {
      const client = await desk.client(['travel.charter'], { token: BUDGET, pause: pauseBriefly });

      const [recovered, grant] = await Promise.all([
        withRecovery(client, JET),
        decided('/svc/approval_grants', { grant_type: 'one_time' }),
      ]);

      assert.equal(grant.status, 200);
      assert.deepEqual(typesOf(recovered), ['approval_required']);
      assert.ok(recovered.reply.ok);
      assert.equal(recovered.reply.answer.cost_actual?.amount, 18_500);
    });

    test('withRecovery() stops when the approval is denied', async () => {
      const client = await desk.client(['travel.charter'], { token: BUDGET, pause: pauseBriefly });
      const otherDay = { ...JET, parameters: { ...JET.parameters, date: '2026-12-02' } };

      const [recovered] = await Promise.all([
        withRecovery(client, otherDay),
        decided((id) => `/svc/approval_requests/${id}/deny`, { reason: 'too dear' }),
      ]);

      assert.deepEqual(typesOf(recovered), ['approval_required']);
      assert.equal(recovered.stopped, 'denied');
    });

    test('withRecovery() stops waiting for an approval when its time is up', async () => {
      const client = await desk.client(['travel.charter'], { token: BUDGET });
      const otherDay = { ...JET, parameters: { ...JET.parameters, date: '2026-12-03' } };

      const recovered = await withRecovery(client, otherDay, { waitMaxMs: 50 });

      assert.equal(recovered.stopped, 'time');
    });

    test('withRecovery() sends a terminal failure once', async () => {
      const client = await desk.client(['travel.admin']);

      const parameters = { traveler_id: 'T-1' };
      const recovered = await withRecovery(client, { capability: 'erase_traveler', parameters });

      assert.deepEqual(typesOf(recovered), ['non_delegable_action']);
      assert.equal(recovered.stopped, 'terminal');
    });

    test('withRecovery() continues with the token that the caller fetched', async () => {
      const client = await desk.client(['travel.search']);
      const wider = await desk.service.issue(ALICE, {
        scope: ['travel.read'],
        subject: 'agent:planner',
      });

      const call = { capability: 'get_booking', parameters: { booking_id: 'BK-1000' } };
      const recovered = await withRecovery(client, call, { redelegate: async () => wider.token });

      assert.deepEqual(typesOf(recovered), ['scope_insufficient']);
      assert.equal(recovered.reply.ok, true);
    });

    test('withRecovery() stops at parameters that the conditions of the token do not allow', async () => {
      const conditions = { get_booking: { booking_id: 'BK-2000' } };
      const client = await desk.client(['travel.read'], { token: { conditions } });
      const fetched: string[] = [];
      const redelegate = async () => {
        fetched.push('a token');
        return undefined;
      };

      const call = { capability: 'get_booking', parameters: { booking_id: 'BK-1000' } };
      const recovered = await withRecovery(client, call, { redelegate });

      assert.deepEqual(typesOf(recovered), ['scope_insufficient']);
      assert.equal(recovered.stopped, 'caller');
      assert.deepEqual(fetched, []);
    });

    test('withRecovery() waits out a freeze, and no longer than its attempts', async () => {
      const client = await desk.client(['travel.read']);
      const target = { what: 'capability', target: 'get_booking', reason: 'a look at it' };
      await operate('freeze', target);
      const call = { capability: 'get_booking', parameters: { booking_id: 'BK-1000' } };

      const frozen = await withRecovery(client, call, { attemptsMax: 3 });
      let waits = 0;
      const patient = await desk.client(['travel.read'], {
        pause: async () => {
          waits += 1;
          if (waits === 2) await operate('unfreeze', target);
        },
      });
      const thawed = await withRecovery(patient, call);

      assert.deepEqual(typesOf(frozen), ['frozen', 'frozen', 'frozen']);
      assert.equal(frozen.stopped, 'attempts');
      assert.deepEqual(typesOf(thawed), ['frozen', 'frozen']);
      assert.equal(thawed.reply.ok, true);
    });

    test('withRecovery() waits until a freeze ends, when that is known and soon enough', async () => {
      const waits: number[] = [];
      const client = await desk.client(['travel.read'], {
        pause: async (ms) => {
          waits.push(ms);
          desk.service.advance(ms);
        },
        now: () => desk.service.store.now(),
      });
      const until = new Date(desk.service.store.now().getTime() + 60_000).toISOString();
      await operate('freeze', {
        what: 'capability',
        target: 'get_booking',
        reason: 'a look',
        until,
      });
      const call = { capability: 'get_booking', parameters: { booking_id: 'BK-1000' } };

      const hasty = await withRecovery(client, call, { waitMaxMs: 30_000 });
      const patient = await withRecovery(client, call, { waitMaxMs: 120_000 });

      assert.equal(hasty.stopped, 'time');
      assert.deepEqual(typesOf(patient), ['frozen']);
      assert.equal(patient.reply.ok, true);
      assert.equal(waits.length, 1);
    });

    /** Decides the one request that is pending, as soon as there is one. */
    async function decided(path: string | ((id: string) => string), body: object) {
      for (let turn = 0; turn < 200; turn += 1) {
        const query = '/svc/approval_requests?status=pending';
        const { body: page } = await desk.service.ask('GET', query, { bearer: BOB });
        const id = page.approval_requests[0]?.approval_request_id;
        if (id === undefined) {
          await pauseBriefly(20);
          continue;
        }
        const isGrant = typeof path === 'string';
        return desk.service.ask('POST', isGrant ? path : path(id), {
          bearer: BOB,
          body: isGrant ? { ...body, approval_request_id: id } : body,
        });
      }
      throw new Error('Cannot decide: no request came');
    }

    async function operate(verb: string, body: object): Promise<void> {
      const path = `/svc/operator/${verb}`;
      const { status } = await desk.service.ask('POST', path, { bearer: OPERATOR, body });
      assert.equal(status, 200);
    }
  });
}

async function quoteOf(client: Client): Promise<string> {
  const reply = await client.invoke({ capability: 'search_flights', parameters: TRIP });
  assert.ok(reply.ok);
  return (reply.answer.result.cheapest_flight as { quote: string }).quote;
}

function typesOf({ failures }: Recovered): string[] {
  return failures.map(({ type }) => type);
}
