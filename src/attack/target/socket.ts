/**
 * Bytes on a socket of the attacked service, for what no HTTP client sends.
 *
 * @module
 */

import { isIP, connect as plain, type Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import { fullPath, USER_AGENT, type Wire } from './wire.ts';

/** In milliseconds: a service that has not closed the connection by then is read no further. */
const READ_MS = 3_000;

/** In milliseconds to connect. */
const CONNECT_MS = 10_000;

/** Bytes that are read of what comes back. */
const BYTES_MAX = 256 * 1024;

/** The header line of a body in JSON. */
export const JSON_TYPE = 'Content-Type: application/json';

/** A head of a request. Values are not checked: they are what the case is about. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  /** Lines such as `Connection: close`, in this order; a name may come twice. */
  readonly headers: readonly string[];
  readonly body?: string;
}

export function rawText({ url }: Wire, { method, path, headers, body = '' }: RawRequest): string {
  const lines = [`Host: ${url.host}`, `User-Agent: ${USER_AGENT}`, ...headers];
  return `${method} ${fullPath(url, path)} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** An open connection, or undefined where none could be made. Errors of it close it. */
export function openSocket(wire: Wire): Promise<Socket | undefined> {
  wire.take();
  const { hostname, port, protocol } = wire.url;
  const host = hostname.replace(/^\[|\]$/g, '');
  const isSecure = protocol === 'https:';
  const target = { host, port: Number(port) || (isSecure ? 443 : 80) };
  // A name only: an address is no server name of TLS.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = isSecure ? secure({ ...target, ...named }) : plain(target);
  return new Promise((resolve) => {
    const failed = () => {
      socket.destroy();
      resolve(undefined);
    };
    socket.setTimeout(CONNECT_MS, failed);
    socket.on('error', failed);
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** Sends a text as it is. Resolves with what came back until the service closed the connection or fell silent. */
export async function rawExchange(wire: Wire, text: string): Promise<string> {
  const socket = await openSocket(wire);
  if (!socket) return '';
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = () => {
      socket.destroy();
      resolve(Buffer.concat(chunks).toString('latin1'));
    };
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > BYTES_MAX) end();
    });
    socket.setTimeout(READ_MS, end);
    socket.on('close', end);
    socket.write(text, 'latin1');
  });
}

/** The statuses of all answers in what came back, without interim ones such as 100. */
export function statusesIn(received: string): number[] {
  const lines = received.matchAll(/^HTTP\/1\.[01] ([2-5]\d\d)(?: .*)?\r$/gm);
  return [...lines].map(([, status]) => Number(status));
}

/** The header lines of the first answer. */
export function headIn(received: string): readonly string[] {
  return (received.split('\r\n\r\n', 1)[0] ?? '').split('\r\n').slice(1);
}
