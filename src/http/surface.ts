/**
 * Another way to ask, on a path of this server: limits, load and the credential are the server's, what
 * the body means is the surface's.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../domain/failure.ts';
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
  /** The start is over: what was left for later can be done. */
  started(): void;
  close(): Promise<void>;
}

/** Milliseconds after the server listens: who waited for it has been answered. */
const START_OVER_MS = 1_000;

export function mount(
  app: FastifyInstance,
  surface: Surface,
  { runtime: { log, announce }, visits }: { runtime: Runtime; visits: Visits | undefined },
): void {
  announce(surface.name, surface.path);
  let starting: NodeJS.Timeout | undefined;
  app.addHook('onListen', async () => {
    starting = setTimeout(() => surface.started(), START_OVER_MS).unref();
  });
  // Not before: what a surface has in work is finished like every other request.
  app.addHook('onClose', () => {
    clearTimeout(starting);
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
