/**
 * The HTTP surface: routes made from the operations table, limits before parsing, and structured
 * failures for everything a client can do wrong. Decides nothing about what is allowed.
 *
 * @module
 */

import { createServer, type Server } from 'node:http';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { failure } from '../domain/failure.ts';
import { openHost } from '../domain/values/host.ts';
import { toHex } from '../domain/wire/hash.ts';
import { BODY_LIMITS } from '../domain/wire/json.ts';
import type { Platform } from '../platform.ts';
import type { Failure } from '../protocol/failure.ts';
import { type Operation, type OperationName, operations } from '../protocol/operations.ts';
import { isDocument, type Method, perform } from '../service/core/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { prefersHtml } from './accept.ts';
import { sendAnswer, sendFailure } from './answer.ts';
import { createAddresses, networkOf } from './bounds/address.ts';
import {
  boundConnections,
  CONNECTION_BOUNDS,
  type ConnectionBounds,
  type ConnectionOptions,
} from './bounds/connection.ts';
import type { Handler } from './bounds/held.ts';
import * as limits from './bounds/limits.ts';
import { type Load, type Place, watchLoad } from './bounds/shed.ts';
import { METRICS_TYPE } from './bounds/tally.ts';
import { createTurns, type Turns } from './bounds/turn.ts';
import { createVisits, type Visit, type Visits } from './bounds/visits.ts';
import {
  answerClientError,
  answerConnect,
  answerExpectation,
  answerFrameworkError,
  answerFraming,
  framingFault,
} from './client-error.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { addReference, createFrontPage } from './reference.ts';
import { askOf, bearerOf, headerLines, pathOf, traceOf } from './request.ts';
import { mount, type Surface } from './surface.ts';

export type HttpServer = FastifyInstance;

/** The server, not yet listening. It closes `load` and the surfaces when it closes. */
export function createHttpServer(
  runtime: Runtime,
  load: Load = watchLoad(runtime.platform),
  surfaces: readonly Surface[] = [],
  bounds: Partial<ConnectionBounds> = {},
): HttpServer {
  const { config, platform } = runtime;
  const metrics = createMetrics(load, runtime.sealing);
  const addresses = createAddresses(config.trusted_proxies);
  const connections: ConnectionOptions = {
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
  const app = fastify({
    bodyLimit: BODY_LIMITS.bytes,
    routerOptions: { maxParamLength: limits.PATH_PARAMETER_LENGTH_MAX },
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    return503OnClosing: false,
    genReqId: () => newSpanId(platform),
    // No route has a schema, so the framework need not load its schema compilers.
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
    serverFactory: (handler) => boundServer(handler, connections),
    clientErrorHandler: (error, socket) => answerClientError(platform, error, socket),
    frameworkErrors: (error, request, reply) => {
      // A path that the router cannot read passes no hook.
      answerFrameworkError(reply.header('x-request-id', request.id), error, runtime.log);
    },
  });
  app.decorate('platform', platform);
  runtime.watch(metrics);
  runtime.watchAlarms(metrics.alarmed);
  app.addHook('preClose', async () => runtime.release());
  app.addHook('onClose', async () => load.close());

  const rate = config.rate_limits === 'on' ? config.address_rate : undefined;
  const visits = createVisits(rate, addresses, runtime);
  readBodiesAsBytes(app);
  receiveRequests(app, { platform, load, metrics, visits });
  const turns = createTurns(platform);
  for (const [name, method] of Object.entries(runtime.methods)) {
    addRoute(app, name as OperationName, method, { runtime, visits, turns });
  }
  for (const surface of surfaces) mount(app, surface, { runtime, visits });
  addHealth(app, runtime, { metrics, visits });
  addReference(app, runtime);
  addFront(app, { runtime, visits });
  app.setNotFoundHandler((request, reply) => answerUnknownRoute(app, request, reply));
  app.setErrorHandler((error, _request, reply) => {
    return answerFrameworkError(reply, error, runtime.log);
  });
  return app;
}

/** The server of Node under the framework: each request passes the bounds of its connection first. */
function boundServer(handler: Handler, options: ConnectionOptions): Server {
  const server = createServer({
    maxHeaderSize: limits.HEADER_BYTES_MAX,
    headersTimeout: limits.HEADERS_TIMEOUT_MS,
    requestTimeout: limits.REQUEST_TIMEOUT_MS,
    keepAliveTimeout: limits.KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: limits.TIMEOUT_CHECK_MS,
    // Checked below: what Node answers by itself is no structured failure.
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
  server.on('close', close);
  return server;
}

function noSchema(): never {
  throw new Error(
    'Cannot compile a schema of a route: requests are read against the operations table',
  );
}

function addRoute(
  app: FastifyInstance,
  name: OperationName,
  method: Method,
  { runtime, visits, turns }: { runtime: Runtime; visits: Visits | undefined; turns: Turns },
): void {
  const operation: Operation = operations[name];
  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { operation: name },
    handler: async (request, reply) => {
      const ask = askOf(operation, request, reply, visits);
      const performing = perform(name, method, ask, runtime);
      turns.begin();
      const answer = await performing;
      await turns.end();
      return sendAnswer(request, reply, answer);
    },
  });
}

/** Only plain JSON is taken, and as bytes: the strict reader decodes them after the caller is known. */
function readBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i,
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  );
  // A request without fields may have an empty body of any media type.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) return done(null, body);
    const wrong: Error & { code?: string } = new Error('expected application/json');
    wrong.code = 'FST_ERR_CTP_INVALID_MEDIA_TYPE';
    return done(wrong);
  });
}

