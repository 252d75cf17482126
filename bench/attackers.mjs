/**
 * The attackers, in a thread of their own: connections that send much and never read.
 *
 * They come from another loopback address than the honest client, talk to no other machine, and end
 * with the thread. Each connection that the service ends is opened again, a bounded number of times.
 *
 * @module
 */

import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { port, attack, auditor, attacker } = workerData;

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

const { connections, text } = ATTACKS[attack];
for (let place = 0; place < connections; place += 1) hold(ATTEMPTS_MAX);
parentPort?.postMessage('begun');

function hold(attempts) {
  if (attempts === 0) return;
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  socket.on('error', () => undefined);
  socket.on('close', () => setTimeout(hold, PAUSE_MS, attempts - 1));
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
