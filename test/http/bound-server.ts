/**
 * A bare server whose connections are bounded, and clients that speak to it over sockets.
 *
 * @module
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import {
  boundConnections,
  CONNECTION_BOUNDS,
  type ConnectionBounds,
} from '../../src/http/bounds/connection.ts';
import type { Handler } from '../../src/http/bounds/held.ts';
import { answerClientError, answerConnect } from '../../src/http/client-error.ts';
import { system } from '../../src/platform.ts';
import { atEnd } from '../support/ends.ts';

interface Bound {
  readonly port: number;
  /** Why connections were ended. */
  readonly ended: string[];
  /** Requests that were handed over, in their order. */
  readonly asked: { request: IncomingMessage; response: ServerResponse }[];
  /** How many requests were parsed, those that wait included. */
  parsed(): number;
}

export async function bound(
  bounds: Partial<ConnectionBounds>,
  answer: Handler = () => undefined,
  /** In milliseconds: how long a request may take to arrive. */
  timeout = 30_000,
): Promise<Bound> {
  const ended: string[] = [];
  const asked: Bound['asked'] = [];
  const server = createServer({
    headersTimeout: timeout,
    requestTimeout: timeout,
    connectionsCheckingInterval: 20,
  });
  let parsed = 0;
  const { take, close } = boundConnections(server, {
    platform: system,
    bounds: { ...CONNECTION_BOUNDS, sweepMs: 5, ...bounds },
    networkOf: ({ remoteAddress }) => remoteAddress,
    onEnded: (reason) => void ended.push(reason),
  });
  server.on('connect', answerConnect);
  server.on('clientError', (error, socket) => answerClientError(system, error, socket as Socket));
  server.on('request', (request, response) => {
    parsed += 1;
    take(request, response, () => {
      asked.push({ request, response });
      answer(request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    close();
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, ended, asked, parsed: () => parsed };
}

export async function client(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  atEnd(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

export const get = (path: string | number) => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
export const many = (count: number) =>
  Array.from({ length: count }, (_, index) => get(index)).join('');

/** What comes until there are so many answers, or the other side closes. */
export async function answers(socket: Socket, count: number): Promise<string[]> {
  let text = '';
  const bodies = () => [...text.matchAll(/\r\n\r\n(\/\d+)/g)].map(([, path]) => path ?? '');
  for await (const chunk of socket) {
    text += chunk;
    if (bodies().length >= count) break;
  }
  return bodies();
}

/** All that comes until the other side closes. */
export async function received(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(2);
}
