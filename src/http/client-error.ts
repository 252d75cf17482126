/**
 * Requests that never reach a route: broken framing, oversized headers, unreadable bodies or paths.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyReply } from 'fastify';
import { failure } from '../domain/failure.ts';
import type { Logger } from '../log.ts';
import type { Failure } from '../protocol/failure.ts';
import { sendFailure } from './answer.ts';

/** The answers that each connection still waits for, in the order of their requests. */
const owed = new WeakMap<Socket, Set<ServerResponse>>();

/** Remembers that a request is in work: what comes after it must not take its answer's place. */
export function oweAnswer(socket: Socket, response: ServerResponse): void {
  const waiting = owed.get(socket) ?? firstOwed(socket);
  waiting.add(response);
  // The response was written, or nobody is there to read it any more.
  response.on('close', () => waiting.delete(response));
}

/**
 * When a connection closes, Node closes the one response that it is writing. Those that wait behind it
 * would never hear of it, nor whoever listens to them, so they are closed here.
 */
function firstOwed(socket: Socket): Set<ServerResponse> {
  const waiting = new Set<ServerResponse>();
  owed.set(socket, waiting);
  socket.once('close', () => {
    // After Node has closed its own.
    setImmediate(() => {
      for (const response of waiting) {
        response.destroy();
        response.emit('close');
      }
    });
  });
  return waiting;
}

/** Whether a request of this connection is in work. */
export function isOwed(socket: Socket): boolean {
  return (owed.get(socket)?.size ?? 0) > 0;
}

/** RFC 9110: an expectation other than `100-continue` cannot be met. */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const found = failure('invalid_parameters', 'Cannot meet the expectation of the request');
  response.writeHead(417, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ success: false, failure: found }));
}

/** What the HTTP parser refuses, before there is a request to reply to. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return;
  // A request that came whole gets its answer; one that broke off is what the error is about.
  const last = [...(owed.get(socket) ?? [])].findLast(({ req }) => req.complete);
  if (last) {
    last.once('close', () => socket.destroySoon());
    return;
  }
  writeFailure(socket, ...parserFailure(error.code));
}

/** A tunnel through the service is nothing it offers; Node hands over the bare connection. */
export function answerConnect({ url }: IncomingMessage, socket: Duplex): void {
  const detail = `Cannot CONNECT ${url}: this is no proxy`;
  writeFailure(socket, '405 Method Not Allowed', failure('method_not_allowed', detail));
}

function writeFailure(socket: Duplex, status: string, found: Failure): void {
  const body = JSON.stringify({ success: false, failure: found });
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
  const detail = 'Cannot read the request: it is no well-formed HTTP/1.1';
  return ['400 Bad Request', failure('invalid_parameters', detail)];
}

/** What the framework refuses around a route. Anything it does not name is a defect of ours. */
export function answerFrameworkError(
  reply: FastifyReply,
  error: unknown,
  log: Logger,
): FastifyReply {
  const { code = '', statusCode = 500 } = error as FastifyError;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return sendFailure(
        reply,
        failure('request_too_large', 'Cannot read the body: it is larger than 256 KiB'),
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return sendFailure(
        reply,
        failure('unsupported_media_type', 'Cannot read the body: expected application/json'),
      );
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return sendFailure(
        reply,
        failure('invalid_parameters', 'Cannot read the request: path or length is malformed'),
      );
    default:
      if (statusCode >= 400 && statusCode < 500) {
        return sendFailure(reply, failure('invalid_parameters', 'Cannot read the request'));
      }
      log.error({ err: error }, 'defect');
      return sendFailure(reply, failure('internal_error', 'Cannot answer: internal error'));
  }
}
