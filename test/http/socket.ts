/**
 * Bytes on a real socket, for what no HTTP client would send.
 *
 * @module
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestService } from '../support/world.ts';

interface RawReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Starts to listen on a free port of the loopback address. */
export async function listening({ app }: TestService): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('Cannot find the port');
  return address.port;
}

/** A connection that fails without an error nobody waits for: being cut is what some tests expect. */
export async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  return socket;
}

/** Sends text as it is and returns everything that came back until the other side closed. */
export async function exchanged(port: number, text: string): Promise<string> {
  const socket = await connected(port);
  const received = receivedBy(socket);
  socket.write(text, 'latin1');
  return await received;
}

/** Everything that comes until the connection closes. */
export async function receivedBy(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('utf8');
}

/** The first answer in what came back. */
export function replyIn(received: string): RawReply {
  const [head = '', ...rest] = received.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  return { status, headers, body: rest.join('\r\n\r\n') };
}
