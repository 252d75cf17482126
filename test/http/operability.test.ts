/**
 * What those who run a service see of it: health, readiness, metrics, traces, and how it turns work
 * away.
 *
 * @module
 */

import assert from 'node:assert/strict';
import inject from 'light-my-request';
import { describe, test } from 'vitest';
import { system } from '../../src/platform.ts';
import { operations } from '../../src/protocol/operations.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { StoreUnavailable } from '../../src/storage/port/store.ts';
import { emptyStore } from '../support/empty-store.ts';
import { atEnd } from '../support/ends.ts';
import { connectedTo, isWaitedFor, runSql } from '../support/postgres.ts';
import { ALICE, eventually, patientLoad, STORES, testService } from '../support/world.ts';

const service = await testService();

describe('health', () => {
  test('GET /healthz answers while the process runs, even without a store', async () => {
    const closed = await testService();
    await closed.store.close();

    const { status, body } = await closed.ask('GET', '/healthz');

    assert.equal(status, 200);
    assert.deepEqual(body, { status: 'ok' });
  });

  for (const { name, open } of STORES) {
    test(`GET /readyz is 503 with the reason once the store is gone (${name})`, async () => {
      const place = await open();
      const losing = await testService({ store: place.url });
      const before = await losing.ask('GET', '/readyz');
      await losing.store.close();
      const after = await losing.ask('GET', '/readyz');

      assert.equal(before.status, 200);
      assert.deepEqual(before.body, { status: 'ready' });
      assert.equal(after.status, 503);
      assert.equal(after.body.status, 'unready');
      assert.equal(after.body.reasons.length, 1);
      assert.match(after.body.reasons[0], /^store: Cannot /);
      assert.equal(after.headers['cache-control'], 'no-store');
    });
  }

  test('GET /readyz is 503 while the store refuses writes, and 200 afterwards', async () => {
    const writing = service.store.probe;
    const full = new StoreUnavailable('Cannot use the store: it is full');
    service.store.probe = () => Promise.reject(full);
    try {
      const { status, body } = await service.ask('GET', '/readyz');

      assert.equal(status, 503);
      assert.deepEqual(body.reasons, ['store: Cannot use the store: it is full']);
    } finally {
      service.store.probe = writing;
    }
    assert.equal((await service.ask('GET', '/readyz')).status, 200);
  });

  test('GET /readyz is 503 while entries wait for their place in the log', async () => {
    const { backlog } = service.store;
    service.store.backlog = () => ({ waiting: 7, overloaded: true });
    atEnd(() => {
      service.store.backlog = backlog;
    });
    const { status, body } = await service.ask('GET', '/readyz');

    assert.equal(status, 503);
    assert.deepEqual(body.reasons, ['log: 7 entries wait for their place']);
  });
});

describe('stopping', () => {
  test('a stop answers every call that waits for a late sequencer', async () => {
    const { url: store } = await emptyStore();
    const note = defineCapability({
      name: 'note',
      description: 'Writes something down',
      side_effect: 'write',
      minimum_scope: ['travel.note'],
      handler: () => ({ noted: true }),
    });
    const definition = createService({ id: 'notes', capabilities: [note] });
    const stopping = await testService({ store, definition });
    const { token } = await stopping.issue(ALICE, { scope: ['travel.note'] });
    const other = await connectedTo(store);
    await other.query('BEGIN');
    await other.query('SELECT FROM head FOR UPDATE');
    const url = await stopping.app.listen({ host: '127.0.0.1', port: 0 });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const write = () =>
      fetch(`${url}/svc/invoke/note`, { method: 'POST', headers, body: '{"parameters":{}}' });
    assert.equal((await write()).status, 200);
    await runSql(store, "UPDATE queue SET queued_at = queued_at - interval '1 minute'");
    await eventually(() => stopping.store.backlog().overloaded);

    const calls = Array.from({ length: 5 }, write);
    await isWaitedFor(other);
    // A call that has only a connection yet is not answered.
    await eventually(async () => {
      const { body } = await stopping.ask('GET', '/metrics');
      return /^writ_http_requests_in_work 6$/m.test(String(body));
    });
    stopping.app.leave();
    const closed = stopping.close();
    await other.query('ROLLBACK');

    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200]);
    await closed;
  });
});

describe('defects', () => {
  test('a defect before the answer is made ends its connection, not the process', async () => {
    let isBroken = false;
    const random = (size: number) => {
      if (isBroken) throw new Error('no bytes left');
      return system.random(size);
    };
    const breaking = await testService({ platform: { ...system, random } });
    const escaped: unknown[] = [];
    const listener = (...[request, response]: Parameters<typeof breaking.app.listener>) => {
      try {
        breaking.app.listener(request, response);
      } catch (error) {
        escaped.push(error);
        response.destroy();
      }
    };
    isBroken = true;
    const broken = inject(listener as never, { method: 'GET', url: '/healthz' });
    await assert.rejects(async () => await broken);
    isBroken = false;

    assert.deepEqual(escaped, []);
    assert.match(breaking.log.join(''), /no bytes left/);
    assert.equal((await breaking.ask('GET', '/healthz')).status, 200);
  });
});

