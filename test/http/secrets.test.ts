/**
 * Canaries: secrets put into every field, header, path and query of every operation, in requests that
 * succeed and in requests that fail. None may come out of the log, nor, where it is a credential, of
 * an answer.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { type Operation, operations } from '../../src/protocol/operations.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { group } from '../support/missing.ts';
import { ALICE, OPERATOR, STORES, testService } from '../support/world.ts';

const CANARY = 'canary-5b1e7c';

/** A request of each operation that is right but for where the canaries are. */
const REQUESTS: Partial<Record<keyof typeof operations, object>> = {
  'tokens.issue': {
    scope: ['travel.search'],
    purpose_parameters: { task_id: CANARY, note: CANARY },
    session_id: CANARY,
  },
  'operator.freeze': { what: 'root_principal', target: `human:${CANARY}`, reason: CANARY },
  'operator.unfreeze': { what: 'root_principal', target: `human:${CANARY}`, reason: CANARY },
  'operator.reconcile': { invocation_id: 'inv-000000000000', outcome: 'executed', reason: CANARY },
  'tokens.revoke': { token_id: CANARY },
  handshake: { protocol_versions: [CANARY], capabilities: { [CANARY]: CANARY } },
  invoke: {
    parameters: { origin: CANARY, destination: CANARY, date: '2030-01-31' },
    client_reference_id: CANARY,
    task_id: CANARY,
    upstream_service: CANARY,
  },
};

/** Whatever could be wrong with a field, one at a time, for every field of the request. */
const WRONG: readonly unknown[] = [CANARY, { [CANARY]: CANARY }, [CANARY], -1, null];

for (const { name: store, open } of STORES) {
  group(`secrets (${store})`, async () => {
    const place = await open();
    const service = await testService({ store: place.url });
    const token = (await service.issue(ALICE, { scope: ['travel.search', 'travel.read'] })).token;

    for (const [name, operation] of Object.entries(operations)) {
      test(`${name} writes no request data to the log`, async () => {
        for (const bearer of [token, ALICE, OPERATOR, `${CANARY}.${CANARY}.${CANARY}`, CANARY]) {
          const bodies = bodiesOf(name as keyof typeof operations);
          for (const body of bearer === token ? bodies : bodies.slice(0, 2)) {
            await service.ask(operation.method, pathOf(operation), {
              bearer,
              body,
              headers: {
                cookie: CANARY,
                'idempotency-key': CANARY,
                'x-api-key': CANARY,
                'user-agent': CANARY,
                traceparent: CANARY,
              },
            });
          }
        }
        assertSilent(service.log);
      });
    }

    test('no answer repeats a presented credential or token, valid or not', async () => {
      const wrong = [CANARY, `${CANARY}.${CANARY}.${CANARY}`, `${token.slice(0, -8)}${CANARY}`];
      for (const [name, operation] of Object.entries(operations)) {
        for (const credential of [...wrong, token, ALICE]) {
          for (const scheme of ['Bearer', 'Bearer ', 'Basic', 'Bearer x,']) {
            const reply = await service.ask(operation.method, pathOf(operation, 'plain'), {
              body: {},
              headers: { authorization: `${scheme} ${credential}` },
            });
            const text = JSON.stringify([reply.body, reply.headers]);
            assert.ok(!text.includes(credential), `${name} ${scheme}: ${text}`);
          }
        }
      }
      assertSilent(service.log);
      assert.ok(service.log.every((line) => !line.includes(token) && !line.includes(ALICE)));
    });

    test('a request that HTTP itself refuses writes no data to the log', async () => {
      const headers = { 'content-encoding': CANARY, 'content-type': CANARY };
      await service.ask('POST', '/svc/tokens', { body: CANARY, headers });
      await service.ask('POST', '/svc/tokens', {
        body: CANARY,
        headers: { 'content-type': CANARY },
      });
      await service.ask('PUT', `/${CANARY}?${CANARY}=${CANARY}`, { body: CANARY });
      await service.ask('GET', `/svc/graph/${CANARY}%`);
      await service.ask('GET', `/svc/graph/${CANARY.repeat(80)}`);

      assertSilent(service.log);
    });
  });
}

test('a store failure during a call logs nothing of the call', async () => {
  const service = await testService();
  const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
  await service.store.close();

  await service.ask('POST', '/svc/invoke/search_flights', {
    bearer: token,
    body: REQUESTS.invoke,
    headers: { 'idempotency-key': CANARY },
  });
  await service.ask('POST', '/svc/tokens', { bearer: ALICE, body: REQUESTS['tokens.issue'] });

  assert.ok(service.log.some((line) => line.includes('store unavailable')));
  assertSilent(service.log);
  assert.ok(service.log.every((line) => !line.includes(token)));
});

test('createLog() writes the error itself, and not the fields that a driver attached', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const cause = Object.assign(new Error('duplicate key'), { detail: CANARY, where: CANARY });
  const error = Object.assign(new Error('Cannot run a statement', { cause }), {
    code: '23505',
    detail: `Failing row contains (${CANARY})`,
    parameters: [CANARY],
  });

  log.error({ err: error, token: CANARY, nested: { authorization: CANARY } }, 'defect');
  log.error({ err: CANARY }, 'thrown');

  const [line = '', thrown = ''] = lines;
  assertSilent(lines);
  const { err } = JSON.parse(line);
  assert.equal(err.type, 'Error');
  assert.equal(err.message, 'Cannot run a statement');
  assert.equal(err.code, '23505');
  assert.match(err.stack, /secrets\.test\.ts/);
  assert.equal(err.cause.message, 'duplicate key');
  assert.deepEqual(JSON.parse(thrown).err, { type: 'string' });
});

test('an authenticate() that throws is 503, and the credential is not disclosed', async () => {
  const definition = createService({
    id: 'broken',
    capabilities: [
      defineCapability({
        name: 'noop',
        description: 'Nothing',
        side_effect: 'read',
        minimum_scope: ['x'],
        handler: () => ({}),
      }),
    ],
    authenticate() {
      throw new Error(`the directory does not know ${CANARY}`);
    },
  });
  const service = await testService({ definition });
  const reply = await service.ask('POST', '/svc/tokens', {
    bearer: CANARY,
    body: { scope: ['x'] },
  });

  assert.equal(reply.status, 503);
  assert.equal(reply.body.failure.type, 'service_unavailable');
  assert.doesNotMatch(JSON.stringify(reply.body), /directory/);
  assertSilent(service.log);
});

function assertSilent(lines: readonly string[]): void {
  assert.deepEqual(
    lines.filter((line) => line.includes(CANARY)),
    [],
  );
}

function pathOf({ path }: Operation, value = CANARY): string {
  const filled = path.replace('/svc/invoke/{capability}', '/svc/invoke/search_flights');
  return `${filled.replaceAll(/\{\w+\}/g, value)}?${value}=${value}&task_id=${value}&token=${value}`;
}

function bodiesOf(name: keyof typeof operations): unknown[] {
  const right = REQUESTS[name] ?? {};
  const fields = Object.keys((operations[name].request as { shape?: object }).shape ?? {});
  const wrong = fields.flatMap((field) => WRONG.map((value) => ({ ...right, [field]: value })));
  return [right, { ...right, [CANARY]: CANARY }, `{"${CANARY}":`, ...wrong];
}
