/**
 * The HTTP server: listens, bounds its connections, and passes each request to the core.
 *
 * @module
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isReachedHereOnly } from '../address/host.ts';
import type { Runtime } from '../service/runtime.ts';
import { isPromised } from '../steps.ts';
import { createAddresses, networkOf } from './bounds/address.ts';
import type { Bodies } from './bounds/bodies.ts';
import {
  boundConnections,
  CONNECTION_BOUNDS,
  type ConnectionBounds,
  type ConnectionOptions,
} from './bounds/connection.ts';
import type { Handler } from './bounds/held.ts';
import * as limits from './bounds/limits.ts';
import { type Load, watchLoad } from './bounds/shed.ts';
import { createVisits } from './bounds/strangers.ts';
import {
  answerClientError,
  answerConnect,
  answerExpectation,
  answerFraming,
  framingFault,
} from './client-error.ts';
import { consoleRoutes } from './console/routes.ts';
import { type CoreOptions, createCore, type HttpCore } from './core.ts';
import type { HttpAnswer } from './exchange.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { nodeAsk, sendAnswer } from './node.ts';
import { signInRoutes } from './sign-in/routes.ts';
import type { Surface } from './surface.ts';

export interface HttpServer {
  readonly server: Server;
  /** Answers one request, past the bounds on connections. */
  readonly listener: Handler;
  /** Resolves with the address of the service. */
  listen(where: { readonly host: string; readonly port: number }): Promise<string>;
  /**
   * Passes every request that comes from now on to another runtime, and ends the waiting callers of the one before.
   * Resolves when the one before has written its last answer. Throws, and changes nothing, when the other runtime
   * cannot answer.
   */
  replace(next: Runtime, surfaces: readonly Surface[]): Promise<void>;
  /** Answers as before, but is not ready, and every further answer closes its connection. */
  leave(): void;
  /**
   * Ends waiting callers, closes the port and resolves when every connection is closed. With `drain` every
   * further answer closes its connection, and `drain` may end connections first.
   */
  close(drain?: () => Promise<void>): Promise<void>;
}

/** The server, not yet listening. It closes `load` and the surfaces when it closes. */
export function createHttpServer(
  runtime: Runtime,
  load: Load = watchLoad(runtime.platform),
  surfaces: readonly Surface[] = [],
  bounds: Partial<ConnectionBounds> = {},
): HttpServer {
  const { log } = runtime;
  let serving: Serving;
  let current = runtime;
  let isStopping = false;
  const metrics = createMetrics(load, () => current);
  // Shared by all runtimes: numbers and limits do not begin again with another one.
  const isLeaving = () => isStopping;
  const shared = { load, metrics, visits: createVisits(runtime), isLeaving };
  serving = servingOf(runtime, { ...shared, surfaces });
  const retired = new Set<Serving>();
  let isListening = false;
  const listener: Handler = (request, response) => {
    // A request ends where it began, whatever comes after it.
    const { core, begin, end } = serving;
    begin();
    const broken = (error: unknown) => {
      log.error({ err: error }, 'defect');
      response.destroy();
      end();
    };
    // Thrown here, a defect would end the process, not the connection.
    const send = (answer: HttpAnswer) => {
      try {
        const writing = sendAnswer(answer, request, response, isStopping);
        if (writing === undefined) end();
        else writing.then(end, broken);
      } catch (error) {
        broken(error);
      }
    };
    try {
      const answering = core.answer(nodeAsk(request, response, bodies));
      if (isPromised(answering)) answering.then(send, broken);
      else send(answering);
    } catch (error) {
      broken(error);
    }
  };
  const { server, bodies } = boundServer(listener, connectionOptions(runtime, metrics, bounds));
  let closed: Promise<void> | undefined;
  const close = async (drain?: () => Promise<void>) => {
    current.release();
    isStopping ||= drain !== undefined;
    await drain?.();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    for (const each of [...retired, serving]) await each.close();
    load.close();
  };
  return {
    server,
    listener,
    async listen(where) {
      const { port } = await listening(server, where);
      isListening = true;
      serving.core.started();
      return `http://${where.host}:${port}`;
    },
    replace(next, nextSurfaces) {
      const [before, last] = [serving, current];
      serving = servingOf(next, { ...shared, surfaces: nextSurfaces });
      current = next;
      if (isListening) serving.core.started();
      retired.add(before);
      last.release();
      return before.answered().then(() => {
        retired.delete(before);
        return before.close();
      });
    },
    leave() {
      isStopping = true;
    },
    close(drain) {
      closed ??= close(drain);
      return closed;
    },
  };
}

