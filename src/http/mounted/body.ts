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
import { BODY_LIMITS } from '../../domain/wire/json.ts';
import type { Platform } from '../../platform.ts';
import { beforeLate, LATE } from '../../service/pace/deadline.ts';
import type { Eventual } from '../../steps.ts';
import { type Admit, type Bodies, tooLarge } from '../bounds/bodies.ts';
import { REQUEST_TIMEOUT_MS, STRANGER_BODY_BYTES_MAX } from '../bounds/limits.ts';
import { hasBody } from '../node.ts';

const NOTHING = new Uint8Array();

/** What frameworks add to a request when they have read its body. */
interface Handled extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** The body that the app has read already; undefined when it has not. */
export async function handedBody(request: Handled, admit: Admit): Promise<Uint8Array | undefined> {
  const bytes = [request.rawBody, request.body].find((each) => each instanceof Uint8Array);
  if (bytes instanceof Uint8Array) {
    if (bytes.length > BODY_LIMITS.bytes) throw tooLarge();
    const found = bytes.length > STRANGER_BODY_BYTES_MAX ? await admit() : undefined;
    if (found) throw new Refusal(found);
    return bytes;
  }
  if (!hasBody(request)) return NOTHING;
  if (request.readableDidRead) throw alreadyRead();
  return undefined;
}

/** Reads the body of a Web request, no further than the limit, and a long one only of a sender that is admitted. */
export async function webBody(request: Request, bodies: Bodies, admit: Admit): Promise<Uint8Array> {
  const { body: stream } = request;
  if (request.bodyUsed || stream?.locked) throw alreadyRead();
  if (stream === null) return NOTHING;
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > BODY_LIMITS.bytes) throw tooLarge();
  let isEnded = false;
  const body = bodies.begin(request, admit, () => {
    isEnded = true;
  });
  try {
    if (declared > STRANGER_BODY_BYTES_MAX) await body.admit();
    // Leaving the loop cancels the stream.
    for await (const chunk of stream) {
      if (isEnded) throw ended();
      if (!body.add(chunk)) await body.admit();
    }
    if (isEnded) throw ended();
    return body.done();
  } finally {
    body.done();
  }
}

function ended(): Refusal {
  const detail = 'Cannot read the body: too many others are on their way';
  return new Refusal(failure('service_unavailable', detail));
}

/** The same bound on time as the server of `serve()` has: the app's server may have none. */
export async function bodyInTime(
  platform: Platform,
  body: Eventual<Uint8Array>,
): Promise<Uint8Array> {
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
