/**
 * A service that keeps what it can do from strangers, and what each caller sees of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createClient } from '../../src/client/index.ts';
import type { OperationName } from '../../src/protocol/operations.ts';
import { DiscoveryAnswer } from '../../src/protocol/trust.ts';
import { AGENT, ALICE, type TestService, testService } from '../support/world.ts';
import { inProcess } from '../surfaces/surface-process.ts';
import { assertRefused } from './refused.ts';

const gated = await testService({ settings: { manifest_access: 'authenticated' } });
const url = await gated.app.listen({ host: '127.0.0.1', port: 0 });
const open = await testService();
const { body } = await open.ask('GET', '/svc/manifest');
const names = Object.keys(body.capabilities);

/** What tells of capabilities, as it is asked. */
const TELLING: readonly [
  name: OperationName,
  method: string,
  path: string,
  request: Record<string, unknown>,
][] = [
  ['manifest', 'GET', '/svc/manifest', {}],
  ['graph', 'GET', '/svc/graph', {}],
  ['graph.get', 'GET', '/svc/graph/book_flight', { capability: 'book_flight' }],
  ['handshake', 'POST', '/svc/handshake', { capabilities: { book_flight: '^1.0.0' } }],
];

for (const [name, method, path, request] of TELLING) {
  const asked = (service: TestService, bearer?: string) =>
    service.ask(method, path, { bearer, ...(method === 'POST' && { body: request }) });

  test(`${name} requires a credential with the gate, and none without it`, async () => {
    const stranger = await asked(gated);
    const wrong = await asked(gated, 'no-such-key');
    const { token } = await gated.issue(ALICE, { scope: ['travel.search'] });
    const known = [await asked(gated, AGENT), await asked(gated, token)];
    const anyone = await asked(open);

    for (const reply of [stranger, wrong]) {
      assertRefused(reply, 401, 'authentication_required');
      assert.equal(reply.body.failure.resolution.action, 'provide_credentials');
      assert.match(String(reply.headers['www-authenticate']), /^Bearer resource_metadata="[^"]+"$/);
    }
    for (const { status, headers } of known) {
      assert.equal(status, 200);
      assert.doesNotMatch(String(headers['cache-control']), /public/);
    }
    assert.equal(anyone.status, 200);
  });

  test(`${name} requires a credential with the gate on other transports too`, async () => {
    const surface = inProcess(gated.runtime);
    const { body: stranger } = await surface.ask(name, request);
    const { body: known } = await surface.ask(name, request, ALICE);

    assert.equal((stranger.failure as { type: string }).type, 'authentication_required');
    assert.equal('failure' in known, false);
  });
}

test('a copy of the manifest is not confirmed to an unknown caller', async () => {
  const { headers } = await gated.ask('GET', '/svc/manifest', { bearer: ALICE });
  const condition = { 'if-none-match': String(headers.etag) };
  const stranger = await gated.ask('GET', '/svc/manifest', { headers: condition });
  const known = await gated.ask('GET', '/svc/manifest', { bearer: ALICE, headers: condition });

  assert.equal(stranger.status, 401);
  assert.equal(known.status, 304);
});

test('a token that has ended does not open the gate', async () => {
  const { token, token_id } = await gated.issue(ALICE, { scope: ['travel.search'] });
  await gated.ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body: { token_id } });

  assertRefused(await gated.ask('GET', '/svc/manifest', { bearer: token }), 401, 'invalid_token');
});

test('discovery states that the manifest requires a credential, and lists no capability', async () => {
  const { body } = await gated.ask('GET', '/.well-known/svc');
  const { svc_discovery: discovery } = DiscoveryAnswer.parse(body);
  const { body: plain } = await open.ask('GET', '/.well-known/svc');

  assert.equal(discovery.manifest_access, 'authenticated');
  assert.deepEqual(discovery.capabilities, {});
  assert.deepEqual(discovery.endpoints, plain.svc_discovery.endpoints);
  assert.equal('manifest_access' in plain.svc_discovery, false);
  assert.deepEqual(Object.keys(plain.svc_discovery.capabilities), names);
});

test('the front page shows no counts with the gate, and links only public documents', async () => {
  const { body } = await gated.ask('GET', '/', { headers: { accept: 'text/html' } });

  assert.match(body, /Callers with a credential can list what agents can do here/);
  const links = [...String(body).matchAll(/href="\.([^"]+)"/g)].map(([, path = '']) => path);
  assert.ok(links.includes('/docs'));
  const headers = { host: 'localhost' };
  for (const path of links) {
    const { status, headers: answered } = await gated.ask('GET', path, { headers });
    // The console leads a person who is not signed in to the page where people sign in.
    const isPublic = status === 200 || /^\/sign-in\?/.test(String(answered.location));
    assert.ok(isPublic, `${path}: ${status}`);
  }
});

