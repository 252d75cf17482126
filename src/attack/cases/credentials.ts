/**
 * Where a credential may stand: one bearer in one header, and nowhere else.
 *
 * @module
 */

import type { Case } from '../case.ts';
import {
  type Attempt,
  broken,
  eachAttempt,
  held,
  noneAccepted,
  notApplicable,
} from '../target/outcome.ts';
import { headIn, JSON_TYPE, rawExchange, rawText, statusesIn } from '../target/socket.ts';
import { type Asked, NO_ANSWER } from '../target/wire.ts';
import {
  acceptedToken,
  invokePath,
  mustAccept,
  ONE_HOUR,
  operationPath,
  readCall,
  tokenOf,
  type World,
} from '../target/world.ts';

/** Protected operations. Where one would change something by itself, only reading it is tried. */
function protectedRequests(world: World): Asked[] {
  const [call] = world.reads;
  const scope = world.self.scopes.slice(0, 1);
  const optional = (name: string, method: string): Asked[] => {
    const path = world.service.endpoints.get(name);
    return path === undefined ? [] : [{ method, path, ...(method === 'POST' && { body: {} }) }];
  };
  return [
    {
      path: operationPath(world, 'tokens'),
      body: { scope, subject: 'agent:writ-attack', ...ONE_HOUR },
    },
    { method: 'GET', path: operationPath(world, 'tokens') },
    { path: operationPath(world, 'permissions'), body: {} },
    { path: operationPath(world, 'audit') },
    { method: 'GET', path: operationPath(world, 'audit') },
    ...(call
      ? [{ path: invokePath(world, call.capability), body: { parameters: call.parameters } }]
      : []),
    ...optional('approval_grants', 'POST'),
    ...optional('approval_requests', 'GET'),
    ...optional('tokens_revoke', 'POST'),
    ...optional('operator_frozen', 'GET'),
    ...optional('operator_identities', 'GET'),
    ...optional('operator_deliveries', 'GET'),
  ];
}

/** Spellings of a path that a front may let through and a router may read as the protected one. */
function disguised(path: string): string[] {
  const [, first = '', ...rest] = path.split('/');
  const tail = rest.join('/');
  return [
    `/${path}`,
    `${path}/`,
    `/./${first}/${tail}`,
    `/${first}//${tail}`,
    `/${first}/x/../${tail}`,
    `/${first}/%2e/${tail}`,
    `/.well-known/..%2f${first}/${tail}`,
    `/.well-known/../${first}/${tail}`,
    path.toUpperCase(),
    `${path};a=b`,
    `${path}%00`,
    `${path}%20`,
    `/%73${first.slice(1)}/${tail}`,
    `${path}.json`,
    `${path}?x=/.well-known/svc`,
  ];
}

const BEARER = 'Endpoints: credentials are sent as Authorization: Bearer <credential>';

/** Sends exactly these header lines to permissions, over a socket. */
async function withHeaders(world: World, own: readonly string[]): Promise<Attempt['answer']> {
  const path = operationPath(world, 'permissions');
  const headers = [...own, JSON_TYPE, 'Content-Length: 2', 'Connection: close'];
  const text = rawText(world.wire, { method: 'POST', path, headers, body: '{}' });
  const received = await rawExchange(world.wire, text);
  return { ...NO_ANSWER, status: statusesIn(received)[0] ?? 0 };
}

