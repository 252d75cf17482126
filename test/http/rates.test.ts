/**
 * How fast callers may ask by default, over every operation: by principal once they are known, by address
 * before that, and through proxies that are trusted.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Platform, system } from '../../src/platform.ts';
import { Failure } from '../../src/protocol/failure.ts';
import { ALICE, BOB, type Reply, type TestService, testService } from '../support/world.ts';

const MCP_TYPES = 'application/json, text/event-stream';

/** More than is read before a credential is judged. */
const LONG = '1'.repeat(20_000);

/** No time passes, so that an allowance does not grow while a test uses it up. */
const STILL: Platform = { ...system, monotonic: () => 0 };

const serving = (settings: object) => testService({ settings, platform: STILL });

function assertLimited(reply: Reply, seconds: string): void {
  assert.equal(reply.status, 429, JSON.stringify(reply.body));
  const found = Failure.parse(reply.body.failure);
  assert.equal(found.type, 'rate_limited');
  assert.equal(found.retry, true);
  assert.equal(found.resolution.estimated_availability, `PT${seconds}S`);
  assert.equal(reply.headers['retry-after'], seconds);
}

describe('by principal', () => {
  test('the defaults admit a thousand calls in a row', async () => {
    const { ask, issue, invoke } = await serving({});
    const { token } = await issue(ALICE, { scope: ['travel.read'] });
    for (let i = 0; i < 450; i += 1) {
      const asked = ask('POST', '/svc/permissions', { bearer: token, body: {} });
      const [invoked, told] = await Promise.all([invoke(token, 'nowhere'), asked]);
      assert.equal(invoked.status, 404);
      assert.equal(told.status, 200);
    }
  });

  test('every operation counts, over all tokens of one root principal, and others are not affected', async () => {
    const { ask, issue, invoke } = await serving({ principal_rate: '6/PT1H' });
    const { token } = await issue(ALICE, { scope: ['travel.read'], subject: 'agent:a' });
    const other = await issue(ALICE, { scope: ['travel.read'], subject: 'agent:b' });
    await ask('POST', '/svc/permissions', { bearer: token, body: {} });
    await ask('POST', '/svc/audit', { bearer: other.token, body: {} });
    await invoke(token, 'nowhere');
    await ask('POST', '/svc/test/nowhere', { bearer: other.token, body: { parameters: {} } });

    for (const bearer of [token, other.token, ALICE]) {
      const asked = await ask('POST', '/svc/audit', { bearer, body: {} });
      assertLimited(asked, '600');
    }
    assertLimited(await ask('POST', '/svc/permissions', { bearer: token, body: {} }), '600');
    assertLimited(await ask('POST', '/svc/tokens', { bearer: ALICE, body: {} }), '600');
    assert.equal((await ask('POST', '/svc/audit', { bearer: BOB, body: {} })).status, 200);
  });

  test('an invocation that the limit refuses is recorded, before its request is read', async () => {
    const { issue, ask } = await serving({ principal_rate: '2/PT1H' });
    const { token } = await issue(ALICE, { scope: ['travel.read'] });
    const broken = () => ask('POST', '/svc/invoke/x', { bearer: token, body: '{"parameters":' });
    assert.equal((await broken()).status, 400);

    const refused = await broken();

    assertLimited(refused, '1800');
    assert.match(refused.body.invocation_id, /^inv-/);
    assert.match(refused.body.audit.entry_id, /./);
  });

  test('a call through MCP counts like any other', async () => {
    const { issue, ask } = await serving({ principal_rate: '2/PT1H' });
    const { token } = await issue(ALICE, { scope: ['travel.read'] });
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const headers = { accept: 'application/json, text/event-stream' };
    await ask('POST', '/svc/permissions', { bearer: token, body: {} });

    assertLimited(await ask('POST', '/mcp', { bearer: token, body: list, headers }), '1800');
  });

  test('rate_limits: "off" disables both limits', async () => {
    const limits = { principal_rate: '1/PT1H', address_rate: '1/PT1H' };
    const { ask, issue } = await serving({ ...limits, rate_limits: 'off' });
    const { token } = await issue(ALICE, { scope: ['travel.read'] });

    for (let i = 0; i < 5; i += 1) {
      const reply = await ask('POST', '/svc/permissions', { bearer: token, body: {} });
      assert.equal(reply.status, 200);
      assert.equal((await ask('GET', '/svc/graph')).status, 200);
    }
  });
});