/** The core of one runtime, and how many requests it has in work. */
interface Serving {
  readonly core: HttpCore;
  begin(): void;
  end(): void;
  /** Resolves when no request is in work. Called when none can begin any more. */
  answered(): Promise<void>;
  close(): Promise<void>;
}

function servingOf(
  runtime: Runtime,
  given: Omit<CoreOptions, 'hasOpenMetrics' | 'added'>,
): Serving {
  // Metrics are for operators. Only a service that other machines cannot reach asks for no credential.
  const hasOpenMetrics = isReachedHereOnly(runtime.config);
  const added = [...signInRoutes(runtime, given.visits), ...consoleRoutes(runtime, given.visits)];
  const core = createCore(runtime, { ...given, hasOpenMetrics, added });
  runtime.watch(given.metrics);
  runtime.watchAlarms(given.metrics.alarmed);
  let inWork = 0;
  let onLast: (() => void) | undefined;
  let closed: Promise<void> | undefined;
  return {
    core,
    begin() {
      inWork += 1;
    },
    end() {
      inWork -= 1;
      if (inWork === 0) onLast?.();
    },
    async answered() {
      if (inWork === 0) return;
      await new Promise<void>((resolve) => {
        onLast = resolve;
      });
    },
    close() {
      closed ??= core.close();
      return closed;
    },
  };
}

function connectionOptions(
  { config, platform }: Runtime,
  metrics: Metrics,
  bounds: Partial<ConnectionBounds>,
): ConnectionOptions {
  const addresses = createAddresses(config.trusted_proxies);
  return {
    platform,
    bounds: {
      ...CONNECTION_BOUNDS,
      connectionsMax: config.max_connections,
      perAddressMax: config.max_connections_per_address,
      ...bounds,
    },
    networkOf: ({ remoteAddress = '' }) =>
      addresses.isTrusted(remoteAddress) ? undefined : networkOf(remoteAddress),
    onEnded: metrics.ended,
  };
}

/** The server of Node: each request passes the bounds of its connection first. */
function boundServer(
  handler: Handler,
  options: ConnectionOptions,
): { readonly server: Server; readonly bodies: Bodies } {
  const server = createServer({
    maxHeaderSize: limits.HEADER_BYTES_MAX,
    headersTimeout: limits.HEADERS_TIMEOUT_MS,
    requestTimeout: limits.REQUEST_TIMEOUT_MS,
    keepAliveTimeout: limits.KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: limits.TIMEOUT_CHECK_MS,
    // Checked in node.ts: what Node answers by itself is no structured failure.
    requireHostHeader: false,
  });
  const { platform } = options;
  const { take, close, bodies } = boundConnections(server, options);
  const receive: Handler = (request, response) => {
    const fault = framingFault(request);
    if (fault === undefined) handler(request, response);
    else answerFraming(platform, request, response, fault);
  };
  server.on('request', (request, response) => take(request, response, receive));
  const refuse: Handler = (request, response) => answerExpectation(platform, request, response);
  server.on('checkExpectation', (request, response) => take(request, response, refuse));
  server.on('connect', answerConnect);
  server.on('clientError', (error, socket) => answerClientError(platform, error, socket as Socket));
  server.on('close', close);
  return { server, bodies };
}

function listening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}
