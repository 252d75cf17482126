import assert from 'node:assert/strict';
import type { JWK } from 'jose';
import { beforeEach, test } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { ALICE, type TestService } from '../support/world.ts';
import { desk, exchanged, issuerOf, principalAt } from './desk.ts';
import { privateJwk, type TestProvider, testProvider } from './provider.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let provider: TestProvider;
let service: TestService;
beforeEach(async () => {
  provider = await testProvider();
  atEnd(() => provider.stop());
  service = await desk([issuerOf(provider.issuer)]);
});

const fetches = () => provider.requests.get('/jwks') ?? 0;

// The clock of the harness runs between its moves, so every bound is passed with room to spare.

/** Lives longer than any test moves the clock. */
const lasting = () => provider.forge({ exp: Math.floor(Date.now() / SECOND) + 7 * 86_400 });

const unknownKid = (kid: string) => provider.forge({}, {}, { ...privateJwk(), kid } as JWK);

test('no issuer is called before the first token, and once for many concurrent tokens', async () => {
  assert.equal(fetches(), 0);

  const bearer = await lasting();
  const principals = await Promise.all(
    Array.from({ length: 20 }, () => principalAt(service, bearer)),
  );

  assert.deepEqual(new Set(principals), new Set(['oidc:ann-1']));
  assert.equal(fetches(), 1);
});

test('a token without a configured issuer causes no request', async () => {
  await principalAt(service, await provider.forge({ iss: 'https://issuer.example' }));
  await principalAt(service, await provider.forge({ iss: `${provider.issuer}/` }));
  await principalAt(service, await provider.forge({ iss: [provider.issuer] }));
  await principalAt(service, await provider.forge({ iss: undefined }));

  assert.equal(provider.requests.size, 0);
});

test('a flood of unknown keys causes one fetch per interval', async () => {
  await principalAt(service, await lasting());
  const flood = async (name: string) => {
    const bearers = await Promise.all(
      Array.from({ length: 25 }, (_, index) => unknownKid(`${name}-${index}`)),
    );
    const answers = await Promise.all(bearers.map((bearer) => principalAt(service, bearer)));
    assert.deepEqual(new Set(answers), new Set(['authentication_required']));
  };

  await flood('first');
  assert.equal(fetches(), 1);

  service.advance(30 * SECOND);
  await flood('second');
  assert.equal(fetches(), 2);

  service.advance(15 * SECOND);
  await flood('third');
  assert.equal(fetches(), 2);
  assert.equal(await principalAt(service, await lasting()), 'oidc:ann-1');
});

test('a new key of the provider is accepted within the interval, and an old one forgotten', async () => {
  const old = await lasting();
  assert.equal(await principalAt(service, old), 'oidc:ann-1');
  await provider.rotate();
  const rotated = await lasting();

  // A moment ago somebody asked, so the answer is not worth another question yet.
  assert.equal(await principalAt(service, rotated), 'authentication_required');
  service.advance(30 * SECOND);
  assert.equal(await principalAt(service, rotated), 'oidc:ann-1');
  assert.equal(await principalAt(service, old), 'authentication_required');
});

test('a withdrawn key is forgotten within ten minutes, even without a token under a new one', async () => {
  const old = await lasting();
  await principalAt(service, old);
  await provider.rotate();

  service.advance(540 * SECOND);
  assert.equal(await principalAt(service, old), 'oidc:ann-1');
  service.advance(61 * SECOND);
  assert.equal(await principalAt(service, old), 'authentication_required');
});

test('users who sign in after a key rotation get tokens', async () => {
  await principalAt(service, await provider.signIn('ann-1'));
  await provider.rotate();
  service.advance(30 * SECOND);

  assert.equal(await principalAt(service, await provider.signIn('ann-1')), 'human:ann@example.com');
});

test('a restart of the provider is not noticed', async () => {
  const bearer = await lasting();
  assert.equal(await principalAt(service, bearer), 'oidc:ann-1');

  await provider.stop();
  assert.equal(await principalAt(service, bearer), 'oidc:ann-1');
  service.advance(601 * SECOND);
  assert.equal(await principalAt(service, bearer), 'oidc:ann-1');
  await provider.start();
  service.advance(30 * SECOND);

  assert.equal(await principalAt(service, bearer), 'oidc:ann-1');
  assert.equal(fetches(), 2);
});

test('the last keys are used for a day while the provider is down, then the refusal names the reason', async () => {
  const bearer = await lasting();
  await principalAt(service, bearer);
  await provider.stop();

  service.advance(24 * HOUR - 60 * SECOND);
  assert.equal(await principalAt(service, bearer), 'oidc:ann-1');
  service.advance(61 * SECOND);

  const { answer } = await exchanged(service, bearer);
  assert.equal(answer.status, 503);
  const { type, detail, retry, resolution } = answer.body.failure;
  assert.equal(type, 'service_unavailable');
  assert.equal(
    detail,
    `Cannot check the identity token: issuer "${provider.issuer}" is not reachable`,
  );
  assert.equal(retry, true);
  assert.equal(resolution.action, 'wait_and_retry');
  assert.equal(resolution.estimated_availability, 'PT30S');

  await provider.start();
  service.advance(30 * SECOND);
  assert.equal(await principalAt(service, bearer), 'oidc:ann-1');
});

test('an unreachable provider affects only its own tokens', async () => {
  const bearer = await lasting();
  await provider.stop();

  assert.equal(await principalAt(service, bearer), 'service_unavailable');
  assert.equal(await principalAt(service, ALICE), 'human:alice@example.com');
  assert.equal(await principalAt(service, 'nobody-s-key'), 'authentication_required');
  await provider.start();
  assert.equal(await principalAt(service, bearer), 'service_unavailable');
  service.advance(30 * SECOND);
  assert.equal(await principalAt(service, bearer), 'oidc:ann-1');
});

test('issued tokens work without the provider', async () => {
  const { answer } = await exchanged(service, await lasting());
  await provider.stop();
  service.advance(HOUR);

  const bearer = answer.body.token;
  const { status } = await service.ask('POST', '/svc/permissions', { bearer, body: {} });

  assert.equal(status, 200);
});

test('API keys do not wait for a provider that is down', async () => {
  const bearer = await lasting();
  await provider.stop();

  await principalAt(service, bearer);
  const before = service.log.length;
  assert.equal(await principalAt(service, ALICE), 'human:alice@example.com');

  assert.equal(service.log.slice(before).filter((line) => /issuer/.test(line)).length, 0);
});

test('an unreachable provider is logged once per interval, with the reason and no token', async () => {
  const bearer = await lasting();
  await provider.stop();

  for (let attempt = 0; attempt < 5; attempt += 1) await principalAt(service, bearer);

  const lines = service.log.filter((line) => line.includes('issuer not reached'));
  assert.equal(lines.length, 1);
  assert.match(lines[0] as string, /ECONNREFUSED/);
  assert.equal(lines[0]?.includes(bearer.split('.')[1] as string), false);
});
