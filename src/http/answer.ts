/**
 * What an operation answers, turned into status, headers and bytes.
 *
 * @module
 */

import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Platform } from '../platform.ts';
import type { Failure, FailureAnswer } from '../protocol/failure.ts';
import { operations } from '../protocol/operations.ts';
import type { Document } from '../service/core/documents.ts';
import { type Answer, failureAnswer, isDocument } from '../service/core/operations.ts';
import { RETRY_AFTER_SECONDS } from './bounds/limits.ts';
import { openEventStream } from './sse.ts';
import { statusOf } from './status.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer | Document,
): FastifyReply {
  if (isDocument(answer)) return sendDocument(request, reply, answer);
  const { text, bytes, failure, accepted, headers, stream } = answer;
  if (headers) reply.headers({ ...headers });
  if (stream) return sendStream(reply, stream);
  if (failure) return sendFailure(reply, failure, text ?? answer.body);
  return reply
    .code(accepted ? 202 : 200)
    .header('cache-control', headers?.['cache-control'] ?? 'no-store')
    .type(JSON_TYPE)
    .send(bytes ?? text ?? JSON.stringify(answer.body));
}

/** From here on the answer is told in events; what goes wrong is told in the last one. */
function sendStream(reply: FastifyReply, stream: NonNullable<Answer['stream']>): FastifyReply {
  reply.hijack();
  const events = openEventStream(
    reply.server.platform,
    reply.raw,
    reply.getHeaders() as OutgoingHttpHeaders,
  );
  stream(events)
    .catch((error) => reply.log.error({ err: error }, 'a stream broke'))
    .finally(() => {
      reply.request.place?.leave();
      events.end();
    });
  return reply;
}

/** Every answer outside 2xx, also those that no operation gave. `status` is for the framework's own. */
export function sendFailure(
  reply: FastifyReply,
  failure: Failure,
  body: object | string = failureBody(reply.server.platform, reply.request.url, failure),
  status: number = statusOf(failure),
): FastifyReply {
  reply.code(status).header('cache-control', 'no-store').type(JSON_TYPE);
  if (status === 401) reply.header('www-authenticate', challengeOf(failure));
  // Only where the same call may be sent again: a client that obeys the header does just that.
  if (failure.retry && (status === 429 || status === 503)) {
    reply.header('retry-after', retryAfterOf(failure));
  }
  return reply.send(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Where an invocation is asked for, or a dry run of one, whatever the name of the capability. */
const INVOCATIONS = [operations.invoke.path, operations.test.path].map((path) =>
  path.slice(0, path.indexOf('{')),
);

/** The body that answers a request to `url` that reached no operation. */
export function failureBody(platform: Platform, url: string, failure: Failure): FailureAnswer {
  const path = routedPath(url);
  return failureAnswer(
    platform,
    failure,
    INVOCATIONS.some((prefix) => path.startsWith(prefix)),
  );
}

/**
 * A request target as the router compares it: RFC 9112 lets a client send the whole address, and every
 * character can be escaped. An escape that is no text stays, since the router refuses it.
 */
function routedPath(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]+/i, '');
  return path.replace(/%[0-7][0-9a-f]/gi, decodeURI);
}

function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: Document,
): FastifyReply {
  const { headers, payload } = packedOf(document);
  reply.headers(headers);
  if (hasTag(request.headers['if-none-match'], document.etag)) {
    return reply.removeHeader('content-type').code(304).send();
  }
  return reply.send(payload);
}

/** In characters. A shorter text leaves in one piece with its header; a longer one is encoded once. */
const LONG_TEXT_MIN = 2_000;

/** A document as it leaves. The same one is asked for again and again. */
interface Packed {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string | Buffer;
}

const packed = new WeakMap<Document, Packed>();

function packedOf(document: Document): Packed {
  const before = packed.get(document);
  if (before) return before;
  const { etag, headers, text } = document;
  const made = {
    headers: { 'content-type': JSON_TYPE, ...headers, etag },
    payload: text.length < LONG_TEXT_MIN ? text : Buffer.from(text),
  };
  packed.set(document, made);
  return made;
}

/** RFC 9110: a list of tags or a star; weak tags match too, since our bytes only exist in one form. */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => {
    const text = tag.trim();
    return text === '*' || text === etag || text === `W/${etag}`;
  });
}

/** RFC 6750: an error code only where a token was presented and found wanting. */
function challengeOf({ type }: Failure): string {
  return type === 'authentication_required' ? 'Bearer' : 'Bearer error="invalid_token"';
}

function retryAfterOf({ resolution }: Failure): string {
  const seconds = /^PT(\d+)S$/.exec(resolution.estimated_availability ?? '')?.[1];
  return seconds ?? String(RETRY_AFTER_SECONDS);
}
