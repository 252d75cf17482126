/**
 * The attackers, in a process of their own: connections that send much and never read.
 *
 * They come from another loopback address than the honest client, talk to no other machine, and end
 * with the process that started them. Each connection that the service ends is opened again, a bounded
 * number of times. Real attackers have machines of their own, so these take the least share of the
 * processor: otherwise the figures would say how two programs share two cores.
 *
 * @module
 */

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

/** By name: how many connections, and what each of them sends at once. */
const ATTACKS = {
  'unread pipelines': { connections: 30, text: DOCUMENT.repeat(1_500) },
  'long queries': { connections: 50, text: AUDIT.repeat(100) },
  'endless progress': { connections: 4, text: SPIN },
};

for (const attack of attacks) {
  const { connections, text } = ATTACKS[attack];
  for (let place = 0; place < connections; place += 1) hold(text, ATTEMPTS_MAX);
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