test('no answer to an unknown caller names a capability', async () => {
  const { body: api } = await gated.ask('GET', '/openapi.json');
  const paths = Object.keys(api.paths).filter((path) => !path.includes('{'));
  const replies = [
    ...['/', '/docs', '/healthz', '/readyz', ...paths].flatMap((path) => [
      gated.ask('GET', path),
      gated.ask('POST', path, { body: {} }),
    ]),
    gated.ask('POST', '/svc/invoke/book_flight', { body: { parameters: {} } }),
    gated.ask('POST', '/svc/test/book_flight', { body: { parameters: {} } }),
    gated.ask('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
  ];
  // The examples of the description are of the showcase, which this service happens to be.
  const told = (await Promise.all(replies)).map(({ text = '' }) => text);
  const ofDesk = names.filter((name) => !JSON.stringify(api).includes(name));

  assert.ok(ofDesk.length > 3);
  for (const name of ofDesk)
    assert.deepEqual(
      told.filter((text) => text.includes(name)),
      [],
    );
});

test('an unknown caller gets the same refusal for an unknown and an existing capability', async () => {
  const ask = async (path: string) => {
    const { status, body } = await gated.ask('POST', path, { body: { parameters: {} } });
    return { status, failure: body.failure };
  };

  assert.deepEqual(await ask('/svc/invoke/book_flight'), await ask('/svc/invoke/fly_to_moon'));
  assert.deepEqual(
    (await gated.ask('GET', '/svc/graph/book_flight')).body,
    (await gated.ask('GET', '/svc/graph/fly_to_moon')).body,
  );
});

test('the API description states which operations require a credential', async () => {
  const securityAt = async (service: TestService) => {
    const { body } = await service.ask('GET', '/openapi.json');
    return TELLING.map(([name, method]) => {
      const rows: { operationId: string; security: object[] }[] = Object.values(body.paths).flatMap(
        (path) => Object.values(path as object),
      );
      const row = rows.find(({ operationId }) => operationId === name);
      assert.ok(row, method);
      return row.security.length > 0;
    });
  };

  assert.deepEqual(await securityAt(gated), [true, true, true, true]);
  assert.deepEqual(await securityAt(open), [false, false, false, false]);
});

test('a client sends its credential for the manifest only when asked to', async () => {
  const { token } = await gated.issue(ALICE, { scope: ['travel.search'] });
  const careful = await createClient({ url, credential: token }).manifest();
  const asking = await createClient({ url, credential: token, gatedManifest: true }).manifest();

  const meant = { url, credential: token, serviceId: 'travel-desk' };
  const kept = await createClient(meant).ask('permissions', {});
  const given = await createClient({ ...meant, gatedManifest: true }).ask('permissions', {});

  for (const refused of [careful, kept]) {
    assert.ok(!refused.ok);
    assert.match(refused.failure.detail, /^Cannot read the manifest: .* set gatedManifest /);
  }
  assert.equal(!kept.ok && kept.failure.type, 'authentication_required');
  assert.equal(given.ok, true);
  assert.equal(asking.ok && asking.answer.service_identity.id, 'travel-desk');
});

test('writ verify manifest sends a credential when asked to, and otherwise names the option', async () => {
  const { body: jwks } = await gated.ask('GET', '/.well-known/jwks.json');
  const pins = jwks.keys.flatMap(({ kid }: { kid: string }) => ['--pin', kid]);
  const verify = async (options: string[], env: Record<string, string> = {}) => {
    const said: string[] = [];
    const say = (text: string) => void said.push(text);
    const args = ['verify', 'manifest', '--service', url, ...pins, ...options];
    const status = await main(args, { out: say, err: say, env });
    return { status, said: said.join('') };
  };
  const held = { WRIT_CLIENT_CREDENTIAL: ALICE };

  const given = await verify(['--gated-manifest'], held);
  const kept = await verify([], held);
  const none = await verify(['--gated-manifest']);
  const alone = await verify(['--token-file', 'token'], held);

  assert.equal(given.status, 0, given.said);
  assert.equal(kept.status, 4);
  assert.match(kept.said, /asks for a credential before it shows its manifest; give --gated-manif/);
  assert.equal(none.status, 4);
  assert.match(
    none.said,
    /there is no credential; set WRIT_CLIENT_CREDENTIAL or give --token-file/,
  );
  assert.equal(alone.status, 2);
  assert.match(alone.said, /give --gated-manifest too/);
});

test('writ mcp names the option that a gated service needs', async () => {
  const { token } = await gated.issue(ALICE, { scope: ['travel.search'] });
  const { port } = gated.app.server.address() as AddressInfo;
  let said = '';
  const hear = (text: string) => {
    said += text;
  };

  const code = await main(['mcp', '--service', `http://127.0.0.1:${port}`], {
    out: hear,
    err: hear,
    env: { WRIT_CLIENT_CREDENTIAL: token },
    pipes: { input: new PassThrough(), output: new PassThrough() },
  });

  assert.equal(code, 4);
  assert.match(said, /^Cannot read the manifest: .*\(--gated-manifest\)/);
});
