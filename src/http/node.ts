/**
 * The adapter for node:http: reads an IncomingMessage, writes a ServerResponse.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { failure, Refusal } from '../domain/failure.ts';
import type { Eventual } from '../domain/values/eventual.ts';
import { BODY_LIMITS } from '../domain/wire/json.ts';
import type { HttpAnswer, HttpAsk } from './exchange.ts';

/** `target` is that of the request, without the prefix of a mounted service. */
export function nodeAsk(
  request: IncomingMessage,
  response: ServerResponse,
  target: string = request.url ?? '/',
): HttpAsk {
  const { headers, rawHeaders, socket } = request;
  return {
    method: request.method ?? 'GET',
    target,
    headers,
    lines: (name) => headerLines(rawHeaders, name),
    remoteAddress: socket.remoteAddress,
    localAddress: socket.localAddress,
    body: () => streamedBody(request),
    fault: () => hostFault(request),
    onSent: (call) => void response.on('finish', call),
    onClosed(call) {
      if (response.destroyed) call();
      else response.on('close', call);
    },
  };
}

/** Resolves when the answer is written, whether or not it is read. `isLast`: the connection closes after it. */
export function sendAnswer(
  { status, headers, body }: HttpAnswer,
  request: IncomingMessage,
  response: ServerResponse,
  isLast: boolean,
): Promise<void> | undefined {
  // What is left of an oversized body is not read, so the next request could not be found.
  if (isLast || (status === TOO_LARGE && !request.complete)) headers.connection = 'close';
  if (typeof body === 'function') {
    response.writeHead(status, headers);
    return body(response);
  }
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body));
  response.writeHead(status, headers);
  response.end(body);
  return undefined;
}

const TOO_LARGE = 413;

/** Every header line of this name: Node itself keeps one of several, or joins them. */
function headerLines(rawHeaders: readonly string[], name: string): string[] {
  const lines: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const key = rawHeaders[i] as string;
    if (key.length === name.length && key.toLowerCase() === name) {
      lines.push(rawHeaders[i + 1] as string);
    }
  }
  return lines;
}

function hostFault({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' || headerLines(rawHeaders, 'host').length === 1) return undefined;
  return 'expected exactly one Host header';
}

/** Whether a request has a body, by its headers. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

const NOTHING = new Uint8Array();

/** Reads a body to its end, and no further than the limit. */
function streamedBody(request: IncomingMessage): Eventual<Uint8Array> {
  if (!hasBody(request)) return NOTHING;
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMITS.bytes) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = () => {
      request.off('data', take);
      request.off('end', end);
      request.off('close', leave);
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_LIMITS.bytes) {
        chunks.push(chunk);
        return;
      }
      stop();
      reject(tooLarge());
    };
    const end = () => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    };
    const leave = () => {
      stop();
      reject(new Refusal(failure('invalid_parameters', 'Cannot read the body: it broke off')));
    };
    request.on('data', take);
    request.on('end', end);
    request.on('close', leave);
    // Node reports a broken connection as an error before it closes the request.
    request.on('error', ignore);
  });
}

function ignore(): void {}

export function tooLarge(): Refusal {
  const detail = 'Cannot read the body: it is larger than 256 KiB';
  return new Refusal(failure('request_too_large', detail));
}
