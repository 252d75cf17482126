/**
 * Requests that never reach a route: broken framing, oversized headers, unreadable bodies or paths.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { failure } from '../domain/failure.ts';
import type { Platform } from '../platform.ts';
import type { Failure, FailureAnswer } from '../protocol/failure.ts';
import { unreadFailure } from '../service/operations/operations.ts';
import { failureBody } from './answer.ts';
import { breakOff, isKeptWaiting, takeNoMore } from './bounds/connection.ts';

/** RFC 9110: an expectation other than `100-continue` cannot be met. */
export function answerExpectation(
  platform: Platform,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const found = failure('invalid_parameters', 'Cannot meet the Expect header of the request');
  response.writeHead(417, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(failureBody(platform, request.url ?? '', found)));
}

/** What the HTTP parser refuses, before there is a request to reply to. */
export function answerClientError(
  platform: Platform,
  error: Error & { code?: string },
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return;
  // Node checks again later.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isKeptWaiting(socket)) return;
  // A request that came whole gets its answer; one that broke off is what the error is about. The parser
  // reports the same error for everything that comes behind it.
  if (!breakOff(socket)) return;
  const [status, found] = parserFailure(error.code);
  // What cannot be read may have been an invocation.
  writeFailure(socket, status, unreadFailure(platform, found));
}

/** Answers CONNECT: the service opens no tunnel. Node hands over the bare connection. */
export function answerConnect({ url }: IncomingMessage, socket: Duplex): void {
  // Earlier requests are answered first, and the client would take this answer for one of theirs.
  if (!breakOff(socket as Socket)) return;
  const detail = `Cannot CONNECT ${url}: this server is not a proxy`;
  const found = failure('method_not_allowed', detail);
  writeFailure(socket, '405 Method Not Allowed', { success: false, failure: found });
}

/**
 * The fault in how a request marks its end. Nothing where the service and a proxy see the same end.
 *
 * RFC 9112, 6.1: HTTP/1.0 has no transfer coding, so a proxy of that version may see another end. The
 * parser also reads versions that this service does not speak, and keeps their connections.
 */
export function framingFault({ httpVersion, headers }: IncomingMessage): string | undefined {
  if (httpVersion === '1.1') return undefined;
  if (httpVersion !== '1.0') return `HTTP/${httpVersion} is not supported, expected HTTP/1.1`;
  if (headers['transfer-encoding'] === undefined) return undefined;
  return 'HTTP/1.0 has no Transfer-Encoding, expected a Content-Length';
}

/** Answers a request whose end is not certain. Ignores what follows on its connection. */
export function answerFraming(
  platform: Platform,
  request: IncomingMessage,
  response: ServerResponse,
  fault: string,
): void {
  takeNoMore(request.socket);
  const found = failure('invalid_parameters', `Cannot read the request: ${fault}`);
  response.writeHead(400, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(JSON.stringify(failureBody(platform, request.url ?? '', found)));
}

function writeFailure(socket: Duplex, status: string, answer: FailureAnswer): void {
  const body = JSON.stringify(answer);
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function parserFailure(code: string | undefined): [status: string, found: Failure] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = 'Cannot read the headers: they are larger than 8 KiB';
    return ['431 Request Header Fields Too Large', failure('request_too_large', detail)];
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const detail = 'Cannot read the request: it took too long to arrive';
    return ['408 Request Timeout', failure('invalid_parameters', detail)];
  }
  const detail = 'Cannot read the request: it is not well-formed HTTP/1.1';
  return ['400 Bad Request', failure('invalid_parameters', detail)];
}
