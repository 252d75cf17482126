/**
 * Rate limits over the public surface: who is counted, what is told, and how far replicas agree.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { STORES, type TestService, testService } from '../support/world.ts';
import { ALICE, BOB, SETTINGS } from './principals.ts';

const LIMIT = 40;
const WINDOW_MS = 60_000;

const definition = createService({
  id: 'busy-desk',
  capabilities: [
    defineCapability({
      name: 'look',
      description: 'Looks',
      side_effect: 'read',
      minimum_scope: ['w.use'],
      response_modes: ['unary', 'streaming'],
      handler: () => ({ seen: true }),
    }),
    defineCapability({
      name: 'narrow',
      description: 'Takes three calls a minute',
      side_effect: 'read',
      minimum_scope: ['w.use'],
      rate_limit: { limit: 3, window: 'PT1M' },
      handler: () => ({}),
    }),
  ],
});

function replica(store: string, settings: object = {}): Promise<TestService> {
  return testService({ store, definition, settings: { ...SETTINGS, ...settings } });
}

/** Stops the clocks at the start of a window, so that no test straddles two. */
function holdAtWindow(...replicas: readonly TestService[]): void {
  for (const replica of replicas) {
    replica.holdClock(true);
    replica.advance(WINDOW_MS - (replica.store.now().getTime() % WINDOW_MS));
  }
}

const token = (service: TestService, key = ALICE, subject = 'agent:a'): Promise<IssueAnswer> =>
  service.issue(key, { scope: ['w.use'], subject });

for (const place of STORES) {
  describe(place.name, () => {
    const start = async (settings: object = {}) => replica((await place.open()).url, settings);

    test('invoke() neither limits nor reports limits when none is configured', async () => {
      const service = await start();
      const { token: bearer } = await token(service);
      for (let i = 0; i < LIMIT + 5; i++) {
        const { status, headers } = await service.invoke(bearer, 'look');
        assert.equal(status, 200);
        assert.equal(headers.ratelimit, undefined);
      }
    });

    test('invoke() counts all calls under a root principal, including refusals', async () => {
      const service = await start({ rate_limit: `${LIMIT}/PT1M` });
      holdAtWindow(service);
      const one = await token(service);
      const two = await token(service, ALICE, 'agent:b');
      for (let i = 0; i < LIMIT; i++) {
        const bearer = (i % 2 ? one : two).token;
        const reply = await service.invoke(bearer, i % 3 ? 'look' : 'nowhere');
        assert.equal(reply.status, i % 3 ? 200 : 404);
        assert.equal(reply.headers['ratelimit-policy'], `"principal";q=${LIMIT};w=60`);
        assert.equal(reply.headers.ratelimit, `"principal";r=${LIMIT - 1 - i};t=60`);
      }

      const refused = await service.invoke(one.token, 'look');
      assert.equal(refused.status, 429);
      assert.equal(refused.body.failure.type, 'rate_limited');
      assert.equal(refused.headers['retry-after'], '60');
      assert.equal(refused.headers.ratelimit, '"principal";r=0;t=60');
      assert.match(refused.body.invocation_id, /^inv-/);
      const { body } = await service.ask(
        'POST',
        `/svc/audit?invocation_id=${refused.body.invocation_id}`,
        {
          bearer: one.token,
        },
      );
      assert.equal(body.entries[0].failure_type, 'rate_limited');

      const other = await token(service, BOB);
      assert.equal((await service.invoke(other.token, 'look')).status, 200);
      service.advance(WINDOW_MS);
      assert.equal((await service.invoke(one.token, 'look')).status, 200);
    });

    test('invoke() starts a new count when the window of a limit changes', async () => {
      const { url } = await place.open();
      for (const rate_limit of ['5/PT1M', '5/P1D', '5/PT1H']) {
        const service = await replica(url, { rate_limit });
        const { token: bearer } = await token(service);
        assert.equal((await service.invoke(bearer, 'look')).status, 200);
        await service.close();
      }
    });

    test("invoke() refuses by the principal's limit before it reads the request", async () => {
      const service = await start({ rate_limit: { limit: 1, window: 'PT1M' } });
      holdAtWindow(service);
      const { token: bearer } = await token(service);
      const broken = () =>
        service.ask('POST', '/svc/invoke/look', { bearer, body: '{"parameters":' });

      assert.equal((await broken()).status, 400);
      assert.equal((await broken()).status, 429);
    });

    test('invoke() counts calls of a capability over all principals, before any other check of it', async () => {
      const service = await start();
      holdAtWindow(service);
      const alice = await token(service);
      const bob = await token(service, BOB);
      const statuses = [];
      for (const bearer of [alice, bob, alice, bob]) {
        statuses.push((await service.invoke(bearer.token, 'narrow', { odd: 1 })).status);
      }
      const free = await service.invoke(alice.token, 'look');

      assert.deepEqual(statuses, [400, 400, 400, 429]);
      assert.equal(free.status, 200);
      assert.equal(free.headers.ratelimit, undefined);
    });

    test('invoke() reports the limits at the start of a stream too', async () => {
      const service = await start({ rate_limit: '2/PT1M' });
      holdAtWindow(service);
      const { token: bearer } = await token(service);
      const stream = await service.invoke(bearer, 'look', {}, { fields: { stream: true } });

      assert.match(String(stream.headers['content-type']), /^text\/event-stream/);
      assert.equal(stream.headers.ratelimit, '"principal";r=1;t=60');
    });
  });
}

test('two replicas together never exceed the limit, and leave at most one slice unused', async () => {
  const place = STORES.find(({ name }) => name === 'PostgreSQL');
  const { url } = await (place as (typeof STORES)[number]).open();
  const settings = { rate_limit: { limit: LIMIT, window: 'PT1M' } };
  const replicas = [await replica(url, settings), await replica(url, settings)] as const;
  // The clock of the database: the calls must not straddle two of its windows.
  holdAtWindow(...replicas);
  const { token: bearer } = await token(replicas[0]);
  const slice = Math.ceil(LIMIT / 20);
  let taken = 0;
  // The second replica takes one call, and with it a slice; the first gets all the others.
  for (let i = 0; i < LIMIT + 20; i++) {
    const asked = replicas[i === 0 ? 1 : 0] as TestService;
    if ((await asked.invoke(bearer, 'look')).status === 200) taken++;
  }
  assert.ok(taken <= LIMIT, `${taken} of ${LIMIT}`);
  assert.ok(taken >= LIMIT - slice, `${taken} of ${LIMIT}`);

  // Whatever is left in the second replica's slice is still within the limit.
  const rest = await Promise.all(
    Array.from({ length: 30 }, () => replicas[1].invoke(bearer, 'look')),
  );
  taken += rest.filter(({ status }) => status === 200).length;
  assert.equal(taken, LIMIT);
});