describe('by address', () => {
  test('anonymous requests of any kind count; health requests neither count nor are refused', async () => {
    const { ask } = await serving({ address_rate: '4/PT1H' });
    for (const path of ['/svc/manifest', '/nowhere', '/openapi.json', '/readyz']) {
      assert.notEqual((await ask('GET', path)).status, 429);
      assert.equal((await ask('GET', '/healthz')).status, 200);
    }

    assertLimited(await ask('GET', '/svc/manifest'), '900');
    assertLimited(await ask('POST', '/svc/handshake', { body: {} }), '900');
    assert.equal((await ask('GET', '/healthz')).status, 200);
    assert.equal((await ask('GET', '/metrics')).status, 200);
  });

  test('calls of known callers do not count', async () => {
    const { ask, issue, invoke } = await serving({ address_rate: '2/PT1H' });
    const { token } = await issue(ALICE, { scope: ['travel.read'] });
    for (let i = 0; i < 20; i += 1) {
      assert.equal((await invoke(token, 'nowhere')).status, 404);
      assert.equal((await ask('POST', '/svc/audit', { bearer: ALICE, body: {} })).status, 200);
    }

    assert.equal((await ask('GET', '/svc/graph')).status, 200);
  });

  test('a credential on a public operation does not identify the caller', async () => {
    const { ask } = await serving({ address_rate: '3/PT1H' });
    for (let i = 0; i < 3; i += 1) {
      assert.equal((await ask('GET', '/svc/graph', { bearer: 'made-up' })).status, 200);
    }

    assertLimited(await ask('GET', '/svc/graph', { bearer: 'made-up' }), '1200');
  });

  test('guesses at the metrics credential count', async () => {
    const { ask } = await serving({
      address_rate: '3/PT1H',
      trusted_proxies: ['10.0.0.1'],
    });
    const guess = (i: number) => ask('GET', '/metrics', { bearer: `guess-${i}` });
    for (let i = 0; i < 3; i += 1) assert.equal((await guess(i)).status, 401);

    assertLimited(await guess(4), '1200');
  });

  test('a configured credential passes from a flooded address after a public request', async () => {
    const { ask } = await serving({ address_rate: '2/PT1H' });
    for (let i = 0; i < 3; i += 1) await ask('GET', '/svc/graph');
    const audit = async () => (await ask('POST', '/svc/audit', { bearer: ALICE, body: {} })).status;

    assert.equal(await audit(), 200);
    assert.equal((await ask('GET', '/svc/manifest', { bearer: ALICE })).status, 200);
    assert.equal(await audit(), 200);
  });

  test('of bad signatures only so many are verified; others wait, and known callers do not', async () => {
    let now = 0;
    const waits: number[] = [];
    const platform: Platform = {
      ...system,
      monotonic: () => now,
      after(ms, run) {
        waits.push(ms);
        return system.after(0, run);
      },
    };
    const { ask, issue, invoke } = await testService({ platform });
    const { token } = await issue(ALICE, { scope: ['travel.read'] });
    const [header, payload, signature = ''] = token.split('.');
    const forged = [header, payload, [...signature].reverse().join('')].join('.');
    waits.length = 0;

    const counts = new Map<number, number>();
    for (let i = 0; i < 250; i += 1) {
      const { status } = await invoke(forged, 'nowhere');
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }

    assert.deepEqual(
      [...counts],
      [
        [401, 200],
        [429, 50],
      ],
    );
    assert.deepEqual(waits.filter((ms) => ms === 1_000).length, 50);
    assert.equal((await invoke(token, 'nowhere')).status, 404);
    assert.equal((await ask('POST', '/svc/audit', { bearer: BOB, body: {} })).status, 200);
    assert.equal((await ask('GET', '/svc/manifest')).status, 200);
    now += 1_000;
    assert.equal((await invoke(forged, 'nowhere')).status, 401);
  });

  /** Requests whose wrong signature is verified, and that are not answered with 401, or with more work than that. */
  const ELSEWHERE: Record<string, (service: TestService, forged: string) => Promise<Reply>> = {
    'a long body where no credential is asked for': ({ ask }, forged) =>
      ask('POST', '/svc/handshake', { bearer: forged, body: { capabilities: { a: LONG } } }),
    'a tool': ({ ask }, forged) => {
      const params = { name: 'nowhere', arguments: {} };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      return ask('POST', '/mcp', { bearer: forged, body, headers: { accept: MCP_TYPES } });
    },
    'the actor of a token exchange': ({ ask }, forged) => {
      const type = 'urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token';
      const grant = 'urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange';
      const types = `subject_token_type=${type}&actor_token_type=${type}`;
      return ask('POST', '/token', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `grant_type=${grant}&subject_token=x&%61ctor_token=${forged}&${types}`,
      });
    },
    'a token that is revoked': ({ ask }, forged) =>
      ask('POST', '/revoke', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `token=${forged}%0a`,
      }),
  };
  for (const [name, request] of Object.entries(ELSEWHERE)) {
    test(`bad signatures are counted: ${name}`, async () => {
      const platform: Platform = {
        ...system,
        monotonic: () => 0,
        after: (_ms, run) => system.after(0, run),
      };
      const service = await testService({ platform });
      const { token } = await service.issue(ALICE, { scope: ['travel.read'] });
      const [header, payload, signature = ''] = token.split('.');
      const forged = [header, payload, [...signature].reverse().join('')].join('.');

      const statuses: number[] = [];
      for (let i = 0; i < 201; i += 1) statuses.push((await request(service, forged)).status);

      const last = statuses.pop();
      assert.ok(last === 429 || last === 503, `${last}`);
      assert.ok(!statuses.includes(last));
      assert.equal((await service.invoke(token, 'nowhere')).status, 404);
    });
  }

  test('credentials that turn out to be good, and those that nothing asks for, do not count', async () => {
    const { ask } = await serving({});
    for (let i = 0; i < 210; i += 1) {
      const { status } = await ask('GET', '/svc/graph', { bearer: `made-up-${i}` });
      assert.equal(status, 200);
    }

    assert.equal((await ask('POST', '/svc/tokens', { bearer: 'wrong', body: {} })).status, 401);
  });

  test('a flood of wrong tokens does not lock out callers at the same address', async () => {
    const { ask, issue, invoke } = await serving({ address_rate: '50/PT1H' });
    const before = await issue(ALICE, { scope: ['travel.read'] });
    await invoke(before.token, 'nowhere');
    const wrong = (i: number) =>
      ask('POST', '/svc/invoke/nowhere', { bearer: `${before.token}${i}`, body: {} });
    for (let i = 0; i < 100; i += 1) await wrong(i);
    assertLimited(await wrong(100), '72');
    assertLimited(await ask('GET', '/svc/manifest'), '72');

    // A token that was used, a key of the configuration, a token made just now, and its child.
    assert.equal((await invoke(before.token, 'nowhere')).status, 404);
    assert.equal((await ask('POST', '/svc/audit', { bearer: BOB, body: {} })).status, 200);
    const made = await issue(ALICE, { scope: ['travel.read'] });
    assert.equal((await invoke(made.token, 'nowhere')).status, 404);
    const child = await issue(made.token, {
      scope: ['travel.read'],
      parent_token: made.token_id,
      subject: 'agent:child',
    });
    assert.equal((await invoke(child.token, 'nowhere')).status, 404);
  });

  test('a token that has ended is admitted once, and then refused', async () => {
    const { ask, issue, invoke } = await serving({ address_rate: '5/PT1H' });
    const { token, token_id } = await issue(ALICE, { scope: ['travel.read'] });
    await ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body: { token_id } });
    for (let i = 0; i < 5; i += 1) await ask('GET', '/svc/graph');

    assert.equal((await invoke(token, 'nowhere')).status, 401);
    assertLimited(await invoke(token, 'nowhere'), '720');
  });
});

