/**
 * Bodies that are arriving: keeps their bytes, and counts them from the first one.
 *
 * Every body is a stranger's until the credential of its sender is judged. Strangers share a bound of their own, and
 * the body that is under way for longest makes room: an honest one is here within milliseconds. So strangers cannot
 * use up what callers are given.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import { BODY_LIMITS } from '../../domain/wire/json.ts';
import type { Failure } from '../../protocol/failure.ts';
import { STRANGER_BODY_BYTES_MAX } from './limits.ts';

export interface BodyBounds {
  /** Bytes that all connections together may make the service hold. */
  readonly heldBytesMax: number;
  /** Bytes of all bodies whose sender is not known yet. */
  readonly strangerBytesMax: number;
}

/** Resolves with why the sender may not send a long body; with nothing when it may. */
export type Admit = () => Promise<Failure | undefined>;

interface Arriving {
  /** Keeps what has arrived. Throws a `Refusal` beyond the limit. False: the sender has to be judged before more is read. */
  add(chunk: Uint8Array): boolean;
  /** Judges the sender, once. Rejects with a `Refusal`. */
  admit(): Promise<void>;
  /** The body is whole, or given up. Returns what arrived, and keeps it no longer. */
  done(): Uint8Array;
}

export interface Bodies {
  /** `end` breaks the body off. `request` is what the body belongs to. */
  begin(request: object, admit: Admit, end: () => void): Arriving;
  /** Bytes of all bodies. */
  bytes(): number;
  /** Bytes of the body of this request. */
  bytesOf(request: object): number;
  /** The connection of this request was ended: its bytes are kept no longer. */
  forget(request: object): void;
}

interface Body {
  bytes: number;
  /** Begins with the bytes of the body. */
  kept: Uint8Array;
  isKnown: boolean;
  end(): void;
}

const NOTHING = new Uint8Array();

/** What a server adds that bounds its connections, too. */
interface BodyHooks {
  /** Bytes that the connections hold beside bodies. */
  beside(): number;
  /** Called when all together hold too much, instead of ending the largest bodies. */
  relieve(): void;
  onEnded(): void;
}

export function createBodies(
  { heldBytesMax, strangerBytesMax }: BodyBounds,
  hooks?: BodyHooks,
): Bodies {
  // In the order in which they began.
  const bodies = new Map<object, Body>();
  let [sum, ofStrangers] = [0, 0];

  function forget(request: object): Uint8Array {
    const body = bodies.get(request);
    if (!body) return NOTHING;
    bodies.delete(request);
    sum -= body.bytes;
    if (!body.isKnown) ofStrangers -= body.bytes;
    const { kept, bytes } = body;
    body.kept = NOTHING;
    // A view takes longer than all the rest here, and most bodies are one chunk.
    return kept.length === bytes ? kept : kept.subarray(0, bytes);
  }

  function endIn(order: Iterable<[object, Body]>, isEnough: () => boolean): void {
    for (const [request, body] of order) {
      if (isEnough()) return;
      forget(request);
      hooks?.onEnded();
      body.end();
    }
  }

  function endLargest(): void {
    const order = [...bodies].sort(([, one], [, other]) => other.bytes - one.bytes);
    endIn(order, () => sum <= heldBytesMax * RELIEVED);
  }

  function endStrangers(): void {
    const order = [...bodies].filter(([, { isKnown }]) => !isKnown);
    endIn(order, () => ofStrangers <= strangerBytesMax * RELIEVED);
  }

  function relieve(): void {
    if (ofStrangers > strangerBytesMax) endStrangers();
    if (sum + (hooks?.beside() ?? 0) <= heldBytesMax) return;
    if (hooks) hooks.relieve();
    else endLargest();
  }

  return {
    begin(request, judge, end) {
      const body: Body = { bytes: 0, kept: NOTHING, isKnown: false, end };
      bodies.set(request, body);
      return {
        add(chunk) {
          if (!bodies.has(request)) return true;
          if (body.bytes + chunk.length > BODY_LIMITS.bytes) throw tooLarge();
          keep(body, chunk);
          sum += chunk.length;
          if (!body.isKnown) ofStrangers += chunk.length;
          relieve();
          return body.isKnown || body.bytes <= STRANGER_BODY_BYTES_MAX;
        },
        async admit() {
          const found = await judge();
          if (found) throw new Refusal(found);
          body.isKnown = true;
          if (bodies.has(request)) ofStrangers -= body.bytes;
        },
        done: () => forget(request),
      };
    },
    bytes: () => sum,
    bytesOf: (request) => bodies.get(request)?.bytes ?? 0,
    forget,
  };
}

/** In bytes: what a chunk may keep alive beside itself. */
const BESIDE_MAX = 4_096;

/**
 * Adds a chunk to what is kept. Many small chunks become one piece: each by itself takes a hundred times its bytes,
 * and keeps the segment that it came in.
 */
function keep(body: Body, chunk: Uint8Array): void {
  const { kept, bytes } = body;
  body.bytes += chunk.length;
  if (bytes === 0 && chunk.buffer.byteLength - chunk.length <= BESIDE_MAX) {
    body.kept = chunk;
    return;
  }
  if (body.bytes > kept.length) {
    body.kept = new Uint8Array(Math.min(2 * body.bytes, BODY_LIMITS.bytes));
    body.kept.set(kept.subarray(0, bytes));
  }
  body.kept.set(chunk, bytes);
}

/** Of a bound that was exceeded: as much is left, so that not every further byte looks for the largest again. */
export const RELIEVED = 7 / 8;

export function tooLarge(): Refusal {
  const detail = 'Cannot read the body: it is larger than 256 KiB';
  return new Refusal(failure('request_too_large', detail));
}

/** A long body of a sender that is not known, where no credential is asked for. */
export function tooLong(): Failure {
  const detail =
    'Cannot read the body: it is larger than 16 KiB, the most without a credential that this service knows';
  return failure('request_too_large', detail);
}
