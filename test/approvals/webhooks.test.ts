/**
 * Webhooks: told, signed, tried again, given up, and never sent where they do not belong.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'vitest';
import { openStore } from '../../src/storage/open.ts';
import { closedAtEnd } from '../support/ends.ts';
import { eventually, STORES } from '../support/world.ts';
import { assertRefused, BOB, CAROL, type Desk, OPERATOR, startDesk } from './desk.ts';
import { type Receiver, SECRET, startReceiver, verified } from './receiver.ts';

/** Quick, so that a test waits for the service's clock and not for ours. */
const UPKEEP = { lookMs: 20, expiryMs: 20 };

interface Seen {
  readonly delivery_id: string;
  readonly event: string;
  readonly state: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly next_attempt_at: string | null;
}

async function deliveries(desk: Desk): Promise<Seen[]> {
  const { status, body } = await desk.ask('GET', '/svc/operator/deliveries', { bearer: OPERATOR });
  assert.equal(status, 200);
  return body.deliveries;
}

async function only(desk: Desk): Promise<Seen> {
  const [first, ...others] = await deliveries(desk);
  assert.ok(first);
  assert.deepEqual(others, []);
  return first;
}

const attempted = (desk: Desk, attempts: number) =>
  eventually(async () => (await only(desk)).attempts === attempts);

