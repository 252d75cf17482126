/**
 * A surface: another protocol on a path of this service. The core applies limits, counts load and reads
 * the credential and the body; the surface answers.
 *
 * @module
 */

import { Refusal } from '../domain/failure.ts';
import type { Timer } from '../platform.ts';
import type { Failure } from '../protocol/failure.ts';
import type { Ask } from '../service/operations/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import type { Visits } from './bounds/strangers.ts';
import { type AskedHeaders, closedOf, type Exchange, type HttpAnswer } from './exchange.ts';
import { type Cors, originIn } from './origin.ts';
import { judgedBearer, traceOf } from './request.ts';

interface SurfaceRequest extends Pick<Ask, 'bearer' | 'trace' | 'gone' | 'proved'> {
  readonly headers: AskedHeaders;
  /** The local address of the connection, where there is one. */
  readonly localAddress: string | undefined;
  /** Whether the configuration admits pages of the origin that the request names. */
  readonly isAdmitted: boolean;
  /** The body as it came; empty when there was none. */
  readonly body: Uint8Array;
  /** What takes work is done: the rest waits for the client to read. */
  done(): void;
}

export interface Surface {
  /** Where it is asked, by POST. */
  readonly path: `/${string}`;
  /** Of the protocol, as discovery announces it. */
  readonly name: string;
  /** Resolves with the answer, or with the failure that the core should answer with. */
  answer(request: SurfaceRequest): Promise<HttpAnswer | Failure>;
  /** Called after the start, for work that the surface postponed. */
  started(): void;
  close(): Promise<void>;
}

/** Makes a surface once there is a runtime to ask. */
export type OpenSurface = (runtime: Runtime) => Surface;

/** Milliseconds after the start. Clients that waited for the start are answered by then. */
const START_OVER_MS = 1_000;

/** Postpones the work of a surface until the start is over. Returns what cancels it. */
export function startLater({ platform }: Pick<Runtime, 'platform'>, surface: Surface): () => void {
  const starting: Timer = platform.after(START_OVER_MS, () => surface.started());
  starting.unref();
  return () => platform.cancel(starting);
}

/** What a surface answers to an exchange. */
export async function askSurface(
  surface: Surface,
  { ask, body, slot, visit }: Exchange,
  { visits, cors }: { readonly visits: Visits | undefined; readonly cors: Cors | undefined },
): Promise<HttpAnswer | Failure> {
  // A request of a surface may ask for several operations; they share one signal.
  let closed: AbortSignal | undefined;
  const gone = () => {
    closed ??= closedOf(ask);
    return closed;
  };
  try {
    return await surface.answer({
      headers: ask.headers,
      localAddress: ask.localAddress,
      isAdmitted: cors?.isAdmitted(originIn(ask.headers)) ?? false,
      bearer: () => judgedBearer({ ask, visit }, visits),
      gone,
      proved: (issued) => visits?.prove(visit, issued),
      trace: traceOf(ask.headers.traceparent),
      body,
      done: slot.leave,
    });
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
}
