import assert from 'node:assert/strict';
import { test } from 'vitest';
import { testService } from '../support/world.ts';

const service = await testService();
const fetched = (path: string, host: string) => service.ask('GET', path, { headers: { host } });

test('the metadata of the server has what clients need before they begin', async () => {
  const { status, body, headers } = await fetched(
    '/.well-known/oauth-authorization-server',
    '127.0.0.1',
  );

  assert.equal(status, 200);
  assert.equal(body.issuer, 'http://127.0.0.1');
  assert.deepEqual(body.code_challenge_methods_supported, ['S256']);
  assert.deepEqual(body.token_endpoint_auth_methods_supported, ['none']);
  assert.equal(body.client_id_metadata_document_supported, true);
  assert.equal(body.authorization_response_iss_parameter_supported, true);
  assert.equal(body.registration_endpoint, undefined);
  assert.match(String(headers['cache-control']), /max-age/);
});

test('the resource has the name by which a client on this machine reached it', async () => {
  const path = '/.well-known/oauth-protected-resource/mcp';
  const resources = ['127.0.0.1', 'localhost', 'evil.example'].map(
    async (host) => (await fetched(path, host)).body.resource,
  );

  assert.deepEqual(await Promise.all(resources), [
    'http://127.0.0.1/mcp',
    'http://localhost/mcp',
    'http://127.0.0.1/mcp',
  ]);
});

test('the metadata names no right over the service itself', async () => {
  const { body } = await fetched('/.well-known/oauth-protected-resource', '127.0.0.1');

  assert.ok(body.scopes_supported.includes('travel.search'));
  assert.ok(body.scopes_supported.every((scope: string) => !/^(?:operator|approver)/.test(scope)));
});

test('a service that other machines reach has no sign-in with keys', async () => {
  const identities = [
    { principal: 'human:ann@example.com', key_sha256: 'a'.repeat(64), scopes: ['travel.*'] },
  ];
  const mark = 'postgres://mark/x';
  const open = await testService({
    settings: { identities, public_url: 'http://desk.example', mark },
  });
  for (const path of [
    '/sign-in',
    '/authorize',
    '/token',
    '/.well-known/oauth-protected-resource',
  ]) {
    assert.equal((await open.ask('GET', path)).status, 404, path);
  }
  const secure = await testService({
    settings: { identities, public_url: 'https://desk.example', mark },
    baseUrl: () => 'https://desk.example',
  });
  const { status, text = '' } = await secure.ask('GET', '/sign-in');
  assert.deepEqual([status, text.includes('name="key"')], [200, false]);
});