describe('metrics', () => {
  test('GET /metrics counts answers by operation and status', async () => {
    const counted = await testService();
    await counted.ask('GET', '/svc/manifest');
    await counted.ask('GET', '/svc/manifest');
    await counted.ask('POST', '/svc/audit', { bearer: 'nobody' });
    await counted.ask('GET', '/nowhere');
    const { body, headers } = await counted.ask('GET', '/metrics');

    assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/);
    assert.equal(countOf(body, 'manifest', 200), 2);
    assert.equal(countOf(body, 'audit.query', 401), 1);
    assert.equal(countOf(body, 'none', 404), 1);
    assert.match(body, /writ_http_request_duration_seconds_count\{operation="manifest"\} 2/);
    assert.match(body, /writ_http_requests_in_work 1/);
  });

  for (const { name, open } of STORES) {
    test(`GET /metrics has the figures of the store, and asks it once for many scrapes (${name})`, async () => {
      const place = await open();
      let asked = 0;
      const watched = await testService({
        store: place.url,
        wrap: (store) =>
          Object.assign(Object.create(store), {
            figures: (now: Date) => {
              asked += 1;
              return store.figures(now);
            },
          }),
      });
      const scrapes: string[] = [];
      for (let i = 0; i < 3; i++) scrapes.push((await watched.ask('GET', '/metrics')).text ?? '');

      const [text = ''] = scrapes;
      const value = (metric: string) => new RegExp(`^${metric} ([\\d.e+-]+)$`, 'm').exec(text)?.[1];
      assert.ok(Number(value('writ_store_bytes')) > 10_000, text);
      assert.equal(value('writ_approvals_open'), '0');
      for (const some of [
        'event_loop_delay_seconds',
        'log_checkpoint_age_seconds',
        'log_backlog_entries',
      ]) {
        assert.ok(Number(value(`writ_${some}`)) >= 0, some);
      }
      const hasPool = name === 'PostgreSQL';
      assert.equal(value('writ_store_connections_idle') !== undefined, hasPool);
      assert.equal(asked, 1);
    });
  }

  test('GET /metrics answers without the figures of a store that is gone', async () => {
    const gone = await testService();
    await gone.store.close();

    const { status, text = '' } = await gone.ask('GET', '/metrics');

    assert.equal(status, 200);
    assert.doesNotMatch(text, /^writ_store_bytes /m);
  });

  test('GET /metrics has no label that a caller chose', async () => {
    const paths = ['/canary', '/svc/graph/canary', '/svc/invoke/canary', '/svc/audit?canary=1'];
    for (const path of paths) {
      await service.ask('POST', path, { headers: { 'user-agent': 'canary' } });
      await service.ask('GET', path, { headers: { 'x-request-id': 'canary' } });
    }
    const { body } = await service.ask('GET', '/metrics');

    assert.doesNotMatch(body, /canary/);
    const named = [...body.matchAll(/operation="([^"]*)"/g)].map(([, name]) => name);
    const known = [...Object.keys(operations), 'healthz', 'readyz', 'metrics', 'none'];
    assert.deepEqual(
      named.filter((name) => !known.includes(name)),
      [],
    );
  });

  test('two services in one process do not share numbers', async () => {
    const [one, other] = [await testService(), await testService()];
    atEnd(() => other.close());
    atEnd(() => one.close());
    await one.ask('GET', '/svc/manifest');

    const { body } = await other.ask('GET', '/metrics');

    assert.equal(countOf(body, 'manifest', 200), 0);
    assert.equal(countOf((await one.ask('GET', '/metrics')).body, 'manifest', 200), 1);
  });

  function countOf(text: string, operation: string, status: number): number {
    const line = `writ_http_requests_total{operation="${operation}",status="${status}"} `;
    return Number(
      text
        .split('\n')
        .find((each) => each.startsWith(line))
        ?.slice(line.length) ?? 0,
    );
  }
});

describe('load shedding', () => {
  test('work beyond the bound is 503 with Retry-After, before authentication', async () => {
    let asked = 0;
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const definition = createService({
      id: 'gate',
      capabilities: [],
      async authenticate() {
        asked += 1;
        await gate;
        return 'human:alice';
      },
    });
    const busy = await testService({ definition, load: patientLoad(2) });
    atEnd(() => open());
    const served = [1, 2].map(() => busy.ask('POST', '/svc/audit', { bearer: 'k' }));
    while (asked < 2) await new Promise(setImmediate);

    const turnedAway = await busy.ask('POST', '/svc/audit', { bearer: 'k', body: '{' });
    assert.equal(turnedAway.status, 503);
    assert.equal(turnedAway.body.success, false);
    assert.equal(turnedAway.body.failure.type, 'service_unavailable');
    assert.equal(turnedAway.body.failure.retry, true);
    assert.equal(turnedAway.headers['retry-after'], '1');
    assert.equal(asked, 2);
    assert.equal((await busy.ask('GET', '/nowhere')).status, 503);

    // Whoever watches is answered above all now.
    assert.equal((await busy.ask('GET', '/healthz?probe=1')).status, 200);
    const { body } = await busy.ask('GET', '/metrics');
    assert.match(body, /writ_http_requests_shed_total 2/);

    open();
    for (const reply of await Promise.all(served)) assert.equal(reply.status, 200);
    assert.equal((await busy.ask('POST', '/svc/audit', { bearer: 'k' })).status, 200);
  });
});

