/**
 * Bodies that reach a mounted service: read here, or handed over as bytes by an app that read them before.
 *
 * A body that the app has parsed is refused. Parsing loses what the strict reader looks for: repeated keys,
 * and the digits of a number.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { failure, Refusal } from '../../domain/failure.ts';
import type { Eventual } from '../../domain/values/eventual.ts';
import { BODY_LIMITS } from '../../domain/wire/json.ts';
import type { Platform } from '../../platform.ts';
import { beforeLate, LATE } from '../../service/pace/deadline.ts';
import { REQUEST_TIMEOUT_MS } from '../bounds/limits.ts';
import { hasBody, tooLarge } from '../node.ts';

const NOTHING = new Uint8Array();

/** What frameworks add to a request when they have read its body. */
interface Handled extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** The body that the app has read already; undefined when it has not. */
export function handedBody(request: Handled): Uint8Array | undefined {
  const bytes = [request.rawBody, request.body].find((each) => each instanceof Uint8Array);
  if (bytes instanceof Uint8Array) {
    if (bytes.length > BODY_LIMITS.bytes) throw tooLarge();
    return bytes;
  }
  if (!hasBody(request)) return NOTHING;
  if (request.readableDidRead) throw alreadyRead();
  return undefined;
}

/** Reads the body of a Web request, no further than the limit. */
export async function webBody(request: Request): Promise<Uint8Array> {
  const { body } = request;
  if (request.bodyUsed || body?.locked) throw alreadyRead();
  if (body === null) return NOTHING;
  if (Number(request.headers.get('content-length') ?? 0) > BODY_LIMITS.bytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop cancels the stream.
    if (size > BODY_LIMITS.bytes) throw tooLarge();
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, size);
}

/** The same bound on time as the server of `serve()` has: the app's server may have none. */
export async function inTime(platform: Platform, body: Eventual<Uint8Array>): Promise<Uint8Array> {
  const read = await beforeLate(platform, body, REQUEST_TIMEOUT_MS);
  if (read !== LATE) return read;
  const detail = 'Cannot read the request: it took too long to arrive';
  throw new Refusal(failure('invalid_parameters', detail));
}

function alreadyRead(): Refusal {
  const detail =
    'Cannot read the body: the app has read it already; mount the service before the body parser, or keep the bytes in rawBody';
  return new Refusal(failure('internal_error', detail));
}
