/**
 * Connections: framing that two readers read differently, clients that never read, floods beside an honest caller.
 *
 * Every case is bounded to a few connections and seconds: it shows a missing rule, it does not test how much a service
 * can take.
 *
 * @module
 */

import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Case } from '../case.ts';
import {
  broken,
  count,
  eachAttempt,
  held,
  isSuccess,
  notApplicable,
  type Outcome,
} from '../target/outcome.ts';
import { JSON_TYPE, openSocket, rawExchange, rawText, statusesIn } from '../target/socket.ts';
import { NO_ANSWER, type Seen } from '../target/wire.ts';
import {
  acceptedToken,
  isAnswering,
  operationPath,
  type Token,
  type World,
} from '../target/world.ts';

const SMUGGLED = 'GET /.well-known/svc HTTP/1.1\r\nHost: writ-attack.invalid\r\n\r\n';

/** Heads whose body ends in two places. The second request is inside the body by one reading, after it by the other. */
function ambiguous(world: World): (readonly [what: string, text: string])[] {
  const path = operationPath(world, 'permissions');
  const length = `Content-Length: ${SMUGGLED.length + 5}`;
  const chunks = 'Transfer-Encoding: chunked';
  const chunked = `0\r\n\r\n${SMUGGLED}`;
  const at = (headers: readonly string[], body: string) =>
    rawText(world.wire, { method: 'POST', path, headers: [JSON_TYPE, ...headers], body });
  return [
    ['a length and chunks', at([length, chunks], chunked)],
    ['chunks and a length', at([chunks, length], chunked)],
    ['two lengths', at(['Content-Length: 0', length], SMUGGLED)],
    ['a length with a sign', at(['Content-Length: +0'], SMUGGLED)],
    ['chunks under another name', at(['Transfer-Encoding: xchunked', length], chunked)],
    ['a space before the colon', at(['Transfer-Encoding : chunked', length], chunked)],
    ['a vertical tab in the encoding', at(['Transfer-Encoding: \u000bchunked', length], chunked)],
  ];
}

/** Connections that are held open, and milliseconds. */
const HELD_CONNECTIONS = 12;
const HELD_MS = 1_500;

/** Requests with bad tokens, beside an honest caller. */
const FLOOD = 120;
const FLOOD_AT_ONCE = 12;

/** Pipelined requests on one connection whose answers are not read. */
const UNREAD = 40;