export const credentialCases: readonly Case[] = [
  {
    id: 'surface.no-credential',
    tries: 'Every protected operation without a credential.',
    holds: 'The service refuses each.',
    basis: 'Endpoints: auth column; Authentication: HTTP 401',
    async run(world) {
      const attempts = await eachAttempt(protectedRequests(world), async (asked) => ({
        what: `${asked.method ?? 'POST'} ${asked.path}`,
        answer: await world.wire.ask(asked),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'surface.disguised-paths',
    tries: 'The same paths in other spellings: dots, double slashes, other letters, escapes.',
    holds: 'No spelling reaches a protected operation without a credential.',
    basis: 'Endpoints: auth column',
    async run(world) {
      const path = operationPath(world, 'permissions');
      const plain = await mustAccept(world, await tokenOf(world, world.self));
      if (!hasBuckets(plain.json))
        return notApplicable('the answer to permissions cannot be recognised');
      const attempts = await eachAttempt(disguised(path), async (spelling) => ({
        what: spelling,
        answer: await world.wire.ask({ path: spelling, body: {} }),
      }));
      return noneAccepted(
        attempts,
        ({ status, json }) => status < 300 && status > 0 && hasBuckets(json),
      );
    },
  },
  {
    id: 'surface.credential-elsewhere',
    tries: 'A good token in the query, in the body, in a cookie and in other headers.',
    holds: 'The service refuses each: addresses are logged, and cookies are sent by other pages.',
    basis: BEARER,
    async run(world) {
      const { jwt } = await acceptedToken(world);
      const path = operationPath(world, 'permissions');
      const queries = ['access_token', 'token', 'bearer', 'authorization', 'jwt'];
      const attempts = [
        ...(await eachAttempt(queries, async (name) => ({
          what: `the query "${name}"`,
          answer: await world.wire.ask({ path: `${path}?${name}=${jwt}`, body: {} }),
        }))),
        ...(await eachAttempt(
          ['cookie', 'x-authorization', 'proxy-authorization', 'x-access-token', 'x-api-key'],
          async (name) => ({
            what: `the header "${name}"`,
            answer: await world.wire.ask({
              path,
              body: {},
              headers: {
                [name]: name === 'cookie' ? `token=${jwt}; session=${jwt}` : `Bearer ${jwt}`,
              },
            }),
          }),
        )),
        {
          what: 'the body',
          answer: await world.wire.ask({ path, body: { token: jwt, access_token: jwt } }),
        },
      ];
      return noneAccepted(attempts);
    },
  },
  {
    id: 'surface.other-schemes',
    tries: 'A good token under another scheme than Bearer, and in other forms.',
    holds: 'The service refuses each.',
    basis: BEARER,
    async run(world) {
      const { jwt } = await acceptedToken(world);
      const basic = Buffer.from(`writ-attack:${jwt}`).toString('base64');
      const values = [
        `Basic ${basic}`,
        `Token ${jwt}`,
        jwt,
        `Bearer${jwt}`,
        `Bearer "${jwt}"`,
        `Bearer token=${jwt}`,
        `Bearer ${jwt} ${jwt}`,
        `JWT ${jwt}`,
      ];
      const path = operationPath(world, 'permissions');
      const attempts = await eachAttempt(values, async (authorization) => ({
        what: `the form "${authorization.replaceAll(jwt, '…').replaceAll(basic, '…')}"`,
        answer: await world.wire.ask({ path, body: {}, headers: { authorization } }),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'surface.two-credentials',
    tries:
      'Two Authorization headers: a good token beside a bad one, in both orders, and joined by a comma.',
    holds: 'The service refuses each: a front and the service must not read two callers.',
    basis: 'Delegation token validation 1: bearer token present; practice: one bearer',
    async run(world) {
      const { jwt } = await tokenOf(world, world.self);
      const [good, bad] = [`Authorization: Bearer ${jwt}`, 'Authorization: Bearer writ-attack'];
      const ways: readonly (readonly [what: string, headers: readonly string[]])[] = [
        ['good, then bad', [good, bad]],
        ['bad, then good', [bad, good]],
        ['the same twice', [good, good]],
        ['joined by a comma', [`${bad}, Bearer ${jwt}`]],
      ];
      const attempts = await eachAttempt(ways, async ([what, headers]) => ({
        what,
        answer: await withHeaders(world, headers),
      }));
      const control = await withHeaders(world, [good]);
      if (control.status !== 200)
        return notApplicable(`one good token is not accepted here either (${control.status})`);
      return noneAccepted(attempts);
    },
  },
  {
    id: 'surface.method-override',
    tries:
      'Other methods than the specified ones, by the method itself and by headers that override it.',
    holds: 'TRACE repeats no credential, and no other method issues a token.',
    basis: 'Endpoints: method column',
    async run(world) {
      const { jwt } = await tokenOf(world, world.self);
      const headers = [`Authorization: Bearer ${jwt}`, 'Connection: close'];
      const open = operationPath(world, 'permissions');
      const trace = rawText(world.wire, { method: 'TRACE', path: open, headers });
      const traced = await rawExchange(world.wire, trace);
      if (traced.includes(jwt)) return broken('TRACE repeats the Authorization header');
      const names = ['x-http-method-override', 'x-method-override', 'x-http-method'];
      const body = { scope: world.self.scopes.slice(0, 1), ...ONE_HOUR };
      const path = operationPath(world, 'tokens');
      const attempts = await eachAttempt(names, async (name) => ({
        what: `GET with ${name}: POST`,
        answer: await world.wire.ask({
          method: 'GET',
          path,
          bearer: world.self.credential,
          headers: { [name]: 'POST' },
          body,
        }),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'surface.other-origin',
    tries: 'Requests of a page on another origin, with and without a preflight.',
    holds: 'No answer lets that origin send credentials of the browser.',
    basis: 'practice: a page on another origin must not act for a person',
    async run(world) {
      const origin = 'https://writ-attack.invalid';
      const { jwt } = await tokenOf(world, world.self);
      const path = operationPath(world, 'permissions');
      const preflight = {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      };
      const answers = [
        await world.wire.ask({ method: 'OPTIONS', path, headers: preflight }),
        await world.wire.ask({ path, bearer: jwt, body: {}, headers: { origin } }),
        await world.wire.ask({
          method: 'GET',
          path: '/.well-known/svc',
          headers: { origin: 'null' },
        }),
      ];
      const open = answers.find(
        ({ headers }) =>
          headers['access-control-allow-credentials'] === 'true' &&
          [origin, 'null', '*'].includes(String(headers['access-control-allow-origin'])),
      );
      return open
        ? broken('a foreign origin may send credentials')
        : held(`${answers.length} answers, none admits credentials of a foreign origin`);
    },
  },
  {
    id: 'surface.line-breaks',
    tries:
      'Line breaks in ids and paths, which a careless service copies into a header of its answer.',
    holds: 'No answer has a header that the attacker wrote.',
    basis: 'POST /svc/invoke: client_reference_id is echoed; practice',
    async run(world) {
      const call = readCall(world);
      const { jwt } = await tokenOf(world, world.self, { scope: call.scopes });
      const planted = 'x\r\nX-Writ-Attack: 1';
      const body = JSON.stringify({
        parameters: call.parameters,
        client_reference_id: planted,
        upstream_service: planted,
      });
      const escaped = encodeURIComponent(planted);
      const at = (path: string) => ({
        method: 'POST',
        path,
        headers: [
          `Authorization: Bearer ${jwt}`,
          JSON_TYPE,
          `Content-Length: ${Buffer.byteLength(body)}`,
          'Connection: close',
          `X-Request-Id: ${escaped}`,
        ],
        body,
      });
      const paths = [
        invokePath(world, call.capability),
        invokePath(world, planted),
        `/svc/${escaped}`,
        `/.well-known/svc?x=${escaped}`,
      ];
      let answered = 0;
      for (const path of paths) {
        const received = await rawExchange(world.wire, rawText(world.wire, at(path)));
        answered += statusesIn(received).length;
        if (headIn(received).some((line) => /^x-writ-attack:/i.test(line)))
          return broken('an answer has a planted header');
      }
      return answered === 0
        ? notApplicable('the service answered none of them')
        : held(`${answered} answers without a planted header`);
    },
  },
];

/** A permission response: proof that the protected operation answered. */
function hasBuckets(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'available' in json;
}