for (const place of STORES) {
  describe(place.name, () => {
    async function open(webhooks: object[], more: object = {}): Promise<Desk> {
      const { url } = await place.open();
      return startDesk({ store: url, settings: { webhooks }, upkeep: UPKEEP, ...more });
    }
    const receive = async (port?: number) => closedAtEnd(await startReceiver(port));
    const pager = (receiver: Receiver, more = {}) => ({
      name: 'pager',
      url: receiver.url,
      secret: SECRET,
      allow_inside: true,
      ...more,
    });

    test('webhooks report the outcome of a request, signed as the standard requires', async () => {
      const receiver = await receive();
      const desk = await open([pager(receiver)]);
      const token = await desk.token();
      const granted = await desk.asked(token, 'sign', { note: 'a secret note' });
      const grant = await desk.granted(granted);
      const denied = await desk.asked(token, 'sign', { note: 'no' });
      await desk.deny(CAROL, denied, 'too late');
      const brief = await desk.asked(token, 'brief');
      await eventually(() => receiver.received.length === 5);
      desk.advance(60_000);
      await eventually(() => receiver.received.length === 6);
      desk.advance(-60_000);

      const told = receiver.received.map((each) => verified(each));
      const about = (type: string, id: string) =>
        told.find(({ type: found, data }) => found === type && data.approval_request_id === id);
      assert.deepEqual(about('approval.requested', granted)?.data.requester, {
        subject: 'agent:a',
        root_principal: 'human:alice',
      });
      const page = `http://localhost/console/approvals/${granted}`;
      assert.equal(about('approval.requested', granted)?.data.decision_url, page);
      assert.equal(about('approval.granted', granted)?.data.grant_id, grant);
      assert.equal(about('approval.granted', granted)?.data.decided_by, 'human:bob');
      assert.equal(about('approval.denied', denied)?.data.reason, 'too late');
      assert.equal(about('approval.expired', brief)?.data.status, 'expired');
      for (const { headers, body } of receiver.received) {
        assert.equal(headers['content-type'], 'application/json');
        assert.match(String(headers['webhook-id']), /^msg_[0-9a-f]{32}$/);
        assert.equal(body.includes('a secret note'), false);
        const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
        assert.throws(() => verified({ headers, body }, other));
        assert.throws(() => verified({ headers, body: `${body} ` }));
      }
      await eventually(async () =>
        (await deliveries(desk)).every(({ state }) => state === 'delivered'),
      );
    });

    test('webhooks send a target only the events it subscribed to', async () => {
      const receiver = await receive();
      const desk = await open([pager(receiver, { events: ['granted'] })]);

      await desk.granted(await desk.asked(await desk.token(), 'sign'));

      await eventually(() => receiver.received.length === 1);
      assert.deepEqual(
        (await deliveries(desk)).map(({ event }) => event),
        ['granted'],
      );
    });

    test('webhooks reach a receiver after it was down', async () => {
      const gone = await startReceiver();
      await gone.close();
      const desk = await open([pager(gone)]);
      await desk.asked(await desk.token(), 'sign');
      await attempted(desk, 1);
      const waiting = await only(desk);
      assert.equal(waiting.state, 'pending');
      assert.match(waiting.last_error ?? '', /ECONNREFUSED/);
      assert.ok(waiting.next_attempt_at);

      const receiver = await receive(Number(new URL(gone.url).port));
      desk.advance(5_000);

      await eventually(async () => (await only(desk)).state === 'delivered');
      assert.equal(receiver.received.length, 1);
      const [first] = receiver.received;
      assert.equal(first?.headers['webhook-id'], waiting.delivery_id);
      assert.equal((await only(desk)).attempts, 2);
    });

    test('webhooks try a slow receiver again, under the same id', async () => {
      const receiver = await receive();
      receiver.answer(() => undefined);
      const desk = await open([pager(receiver)], { upkeep: { ...UPKEEP, timeoutMs: 1_000 } });
      await desk.asked(await desk.token(), 'sign');
      await attempted(desk, 1);
      assert.match((await only(desk)).last_error ?? '', /no answer in 1000 ms/);

      receiver.answer((response) => void response.writeHead(200).end('thanks'));
      desk.advance(5_000);

      await eventually(async () => (await only(desk)).state === 'delivered');
      const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
      assert.deepEqual(new Set(ids), new Set([(await only(desk)).delivery_id]));
      for (const each of receiver.received) verified(each);
    });

    test('webhooks of one target do not wait for another that hangs', async () => {
      const hanging = await receive();
      const held: ServerResponse[] = [];
      hanging.answer((response) => void held.push(response));
      const receiver = await receive();
      const only = { events: ['requested'] };
      const webhooks = [pager(hanging, { name: 'hangs', ...only }), pager(receiver, only)];
      const desk = await open(webhooks, { upkeep: { ...UPKEEP, timeoutMs: 60_000 } });
      const token = await desk.token();

      for (let asked = 0; asked < 30; asked += 1) {
        await desk.asked(token, 'sign', { note: `hang ${asked}` });
      }

      await eventually(() => receiver.received.length === 30);
      assert.ok(held.length > 0 && held.length <= 8, `${held.length} under way to one target`);
      hanging.answer((response) => void response.writeHead(204).end());
      for (const response of held) response.writeHead(204).end();
      await eventually(async () =>
        (await deliveries(desk)).every(({ state }) => state === 'delivered'),
      );
    });

    test('webhooks follow no redirect', async () => {
      const elsewhere = await receive();
      const receiver = await receive();
      receiver.answer((response) => {
        response.writeHead(307, { location: elsewhere.url }).end();
      });
      const desk = await open([pager(receiver)]);

      await desk.asked(await desk.token(), 'sign');
      await attempted(desk, 1);

      assert.match((await only(desk)).last_error ?? '', /answered 307/);
      assert.equal((await only(desk)).state, 'pending');
      assert.equal(elsewhere.received.length, 0);
    });

    test('webhooks are not sent to an internal address that is not allowed', async () => {
      const receiver = await receive();
      const named = { name: 'named', url: 'https://hooks.example.com/x', secret: SECRET };
      const resolve = (
        _name: string,
        _options: object,
        done: (error: null, found: { address: string; family: number }[]) => void,
      ) => done(null, [{ address: '127.0.0.1', family: 4 }]);
      const desk = await open([pager(receiver, { allow_inside: false }), named], {
        upkeep: { ...UPKEEP, resolve },
      });

      await desk.asked(await desk.token(), 'sign');

      await eventually(async () =>
        (await deliveries(desk)).every(({ attempts }) => attempts === 1),
      );
      const errors = (await deliveries(desk)).map(({ last_error }) => last_error).join('\n');
      assert.match(errors, /expected https/);
      assert.match(errors, /resolves to an inside address/);
      assert.equal(receiver.received.length, 0);
    });

    test('webhooks stop after the last attempt, and stay visible', async () => {
      const receiver = await receive();
      receiver.answer((response) => void response.writeHead(500).end());
      const desk = await open([pager(receiver, { events: ['requested'] })]);
      await desk.asked(await desk.token(), 'sign');

      for (let tries = 1; tries <= 10; tries += 1) {
        await attempted(desk, tries);
        desk.advance(86_400_000);
      }

      const given = await only(desk);
      assert.equal(given.state, 'failed');
      assert.equal(given.next_attempt_at, null);
      assert.equal(receiver.received.length, 10);
    });

    test('webhooks leave no secret in the log or in the operator view', async () => {
      const receiver = await receive();
      receiver.answer((response) => void response.writeHead(500).end());
      const desk = await open([pager(receiver)]);
      await desk.asked(await desk.token(), 'sign', { note: 'canary-note' });
      await attempted(desk, 1);

      const said = desk.log.join('') + JSON.stringify(await deliveries(desk));

      for (const canary of [SECRET, SECRET.slice(6), 'canary-note', 'webhook-signature']) {
        assert.equal(said.includes(canary), false, canary);
      }
      const reply = await desk.ask('GET', '/svc/operator/deliveries', { bearer: BOB });
      assertRefused(reply, 'scope_insufficient');
    });

    test('requests expire once, with an entry in the trail of the requester', async () => {
      const { url } = await place.open();
      const desk = await startDesk({ store: url, upkeep: { expiryMs: 20 } });
      const id = await desk.asked(await desk.token(), 'brief');
      desk.advance(60_000);

      await eventually(async () => (await desk.store.loadApproval(id))?.status === 'expired');

      const told = (await desk.entries('approval_decision')).filter(
        ({ approval_request_id }) => approval_request_id === id,
      );
      assert.deepEqual(
        told.map(({ detail, root_principal, success }) => [detail, root_principal, success]),
        [[{ decision: 'expired', approvals: 0 }, 'human:alice', false]],
      );
      assert.equal((await desk.read(BOB, id)).body.status, 'expired');
    });
  });
}

test('webhooks of a removed target are marked as such and not sent', async () => {
  const receiver = closedAtEnd(await startReceiver());
  receiver.answer((response) => void response.writeHead(500).end());
  let offset = 0;
  const opened = closedAtEnd(
    await openStore('memory:', { clock: () => new Date(Date.now() + offset) }),
  );
  const wrap = () => ({ ...opened, close: async () => undefined });
  const start = (name: string) => {
    const target = { name, url: receiver.url, secret: SECRET, allow_inside: true };
    return startDesk({ wrap, upkeep: UPKEEP, settings: { webhooks: [target] } });
  };
  const before = await start('old');
  await before.asked(await before.token(), 'sign');
  await attempted(before, 1);
  await before.close();

  const after = closedAtEnd(await start('new'));
  offset = 5_000;
  await attempted(after, 2);

  assert.match((await only(after)).last_error ?? '', /no such target/);
  assert.equal(receiver.received.length, 1);
});
