/**
 * A surface: another protocol on a path of this server. The server applies limits, counts load and reads
 * the credential; the surface reads the body.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../domain/failure.ts';
import type { Timer } from '../platform.ts';
import type { Failure } from '../protocol/failure.ts';
import type { Ask } from '../service/core/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { sendFailure } from './answer.ts';
import type { Visits } from './bounds/visits.ts';
import { bearerOf, closedOf, traceOf } from './request.ts';

interface SurfaceRequest extends Pick<Ask, 'bearer' | 'trace' | 'gone' | 'proved'> {
  readonly raw: IncomingMessage;
  /** The body as it came; empty when there was none. */
  readonly body: Uint8Array;
  /** Takes over the response: from here on the surface alone answers. */
  response(): ServerResponse;
  /** What takes work is done: the rest waits for the client to read. */
  done(): void;
}

export interface Surface {
  /** Where it is asked, by POST. */
  readonly path: `/${string}`;
  /** Of the protocol, as discovery announces it. */
  readonly name: string;
  /** Answers, or resolves with the failure that the server should answer with. */
  answer(request: SurfaceRequest): Promise<Failure | undefined>;
  /** Called after the start, for work that the surface postponed. */
  started(): void;
  close(): Promise<void>;
}

/** Milliseconds after the server listens. Clients that waited for the start are answered by then. */
const START_OVER_MS = 1_000;

export function mount(
  app: FastifyInstance,
  surface: Surface,
  {
    runtime: { log, platform, announce },
    visits,
  }: { runtime: Runtime; visits: Visits | undefined },
): void {
  announce(surface.name, surface.path);
  let starting: Timer | undefined;
  app.addHook('onListen', async () => {
    starting = platform.after(START_OVER_MS, () => surface.started());
    starting.unref();
  });
  // Not earlier: calls of the surface that are in work finish first, like every other request.
  app.addHook('onClose', () => {
    platform.cancel(starting);
    return surface.close();
  });
  app.post(surface.path, { config: { operation: surface.name } }, async (request, reply) => {
    const { body, raw } = request;
    const found = await surface
      .answer({
        raw,
        bearer: () => bearerOf(request),
        gone: () => closedOf(reply),
        proved: (issued) => visits?.prove(request.visit, issued),
        trace: traceOf(request.headers.traceparent),
        body: body instanceof Uint8Array ? body : new Uint8Array(),
        done: () => request.place?.leave(),
        response() {
          reply.hijack();
          reply.raw.setHeader('cache-control', 'no-store');
          for (const [name, value] of Object.entries(reply.getHeaders())) {
            if (value !== undefined) reply.raw.setHeader(name, value);
          }
          return reply.raw;
        },
      })
      .catch((error: unknown) => {
        if (error instanceof Refusal) return error.failure;
        if (!reply.sent) throw error;
        log.error({ err: error, surface: surface.name }, 'a surface broke');
        reply.raw.destroy();
        return undefined;
      })
      // A response that the surface took over passes no hook of the framework.
      .finally(() => request.place?.leave());
    return found ? sendFailure(reply, found) : reply;
  });
}
