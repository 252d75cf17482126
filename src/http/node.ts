/**
 * The adapter for node:http: reads an IncomingMessage, writes a ServerResponse.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { failure, Refusal } from '../domain/failure.ts';
import { BODY_LIMITS } from '../domain/wire/json.ts';
import type { Eventual } from '../steps.ts';
import { type Admit, type Bodies, tooLarge } from './bounds/bodies.ts';
import { STRANGER_BODY_BYTES_MAX } from './bounds/limits.ts';
import type { HttpAnswer, HttpAsk } from './exchange.ts';

/** `target` is that of the request, without the prefix of a mounted service. */
export function nodeAsk(
  request: IncomingMessage,
  response: ServerResponse,
  bodies: Bodies,
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
    body: (admit) => streamedBody(request, bodies, admit),
    fault: () => hostFault(request),
    onSent: (call) => void response.once('finish', call),
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
  const isUnread = status === TOO_LARGE && !request.complete && !discarded.has(request);
  if (isLast || isUnread) headers.connection = 'close';
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
  // The compatibility layer of Node tells neither the host nor whether a body follows, as read here.
  if (httpVersion.startsWith('2')) {
    return 'expected HTTP/1.1: let a proxy before the app take HTTP/2';
  }
  if (httpVersion !== '1.1' || headerLines(rawHeaders, 'host').length === 1) return undefined;
  return 'expected exactly one Host header';
}

/** Whether a request has a body, by its headers. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

const NOTHING = new Uint8Array();

/** Reads a body to its end, no further than the limit, and a long one only of a sender that is admitted. */
function streamedBody(
  request: IncomingMessage,
  bodies: Bodies,
  admit: Admit,
): Eventual<Uint8Array> {
  if (!hasBody(request)) return NOTHING;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > BODY_LIMITS.bytes) throw tooLarge();
  return new Promise((resolve, reject) => {
    const body = bodies.begin(request, admit, () => request.destroy());
    const stop = () => {
      request.off('data', take);
      request.off('end', end);
      request.off('close', leave);
      return body.done();
    };
    const refuse = (reason: unknown) => {
      reject(reason);
      return stop().length;
    };
    const judge = () => {
      request.pause();
      body.admit().then(
        () => request.resume(),
        (reason: unknown) => discard(request, refuse(reason)),
      );
    };
    const take = (chunk: Buffer) => {
      try {
        if (!body.add(chunk)) judge();
      } catch (error) {
        refuse(error);
      }
    };
    const end = () => resolve(stop());
    const leave = () =>
      refuse(new Refusal(failure('invalid_parameters', 'Cannot read the body: it broke off')));
    // Paused before something listens: otherwise the first bytes would come before the judgement.
    if (declared > STRANGER_BODY_BYTES_MAX) judge();
    request.on('data', take);
    request.on('end', end);
    request.on('close', leave);
    // Node reports a broken connection as an error before it closes the request.
    request.on('error', ignore);
  });
}

/**
 * Reads on, within the limit, and keeps nothing: a client that still sends can read its answer, and its next
 * request can be found.
 */
function discard(request: IncomingMessage, sizeBefore: number): void {
  let size = sizeBefore;
  discarded.add(request);
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > BODY_LIMITS.bytes) request.destroy();
  });
  request.resume();
}

const discarded = new WeakSet<IncomingMessage>();

function ignore(): void {}
