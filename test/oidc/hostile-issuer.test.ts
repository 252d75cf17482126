import assert from 'node:assert/strict';
import { decodeProtectedHeader, type JWK } from 'jose';
import { test } from 'vitest';
import { configOf } from '../../src/config/config.ts';
import { Refusal } from '../../src/domain/failure.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { type IssuerParts, openIssuers } from '../../src/service/authority/issuers.ts';
import { createExternalIdentities } from '../../src/service/authority/oidc.ts';
import { callOut, type OutboundRequest } from '../../src/service/outbound/outbound.ts';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { type FalseAnswers, type FalseProvider, falseProvider } from './false-provider.ts';
import { AUDIENCE, testProvider } from './provider.ts';

const provider = await testProvider();
const jwks = (await (await fetch(`${provider.issuer}/jwks`)).json()) as { keys: JWK[] };
atEnd(() => provider.stop());

type Call = IssuerParts['call'];

const callSystem: Call = (request) => callOut(system, request);

/** One issuer alone, without a service: what it maps a token to, and what the log says. */
function identitiesOf(issuer: string, call: Call = callSystem, rules: object = {}) {
  const { oidc } = configOf({ oidc: [{ issuer, audience: AUDIENCE, ...rules }] }, '.');
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  let offset = 0;
  const now = () => new Date(Date.now() + offset);
  const external = createExternalIdentities(openIssuers(oidc, { now, log, call }), now);
  return {
    advance(ms: number) {
      offset += ms;
    },
    why: () => lines.map((line) => JSON.parse(line).why as string),
    /** The principal, or the type of the refusal. */
    async principal(claims: object = {}): Promise<string> {
      const bearer = await provider.forge({ iss: issuer, ...claims });
      try {
        return (await external.principal(bearer)) ?? 'unknown';
      } catch (error) {
        if (error instanceof Refusal) return error.failure.type;
        throw error;
      }
    },
  };
}

async function lying(answers: FalseAnswers = {}): Promise<FalseProvider> {
  return closedAtEnd(await falseProvider({ jwks, ...answers }));
}

test('an honest answer of the false provider is accepted, as a control for the refusals', async () => {
  const { issuer } = await lying();
  const identities = identitiesOf(issuer);

  assert.equal(await identities.principal(), 'oidc:ann-1');
  assert.deepEqual(identities.why(), []);
});

const DISCOVERY = '/.well-known/openid-configuration';
const megabyte = 'x'.repeat(1_000_000);

const lies: [what: string, answers: () => FalseAnswers, why: RegExp][] = [
  [
    'a discovery document of another issuer',
    () => ({ discovery: { issuer: provider.issuer } }),
    /^its discovery document is of "http:/,
  ],
  ['no issuer', () => ({ discovery: { issuer: undefined } }), /is of "undefined"$/],
  [
    'an issuer with a slash more',
    () => ({ instead: (path, response) => slashMore(path, response) }),
    /is of "http.*\/"$/,
  ],
  [
    'an issuer of a megabyte',
    () => ({ discovery: { issuer: megabyte.slice(0, 200_000) } }),
    /^its discovery document is of "x{200}"$/,
  ],
  [
    'keys on another inside address',
    () => ({ discovery: { jwks_uri: 'https://169.254.169.254/latest/meta-data' } }),
    /^Cannot call 169\.254\.169\.254: it is an inside address$/,
  ],
  [
    'keys on another loopback address',
    () => ({ discovery: { jwks_uri: provider.issuer.replace('127.0.0.1', '127.0.0.2') } }),
    /^Cannot call 127\.0\.0\.2:\d+: expected https$/,
  ],
  [
    'keys on this machine, spelt in IPv6',
    () => ({ discovery: { jwks_uri: 'https://[::ffff:127.0.0.1]/jwks' } }),
    /: it is an inside address$/,
  ],
  [
    'keys over http of another host',
    () => ({ discovery: { jwks_uri: 'http://keys.example/jwks' } }),
    /^Cannot call keys\.example: expected https$/,
  ],
  [
    'keys in a file',
    () => ({ discovery: { jwks_uri: 'file:///etc/passwd' } }),
    /^Cannot call "file:.*": expected https$/,
  ],
  [
    'no place of keys',
    () => ({ discovery: { jwks_uri: undefined } }),
    /"undefined": it is not a URL$/,
  ],
  ['keys that are not a list', () => ({ jwks: { keys: 'x' } }), /^its key set has no keys$/],
  ['a key that is not an object', () => ({ jwks: { keys: [1] } }), /malformed$/],
  ['a list instead of a document', () => answering(DISCOVERY, '[]'), /is of "undefined"$/],
  ['a word instead of a document', () => answering(DISCOVERY, '"x"'), /not a JSON object$/],
  ['no JSON', () => answering(DISCOVERY, '<html>'), /./],
  ['a member twice', () => answering('/jwks', '{"keys":[],"keys":[]}'), /./],
  ['a huge document', () => answering(DISCOVERY, megabyte), /more than 262144 bytes$/],
  ['a huge key set', () => answering('/jwks', megabyte), /more than 262144 bytes$/],
  ['a server error', () => answering(DISCOVERY, '{}', 500), /^it answered 500$/],
];
for (const [what, answers, why] of lies) {
  test(`an issuer that answers with ${what} is not trusted`, async () => {
    const { issuer } = await lying(answers());
    const identities = identitiesOf(issuer);

    assert.equal(await identities.principal(), 'service_unavailable');
    assert.equal(identities.why().length, 1);
    assert.match(identities.why()[0] as string, why);
  });
}

