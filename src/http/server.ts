/**
 * The HTTP server: listens, bounds its connections, and passes each request to the core.
 *
 * @module
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isReachedHereOnly } from '../domain/values/host.ts';
import type { Runtime } from '../service/runtime.ts';
import { createAddresses, networkOf } from './bounds/address.ts';
import {
  boundConnections,
  CONNECTION_BOUNDS,
  type ConnectionBounds,
  type ConnectionOptions,
} from './bounds/connection.ts';
import type { Handler } from './bounds/held.ts';
import * as limits from './bounds/limits.ts';
import { type Load, watchLoad } from './bounds/shed.ts';
import {
  answerClientError,
  answerConnect,
  answerExpectation,
  answerFraming,
  framingFault,
} from './client-error.ts';
import { consoleRoutes } from './console/routes.ts';
import { createCore } from './core.ts';
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
  const metrics = createMetrics(load, runtime.sealing);
  runtime.watch(metrics);
  runtime.watchAlarms(metrics.alarmed);
  // Metrics are for operators. Only a service that other machines cannot reach asks for no credential.
  const hasOpenMetrics = isReachedHereOnly(runtime.config);
  const added = [...signInRoutes(runtime), ...consoleRoutes(runtime)];
  const core = createCore(runtime, { load, metrics, surfaces, hasOpenMetrics, added });
  let isStopping = false;
  const listener: Handler = (request, response) => {
    core
      .answer(nodeAsk(request, response))
      .then((answer) => sendAnswer(answer, request, response, isStopping))
      .catch((error: unknown) => {
        runtime.log.error({ err: error }, 'defect');
        response.destroy();
      });
  };
  const server = boundServer(listener, connectionOptions(runtime, metrics, bounds));
  let closed: Promise<void> | undefined;
  const close = async (drain?: () => Promise<void>) => {
    runtime.release();
    isStopping = drain !== undefined;
    await drain?.();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    await core.close();
  };
  return {
    server,
    listener,
    async listen(where) {
      const { port } = await listening(server, where);
      core.started();
      return `http://${where.host}:${port}`;
    },
    close(drain) {
      closed ??= close(drain);
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
function boundServer(handler: Handler, options: ConnectionOptions): Server {
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
  const { take, close } = boundConnections(server, options);
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
  return server;
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