describe('traces and request ids', () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent = '00f067aa0ba902b7';

  test('a trace continues with the same trace id and flags, and a new span id', async () => {
    for (const flags of ['00', '01']) {
      const headers = { traceparent: `00-${trace}-${parent}-${flags}` };
      const reply = await service.ask('GET', '/svc/graph', { headers });

      const sent = String(reply.headers.traceparent);
      assert.match(sent, new RegExp(`^00-${trace}-[0-9a-f]{16}-${flags}$`));
      assert.doesNotMatch(sent, new RegExp(parent));
    }
  });

  const malformed = [
    '',
    'x',
    `00-${trace}-${parent}`,
    `00-${trace}-${parent}-01-more`,
    `00-${trace.toUpperCase()}-${parent}-01`,
    `00-${'0'.repeat(32)}-${parent}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `ff-${trace}-${parent}-01`,
    `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`,
    `00-${trace}-${parent}-0g`,
  ];
  for (const traceparent of malformed) {
    test(`a traceparent like "${traceparent}" is ignored`, async () => {
      const reply = await service.ask('GET', '/svc/graph', { headers: { traceparent } });

      assert.equal(reply.status, 200);
      assert.equal(reply.headers.traceparent, undefined);
    });
  }

  test('every answer has a unique request id made by the service', async () => {
    const ids = new Set<unknown>();
    for (let round = 0; round < 200; round += 1) {
      const path = ['/healthz', '/nowhere', '/svc/manifest', '/svc/graph/%'][round % 4] as string;
      const headers = { 'x-request-id': 'theirs', 'request-id': 'theirs' };
      const reply = await service.ask('GET', path, { headers });
      assert.match(String(reply.headers['x-request-id']), /^[0-9a-f]{16}$/);
      ids.add(reply.headers['x-request-id']);
    }
    assert.equal(ids.size, 200);
  });
});

test('a defect in a transport is logged, and the answer discloses nothing of it', async () => {
  const writing = service.store.backlog;
  service.store.backlog = () => {
    throw new Error('a defect of the test');
  };
  atEnd(() => {
    service.store.backlog = writing;
  });
  const { status, body } = await service.ask('GET', '/readyz');

  assert.equal(status, 500);
  assert.equal(body.failure.type, 'internal_error');
  assert.doesNotMatch(JSON.stringify(body), /of the test/);
  assert.ok(service.log.some((line) => /"msg":"defect"/.test(line) && /of the test/.test(line)));
});

test('an operation whose store is gone is 503, states that nothing ran, and when to retry', async () => {
  const gone = await testService();
  await gone.store.close();

  const { status, body, headers } = await gone.ask('POST', '/svc/tokens', {
    bearer: ALICE,
    body: { scope: ['travel.read'] },
    headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
  });

  assert.equal(status, 503);
  assert.equal(body.failure.type, 'service_unavailable');
  assert.match(body.failure.detail, /nothing happened/);
  assert.equal(headers['retry-after'], '1');
  const line = JSON.parse(gone.log.find((text) => text.includes('store unavailable')) ?? '{}');
  assert.equal(line.trace_id, '4bf92f3577b34da6a3ce929d0e0e4736', 'the line names the trace');
});

describe('metrics off loopback', () => {
  const key = 'metrics-key-of-the-test';
  const identities = [
    { principal: 'service:scraper', key, scopes: ['operator:metrics'] },
    { principal: 'human:carol', key: 'carols-key', scopes: ['travel.read'] },
  ];
  const places: [name: string, settings: object][] = [
    ['an address of other machines', { host: '0.0.0.0' }],
    ['a public address', { public_url: 'https://desk.example.com' }],
    ['a trusted proxy', { trusted_proxies: ['10.0.0.0/8'] }],
  ];
  for (const [name, settings] of places) {
    test(`GET /metrics needs a credential with operator:metrics behind ${name}`, async () => {
      const remote = await testService({ settings: { identities, ...settings } });
      const none = await remote.ask('GET', '/metrics');
      const wrong = await remote.ask('GET', '/metrics', { bearer: 'made-up' });
      const other = await remote.ask('GET', '/metrics', { bearer: 'carols-key' });
      const { token } = await remote.issue(key, { scope: ['operator:metrics'] });

      assert.deepEqual([none.status, wrong.status, other.status], [401, 401, 403]);
      for (const { text } of [none, wrong, other]) assert.doesNotMatch(text ?? '', /writ_/);
      for (const bearer of [key, token]) {
        const reply = await remote.ask('GET', '/metrics', { bearer });
        assert.equal(reply.status, 200);
        assert.match(reply.body, /writ_http_requests_total/);
      }
    });
  }
});