for (const status of [301, 302, 303, 307, 308]) {
  for (const place of [DISCOVERY, '/jwks']) {
    test(`a redirect with ${status} from ${place} is not followed`, async () => {
      const { issuer } = await lying({
        instead(path, response) {
          if (path !== place) return false;
          response.writeHead(status, { location: `${provider.issuer}${place}` }).end();
          return true;
        },
      });
      const before = new Map(provider.requests);
      const identities = identitiesOf(issuer);

      assert.equal(await identities.principal(), 'service_unavailable');
      assert.deepEqual(identities.why(), [`it answered ${status}`]);
      assert.deepEqual(provider.requests, before);
    });
  }
}

test('a slow issuer is given up after five seconds', async () => {
  const { issuer } = await lying({
    // A byte now and then keeps the connection alive, so that only a bound on the whole ends it.
    instead(_, response) {
      const timer = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(timer));
      return true;
    },
  });
  const calls: OutboundRequest[] = [];
  const identities = identitiesOf(issuer, (call) => {
    calls.push(call);
    return callOut(system, { ...call, timeoutMs: 100 });
  });

  assert.equal(await identities.principal(), 'service_unavailable');
  assert.match(identities.why()[0] as string, /no answer in 100 ms$/);
  assert.deepEqual(
    calls.map(({ timeoutMs }) => timeoutMs),
    [5_000],
  );
});

test('an issuer whose name resolves to an internal address is refused when connecting', async () => {
  const issuer = 'https://login.example';
  const resolved: string[] = [];
  const call: Call = (request) =>
    callOut(system, {
      ...request,
      resolve(hostname, _, done) {
        resolved.push(hostname);
        done(null, [{ address: '10.0.0.7', family: 4 }]);
      },
    });
  const identities = identitiesOf(issuer, call);

  assert.equal(await identities.principal(), 'service_unavailable');
  assert.deepEqual(identities.why(), [
    'Cannot call login.example: "login.example" resolves to an inside address',
  ]);
  assert.deepEqual(resolved, ['login.example']);
});

test('an internal name that the operator allows is called', async () => {
  const identities = identitiesOf(
    'https://login.example',
    (request) =>
      callOut(system, {
        ...request,
        resolve: (_, options, done) =>
          done(null, [{ address: '127.0.0.1', family: options.family === 6 ? 6 : 4 }]),
      }),
    { inside_hosts: ['login.example'] },
  );

  assert.equal(await identities.principal(), 'service_unavailable');
  assert.match(identities.why()[0] as string, /ECONNREFUSED 127\.0\.0\.1:443|socket|TLS|SSL/i);
});

test('a malformed key set does not replace a working one', async () => {
  let broken = false;
  const { issuer } = await lying({
    instead(path, response) {
      if (path !== '/jwks' || !broken) return false;
      response.end('{"keys":[1]}');
      return true;
    },
  });
  const identities = identitiesOf(issuer);
  assert.equal(await identities.principal(), 'oidc:ann-1');
  broken = true;
  identities.advance(601_000);

  assert.equal(await identities.principal({ exp: Date.now() / 1_000 + 3_600 }), 'oidc:ann-1');
  assert.equal(identities.why().length, 1);
});

test('a key for encryption does not verify signatures', async () => {
  const { issuer } = await lying({ jwks: { keys: [{ ...jwks.keys[0], use: 'enc' }] } });
  assert.equal(await identitiesOf(issuer).principal(), 'authentication_required');
});

test('the forged tokens name the key that the provider publishes', async () => {
  assert.equal(decodeProtectedHeader(await provider.forge()).kid, jwks.keys[0]?.kid);
});

function answering(place: string, body: string, status = 200): FalseAnswers {
  return {
    instead(path, response) {
      if (path !== place) return false;
      response.writeHead(status).end(body);
      return true;
    },
  };
}

type Instead = NonNullable<FalseAnswers['instead']>;

const slashMore = (path: string, response: Parameters<Instead>[1]): boolean => {
  if (path !== DISCOVERY) return false;
  const issuer = `http://${response.req.headers.host}/`;
  response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}jwks` }));
  return true;
};