interface Reception {
  readonly platform: Platform;
  readonly load: Load;
  readonly metrics: Metrics;
  readonly visits: Visits | undefined;
}

/**
 * Names each request, continues its trace and counts it. Refuses what cannot be served before a body is
 * read or a caller is looked up. The hooks are synchronous, because every request passes all of them.
 */
function receiveRequests(app: FastifyInstance, reception: Reception): void {
  const { platform, load, metrics, visits } = reception;
  app.decorateRequest('place', null);
  app.decorateRequest('visit', null);
  app.addHook('onRequest', (request, reply, done) => {
    const begun = platform.monotonic();
    const { raw } = reply;
    // Read once: the framework builds the options on every access.
    const operation = request.routeOptions.config?.operation ?? 'none';
    const place = load.enter();
    request.place = place;
    // A client that leaves early is never answered, and its place must be free.
    raw.on('close', place.abandon);
    // Not the hook `onResponse`, which changes listeners four times for each request.
    raw.on('finish', () => {
      metrics.answered(operation, raw.statusCode, (platform.monotonic() - begun) / 1_000);
    });
    reply.header('x-request-id', request.id);
    const trace = traceOf(request.headers.traceparent);
    if (trace) {
      reply.header('traceparent', `00-${trace.traceId}-${newSpanId(platform)}-${trace.flags}`);
    }
    if (!refusedEarly(app, request, reply, { platform, load, metrics, visits, operation })) done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    request.place?.begin();
    done();
  });
  // The answer is made: from here on it only waits for its client.
  app.addHook('onSend', ({ place, visit }, reply, payload, done) => {
    place?.leave();
    if (visit) visits?.end(visit, reply.statusCode);
    done(null, payload);
  });
}

/** Names a request, or its span in the trace of a caller. */
function newSpanId({ random }: Platform): string {
  return toHex(random(8));
}

/** Answers a request that is refused before its body is read. Returns nothing for any other. */
function refusedEarly(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  { load, metrics, visits, operation }: Reception & { operation: string },
): FastifyReply | undefined {
  if (!WATCHING.includes(operation)) {
    const overload = load.overload();
    if (overload) {
      metrics.shed();
      const detail = `Cannot take more work: ${overload}`;
      return sendFailure(reply, failure('service_unavailable', detail));
    }
    const limited = limitedVisit(request, visits);
    if (limited) return sendFailure(reply, limited);
  }
  if (request.raw.httpVersion === '1.1' && headerLines(request, 'host').length !== 1) {
    const detail = 'Cannot read the request: expected exactly one Host header';
    return sendFailure(reply, failure('invalid_parameters', detail));
  }
  if (request.is404) return answerUnknownRoute(app, request, reply);
  const encoding = codingOf(request);
  if (encoding === undefined) return undefined;
  const detail = `Cannot read a body in "${encoding}": expected plain JSON`;
  return sendFailure(reply, failure('unsupported_media_type', detail));
}

