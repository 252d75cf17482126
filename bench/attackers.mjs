/**
 * The attackers, in a process of their own: connections that send much and never read, and clients that ask in a
 * loop for what costs much.
 *
 * They come from another loopback address than the honest client, talk to no other machine, and end
 * with the process that started them. Each connection that the service ends is opened again, a bounded
 * number of times. Real attackers have machines of their own, so these take the least share of the
 * processor: otherwise the figures would say how two programs share two cores.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { constants, setPriority } from 'node:os';

setPriority(constants.priority.PRIORITY_LOW);
process.once('disconnect', () => process.exit());

const { port, attacks, auditor, attacker } = JSON.parse(process.argv[2] ?? '{}');

/** In milliseconds, between the end of a connection and its next attempt. */
const PAUSE_MS = 100;
const ATTEMPTS_MAX = 200;

const AUDIT = request('POST', '/svc/audit?limit=1000&entry_type=all&include=leaf', auditor, '{}');
const SPIN = request('POST', '/svc/invoke/spin', attacker, '{"parameters":{},"stream":true}');
const DOCUMENT = request('GET', '/openapi.json');

/** Requests of one client that asks in a loop, at most. */
const ASKED_MAX = 20_000;

const [HEADER, CLAIMS] = attacker.split('.');
/** The token of the attacker with a signature of the right form that does not verify. */
const forged = () => `${HEADER}.${CLAIMS}.${randomBytes(64).toString('base64url')}`;
const invokeWith = (name, bearer, parameters) =>
  request('POST', `/svc/invoke/${name}`, bearer, JSON.stringify({ parameters }));
const invoke = (name, bearer, what) => invokeWith(name, bearer, { what });
const padded = (bytes) => randomBytes(8).toString('hex').padEnd(bytes, 'x');
const UNFINISHED = request('POST', '/svc/invoke/look', undefined, 'x'.repeat(256 * 1_024)).slice(
  0,
  -1_024,
);

/** By name: how many connections, and what each of them sends at once. */
const ATTACKS = {
  'unread pipelines': { connections: 30, text: DOCUMENT.repeat(1_500) },
  'long queries': { connections: 50, text: AUDIT.repeat(100) },
  'endless progress': { connections: 4, text: SPIN },
  'unfinished bodies': { connections: 900, text: UNFINISHED },
  'pending requests of 30 KB': { clients: 8, next: () => invoke('ask', attacker, padded(30_000)) },
  'approval requests': { clients: 32, next: () => invoke('ask', attacker, padded(16)) },
  'long bodies, bad credential': {
    clients: 8,
    next: () => invoke('look', forged(), padded(250_000)),
  },
  'schema of a stranger': {
    clients: 8,
    next: () => invokeWith('fill', attacker, { rows: Array(1_000).fill(1) }),
  },
  'bad signatures': { clients: 64, next: () => invoke('look', forged(), padded(16)) },
};

for (const attack of attacks) {
  const { connections = 0, text, clients = 0, next } = ATTACKS[attack];
  for (let place = 0; place < connections; place += 1) hold(text, ATTEMPTS_MAX);
  for (let place = 0; place < clients; place += 1) ask(next, ASKED_MAX);
}

/** Asks again with every answer. */
function ask(next, left) {
  if (left <= 0) return;
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  let asked = 0;
  const send = () => {
    asked += 1;
    if (asked > left) socket.destroy();
    else socket.write(next());
  };
  socket.on('connect', send);
  socket.on('error', () => undefined);
  socket.on('data', (data) => {
    if (data.includes('HTTP/1.1 ')) send();
  });
  socket.on('close', () => setTimeout(ask, PAUSE_MS, next, left - asked - 1));
}

function hold(text, attempts) {
  if (attempts === 0) return;
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  socket.on('error', () => undefined);
  socket.on('close', () => setTimeout(hold, PAUSE_MS, text, attempts - 1));
  // Without a listener for its data a socket reads nothing beyond what the system buffers.
  socket.pause();
  socket.write(text);
}

function request(method, path, bearer, body = '') {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1'];
  if (bearer) lines.push(`Authorization: Bearer ${bearer}`);
  if (body) lines.push('Content-Type: application/json', `Content-Length: ${body.length}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