/** Holds connections in a state, and asks honestly meanwhile. */
async function besides(world: World, begin: (socket: Socket, token: Token) => void) {
  const token = await acceptedToken(world);
  const sockets: Socket[] = [];
  try {
    for (let n = 0; n < HELD_CONNECTIONS; n++) {
      const socket = await openSocket(world.wire);
      if (!socket) break;
      sockets.push(socket);
      socket.pause();
      begin(socket, token);
    }
    if (sockets.length === 0) return notApplicable('no connection could be made');
    await pause(HELD_MS);
    const path = operationPath(world, 'permissions');
    const answer = await world.wire.ask({ path, bearer: token.jwt, body: {} });
    if (answer.status === 429)
      return notApplicable('the service limits the rate of this caller itself');
    return isSuccess(answer)
      ? held(`an honest call is answered beside ${count(sockets.length, 'such connection')}`)
      : broken(
          `an honest call is not answered beside ${sockets.length} such connections (${answer.status || 'no answer'})`,
        );
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

export const connectionCases: readonly Case[] = [
  {
    id: 'surface.smuggling',
    tries: 'Requests whose body ends in two places, with a second request inside.',
    holds:
      'The service answers once, and not the inner request: a front would have taken it for a body.',
    basis: 'practice: RFC 9112, sections 6.1 and 6.3',
    async run(world) {
      let answered = 0;
      for (const [what, text] of ambiguous(world)) {
        const statuses = statusesIn(await rawExchange(world.wire, text));
        answered += statuses.length;
        if (statuses.length > 1)
          return broken(
            `${what}: ${statuses.length} answers to one request (${statuses.join(', ')})`,
          );
      }
      return answered === 0
        ? notApplicable('the service answered none of them')
        : held(`${ambiguous(world).length} requests, one answer each at most`);
    },
  },
  {
    id: 'surface.long-heads',
    tries: 'A header of 200 KiB, 2,000 headers, a bearer of 100 KiB, bytes that are no text.',
    holds: 'The service goes on answering, and accepts none as a credential.',
    basis: 'practice: a head must not end a process',
    async run(world) {
      const path = operationPath(world, 'permissions');
      const end = ['Content-Length: 0', 'Connection: close'];
      const heads = [
        [`X-Long: ${'x'.repeat(200 * 1_024)}`],
        Array.from({ length: 2_000 }, (_, n) => `X-H${n}: 1`),
        [`Authorization: Bearer ${'x'.repeat(100 * 1_024)}`],
        ['Authorization: Bearer \u0001\u0002\u00ff'],
        [`Authorization: Bearer ${'a.'.repeat(2_000)}`],
      ];
      const attempts = await eachAttempt(heads, async (headers) => {
        const text = rawText(world.wire, { method: 'POST', path, headers: [...headers, ...end] });
        const [status = 0] = statusesIn(await rawExchange(world.wire, text));
        return {
          what: headers[0]?.split(':', 1)[0] ?? '',
          answer: { ...NO_ANSWER, status },
        };
      });
      const accepted = attempts.find(({ answer }) => isSuccess(answer));
      if (accepted) return broken(`a head with ${accepted.what} was accepted`);
      return (await isAnswering(world))
        ? held(`the service answers after ${heads.length} heads`)
        : broken('the service no longer answers');
    },
  },
  {
    id: 'surface.slow-clients',
    tries: `${HELD_CONNECTIONS} connections that send the beginning of a request and stop.`,
    holds: 'An honest call is answered meanwhile.',
    basis: 'practice: a client that stops must not hold others up',
    run: (world) =>
      besides(world, (socket) => {
        const path = operationPath(world, 'tokens');
        const headers = [JSON_TYPE, 'Content-Length: 1000'];
        socket.write(rawText(world.wire, { method: 'POST', path, headers, body: '{' }));
      }),
  },
  {
    id: 'surface.unread-answers',
    tries: `${HELD_CONNECTIONS} connections with ${UNREAD} requests each that never read an answer.`,
    holds: 'An honest call is answered meanwhile.',
    basis: 'practice: places must not be held by the unread',
    run: (world) =>
      besides(world, (socket) => {
        const one = rawText(world.wire, {
          method: 'GET',
          path: operationPath(world, 'manifest'),
          headers: [],
        });
        world.wire.take(UNREAD);
        socket.write(one.repeat(UNREAD));
      }),
  },
  {
    id: 'surface.bad-token-flood',
    tries: `${FLOOD} requests with bad tokens, beside an honest caller at the same address.`,
    holds: 'Every honest call is answered.',
    basis: 'practice: a flood of strangers must not lock a caller out',
    async run(world) {
      const token = await acceptedToken(world);
      const path = operationPath(world, 'permissions');
      const bad = `${token.jwt.slice(0, -8)}AAAAAAAA`;
      let honest = 0;
      for (let sent = 0; sent < FLOOD; sent += FLOOD_AT_ONCE) {
        const asked = { path, bearer: bad, body: {}, isOnce: true };
        const flood = Array.from({ length: FLOOD_AT_ONCE }, () => world.wire.ask(asked));
        const [answer] = await Promise.all([
          world.wire.ask({ path, bearer: token.jwt, body: {} }),
          ...flood,
        ]);
        if (answer.status === 429)
          return notApplicable('the service limits the rate of this caller itself');
        if (!isSuccess(answer))
          return broken(
            `an honest call was refused beside the flood (${answer.status || 'no answer'})`,
          );
        honest += 1;
      }
      return held(`${honest} honest calls answered beside ${FLOOD} bad ones`);
    },
  },
];

/** Judged over every answer of the run, so these run last. */
export const lastCases: readonly Case[] = [
  {
    id: 'surface.defects',
    tries: 'Everything above.',
    holds: 'No request was answered as a defect of the service (5xx, other than overload).',
    basis: 'Errors: failures return HTTP 4xx',
    run: async ({ wire }) => noneSeen(wire.seen, 'defects', 'none of these'),
  },
  {
    id: 'surface.insides',
    tries: 'Looking for stack traces, paths of files and messages of databases in all refusals.',
    holds: 'No refusal has one.',
    basis: 'practice: a failure says what the caller can do, not how the service is made',
    run: async ({ wire }) => noneSeen(wire.seen, 'insides', 'no such text'),
  },
  {
    id: 'surface.echoed-secrets',
    tries: 'Looking for the tokens and credentials of this run in all answers.',
    holds: 'Only the answer that issues a token has it.',
    basis: 'practice: answers are logged and shown',
    run: async ({ wire }) => noneSeen(wire.seen, 'secrets', 'none repeats a secret'),
  },
];

function noneSeen(seen: Seen, what: 'defects' | 'insides' | 'secrets', otherwise: string): Outcome {
  const places = seen[what];
  return places.length > 0
    ? broken(places.slice(0, 5).join('; '))
    : held(`${seen.answers} answers, ${otherwise}`);
}