/** Counts a request whose caller is not known yet, or says why it is refused. */
function limitedVisit(request: FastifyRequest, visits: Visits | undefined): Failure | undefined {
  const visit = visits?.begin(request) ?? null;
  if (visit && 'type' in visit) return visit;
  request.visit = visit;
  return undefined;
}

/** How a body is packed, where it is not plain. */
function codingOf({ headers }: FastifyRequest): string | undefined {
  const { 'content-encoding': content = 'identity', 'transfer-encoding': transfer = 'chunked' } =
    headers;
  if (content !== 'identity') return content;
  return transfer.toLowerCase() === 'chunked' ? undefined : transfer;
}

/** Never shed: probes and scrapers need their answers most under overload. */
const WATCHING: readonly string[] = ['healthz', 'metrics'];

function addHealth(
  app: FastifyInstance,
  runtime: Runtime,
  { metrics, visits }: Pick<Reception, 'metrics' | 'visits'>,
): void {
  app.get('/healthz', { config: { operation: 'healthz' } }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  );
  app.get('/readyz', { config: { operation: 'readyz' } }, async (_request, reply) => {
    const reasons = await runtime.unready();
    reply.header('cache-control', 'no-store').code(reasons.length > 0 ? 503 : 200);
    return reply.send(reasons.length > 0 ? { status: 'unready', reasons } : { status: 'ready' });
  });
  const isOpen = hasOpenMetrics(runtime.config);
  app.get('/metrics', { config: { operation: 'metrics' } }, async (request, reply) => {
    const proved = () => visits?.prove(request.visit);
    const ask = { bearer: () => bearerOf(request), input: () => ({}), proved };
    // Checking a credential lets a stranger guess one, so the request is counted first.
    const found = isOpen
      ? undefined
      : (limitedVisit(request, visits) ?? (await runtime.unreadableMetrics(ask)));
    if (found) return sendFailure(reply, found);
    return reply.type(METRICS_TYPE).send(metrics.text());
  });
}

/** Metrics are for operators. Only a service that other machines cannot reach asks for no credential. */
function hasOpenMetrics(config: Runtime['config']): boolean {
  // A trusted proxy on this machine forwards requests of other machines.
  return openHost(config) === undefined && config.trusted_proxies.length === 0;
}

/** The path `/`: a page for a browser, the discovery document for a program. */
function addFront(
  app: FastifyInstance,
  { runtime, visits }: { runtime: Runtime; visits: Visits | undefined },
): void {
  const { discovery } = runtime.methods;
  if (!discovery) return;
  const pageOf = createFrontPage(runtime.gated);
  app.route({
    method: ['GET', 'HEAD'],
    url: '/',
    config: { operation: 'front' },
    handler: async (request, reply) => {
      const ask = askOf(operations.discovery, request, reply, visits);
      const answer = await perform('discovery', discovery, ask, runtime);
      const isPage = prefersHtml(request.headers.accept) && isDocument(answer);
      reply.header('vary', 'Accept');
      return sendAnswer(request, reply, isPage ? pageOf(answer) : answer);
    },
  });
}

const METHODS = ['GET', 'HEAD', 'POST'] as const;

/** Tells a wrong method on a known path from a path that does not exist. */
function answerUnknownRoute(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const path = pathOf(request.url);
  const methods = METHODS.filter((method) => app.findRoute({ method, url: path }) !== null);
  if (methods.length === 0) {
    return sendFailure(reply, failure('not_found', `Cannot find ${request.method} ${path}`));
  }
  const detail = `Cannot ${request.method} ${path}: it takes ${methods.join(' or ')}`;
  return sendFailure(
    reply.header('allow', methods.join(', ')),
    failure('method_not_allowed', detail),
  );
}

declare module 'fastify' {
  interface FastifyInstance {
    platform: Platform;
  }
  interface FastifyContextConfig {
    /** The name under which a route's answers are counted. */
    operation?: string;
  }
  interface FastifyRequest {
    /** Its place among the requests that are arriving or in work. */
    place: Place | null;
    /** How it was counted before its caller was known. */
    visit: Visit | null;
  }
}
