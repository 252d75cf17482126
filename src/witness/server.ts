/**
 * The witness over HTTP: one path, small bodies, short timeouts.
 *
 * @module
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addCheckpoint, type Witness } from './add-checkpoint.ts';

export interface WitnessServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface WitnessServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly now: () => Date;
  readonly onError: (error: Error) => void;
}

/** Bytes of a body: the longest note, 63 lines of proof, and the old size. */
const BODY_BYTES_MAX = 32 * 1024;

/** In milliseconds. Short, because a log sends its request at once. */
const REQUEST_TIMEOUT_MS = 10_000;

/** A witness watches few logs, and each sends one request per checkpoint. */
const CONNECTIONS_MAX = 256;

export async function serveWitness(
  witness: Witness,
  { host, port, now, onError }: WitnessServerOptions,
): Promise<WitnessServer> {
  const server = createServer((request, response) => {
    answer(witness, request, now).then(
      ({ status, type, body }) => send(response, status, type, body),
      (error: Error) => {
        onError(error);
        send(response, 500, PLAIN, 'the witness could not do its work\n');
      },
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  const { port: bound, family, address } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

const PLAIN = 'text/plain; charset=utf-8';

interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

async function answer(
  witness: Witness,
  request: IncomingMessage,
  now: () => Date,
): Promise<HttpAnswer> {
  const [path] = (request.url ?? '').split('?');
  if (path !== '/add-checkpoint') return { status: 404, type: PLAIN, body: 'no such path\n' };
  if (request.method !== 'POST') return { status: 405, type: PLAIN, body: 'expected POST\n' };
  const bytes = await bodyOf(request);
  if (bytes === undefined) return { status: 413, type: PLAIN, body: 'the body is too long\n' };
  return addCheckpoint(witness, bytes.toString('utf8'), now());
}

/** `undefined` when the body is too long; the rest is not read. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  if (response.destroyed) return;
  // Closes the connection: the request was not read to its end, so no other can follow.
  const isRead = response.req.complete;
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(!isRead && { connection: 'close' }),
  });
  response.end(body);
}