describe('behind a proxy', () => {
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

  test('each client has its own allowance behind a trusted proxy', async () => {
    const { ask } = await serving({ address_rate: '2/PT1H', trusted_proxies: '127.0.0.0/8' });
    for (const client of ['192.0.2.1', '192.0.2.2', '2001:db8::1']) {
      assert.equal((await ask('GET', '/svc/graph', from(client))).status, 200);
      assert.equal((await ask('GET', '/svc/graph', from(client))).status, 200);
      assertLimited(await ask('GET', '/svc/graph', from(client)), '1800');
    }
  });

  test('a header that the client writes has no effect', async () => {
    const { ask } = await serving({ address_rate: '2/PT1H', trusted_proxies: ['127.0.0.1'] });
    for (const own of ['1.1.1.1', '2.2.2.2']) {
      assert.equal((await ask('GET', '/svc/graph', from(`${own}, 192.0.2.1`))).status, 200);
    }

    assertLimited(await ask('GET', '/svc/graph', from('3.3.3.3, 192.0.2.1')), '1800');
  });

  test('addresses of one /64 share an allowance', async () => {
    const { ask } = await serving({ address_rate: '2/PT1H', trusted_proxies: ['127.0.0.1'] });
    await ask('GET', '/svc/graph', from('2001:db8:1:2::1'));
    await ask('GET', '/svc/graph', from('2001:db8:1:2:ffff::9'));

    assertLimited(await ask('GET', '/svc/graph', from('2001:db8:1:2::77')), '1800');
    assert.equal((await ask('GET', '/svc/graph', from('2001:db8:1:3::1'))).status, 200);
  });

  test('the header is ignored without a trusted proxy', async () => {
    const { ask } = await serving({ address_rate: '2/PT1H' });
    for (const client of ['192.0.2.1', '192.0.2.2']) {
      assert.equal((await ask('GET', '/svc/graph', from(client))).status, 200);
    }

    assertLimited(await ask('GET', '/svc/graph', from('192.0.2.3')), '1800');
  });
});
