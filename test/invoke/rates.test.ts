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
import { STORES, type TestOptions, type TestService, testService } from '../world.ts';
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

async function withReplicas(
  { store, count = 1, settings = {} }: { store: string; count?: number; settings?: object },
  run: (replicas: TestService[]) => Promise<void>,
): Promise<void> {
  const options: TestOptions = { store, definition, settings: { ...SETTINGS, ...settings } };
  const replicas = await Promise.all(Array.from({ length: count }, () => testService(options)));
  try {
    await run(replicas);
  } finally {
    await Promise.all(replicas.map((replica) => replica.close()));
  }
}

/** Stops the clocks at the start of a window, so that no test straddles two. */
function holdAtWindow(replicas: readonly TestService[]): void {
  for (const replica of replicas) {
    replica.holdClock(true);
    replica.advance(WINDOW_MS - (replica.store.now().getTime() % WINDOW_MS));
  }
}

const token = (service: TestService, key = ALICE, subject = 'agent:a'): Promise<IssueAnswer> =>
  service.issue(key, { scope: ['w.use'], subject });

for (const place of STORES) {
  describe(place.name, () => {
    const onStore = async (
      options: { count?: number; settings?: object },
      run: (replicas: TestService[], service: TestService) => Promise<void>,
    ) => {
      const { url, drop } = await place.open();
      try {
        await withReplicas({ store: url, ...options }, (replicas) =>
          run(replicas, replicas[0] as TestService),
        );
      } finally {
        await drop();
      }
    };

    test('invoke() neither limits nor reports limits when none is configured', () =>
      onStore({}, async (_replicas, service) => {
        const { token: bearer } = await token(service);
        for (let i = 0; i < LIMIT + 5; i++) {
          const { status, headers } = await service.invoke(bearer, 'look');
          assert.equal(status, 200);
          assert.equal(headers.ratelimit, undefined);
        }
      }));

    test('invoke() counts all calls under a root principal, including refusals', () =>
      onStore({ settings: { rate_limit: `${LIMIT}/PT1M` } }, async (replicas, service) => {
        holdAtWindow(replicas);
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
      }));

    test('invoke() starts a new count when the window of a limit changes', async () => {
      const { url, drop } = await place.open();
      try {
        for (const rate_limit of ['5/PT1M', '5/P1D', '5/PT1H']) {
          await withReplicas({ store: url, settings: { rate_limit } }, async ([service]) => {
            const { token: bearer } = await token(service as TestService);
            assert.equal((await (service as TestService).invoke(bearer, 'look')).status, 200);
          });
        }
      } finally {
        await drop();
      }
    });

    test("invoke() refuses by the principal's limit before it reads the request", () =>
      onStore(
        { settings: { rate_limit: { limit: 1, window: 'PT1M' } } },
        async (replicas, service) => {
          holdAtWindow(replicas);
          const { token: bearer } = await token(service);
          const broken = () =>
            service.ask('POST', '/svc/invoke/look', { bearer, body: '{"parameters":' });

          assert.equal((await broken()).status, 400);
          assert.equal((await broken()).status, 429);
        },
      ));

    test('invoke() counts calls of a capability over all principals, before any other check of it', () =>
      onStore({}, async (replicas, service) => {
        holdAtWindow(replicas);
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
      }));

    test('invoke() reports the limits at the start of a stream too', () =>
      onStore({ settings: { rate_limit: '2/PT1M' } }, async (replicas, service) => {
        holdAtWindow(replicas);
        const { token: bearer } = await token(service);
        const stream = await service.invoke(bearer, 'look', {}, { fields: { stream: true } });

        assert.match(String(stream.headers['content-type']), /^text\/event-stream/);
        assert.equal(stream.headers.ratelimit, '"principal";r=1;t=60');
      }));
  });
}

test('two replicas together never exceed the limit, and leave at most one slice unused', async () => {
  const place = STORES.find(({ name }) => name === 'PostgreSQL');
  const { url, drop } = await (place as (typeof STORES)[number]).open();
  try {
    const settings = { rate_limit: { limit: LIMIT, window: 'PT1M' } };
    await withReplicas({ store: url, count: 2, settings }, async (replicas) => {
      // The clock of the database: the calls must not straddle two of its windows.
      holdAtWindow(replicas);
      const { token: bearer } = await token(replicas[0] as TestService);
      const slice = Math.ceil(LIMIT / 20);
      let taken = 0;
      // The second replica takes one call, and with it a slice; the first gets all the others.
      for (let i = 0; i < LIMIT + 20; i++) {
        const replica = replicas[i === 0 ? 1 : 0] as TestService;
        if ((await replica.invoke(bearer, 'look')).status === 200) taken++;
      }
      assert.ok(taken <= LIMIT, `${taken} of ${LIMIT}`);
      assert.ok(taken >= LIMIT - slice, `${taken} of ${LIMIT}`);

      // Whatever is left in the second replica's slice is still within the limit.
      const rest = await Promise.all(
        Array.from({ length: 30 }, () => (replicas[1] as TestService).invoke(bearer, 'look')),
      );
      taken += rest.filter(({ status }) => status === 200).length;
      assert.equal(taken, LIMIT);
    });
  } finally {
    await drop();
  }
});
