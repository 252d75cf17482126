/**
 * The core of HTTP: a request in, an answer out, without a socket.
 *
 * Makes routes from the operations table, applies limits before a body is read, and answers everything that
 * a client can do wrong with a structured failure. Decides nothing about what is allowed. The server
 * (`server.ts`) and a mounted service (`mounted/mount.ts`) are adapters over it.
 *
 * @module
 */

import { failure, Refusal } from '../domain/failure.ts';
import { toHex } from '../domain/wire/hash.ts';
import type { Platform } from '../platform.ts';
import type { Failure } from '../protocol/failure.ts';
import { type Operation, type OperationName, operations } from '../protocol/operations.ts';
import { isDocument, type Method, performing } from '../service/operations/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { begunWith, type Eventual, isPromised, run, type Steps, stepsOf } from '../steps.ts';
import { httpAnswer, httpRefusal, JSON_TYPE, variedByAccept } from './answer.ts';
import { tooLong } from './bounds/bodies.ts';
import type { Load } from './bounds/shed.ts';
import type { Visit, Visits } from './bounds/strangers.ts';
import { METRICS_TYPE } from './bounds/tally.ts';
import { createTurns } from './bounds/turn.ts';
import {
  type AddedRoute,
  type Exchange,
  type HttpAnswer,
  type HttpAsk,
  headerText,
  type Route,
  type WriteBody,
} from './exchange.ts';
import type { Metrics } from './metrics.ts';
import { type Cors, createCors, originIn } from './origin.ts';
import { createReference, createRefusalPage, wantsPage } from './reference.ts';
import { askOf, codingOf, judgedBearer, requestPath, strangerJudge, traceOf } from './request.ts';
import { createRouter, hasLongValue, type Match, type Router, routedPath } from './router.ts';
import { askSurface, type Surface, startLater } from './surface.ts';

export interface HttpCore {
  /** Answers one request. Throws or rejects only for a defect. */
  answer(ask: HttpAsk): Eventual<HttpAnswer>;
  /** Answers one request with a failure that was found before. */
  refused(ask: HttpAsk, found: Failure): HttpAnswer;
  /** Called when clients can reach the service: begins what was postponed until then. */
  started(): void;
  /** Every path that the service has; those with a field up to the field. */
  paths(): string[];
  /** Closes the surfaces. Called when no request is in work. */
  close(): Promise<void>;
}

export interface CoreOptions {
  readonly load: Load;
  readonly visits: Visits | undefined;
  readonly metrics: Metrics;
  readonly surfaces: readonly Surface[];
  /** Whether the metrics ask for no credential. */
  readonly hasOpenMetrics: boolean;
  /** Whether the service was asked to stop: it answers, and is not ready. */
  readonly isLeaving?: (() => boolean) | undefined;
  /** Paths that are neither an operation nor a surface. */
  readonly added: readonly AddedRoute[];
}

interface Core extends CoreOptions {
  readonly runtime: Runtime;
  readonly platform: Platform;
  readonly cors: Cors | undefined;
  readonly routes: Router<Route>;
  readonly refusalPage: ReturnType<typeof createRefusalPage>;
}

export function createCore(runtime: Runtime, options: CoreOptions): HttpCore {
  const { config, platform } = runtime;
  const core: Core = {
    ...options,
    runtime,
    platform,
    cors: createCors(config.cors_origins),
    routes: createRouter(),
    refusalPage: createRefusalPage(runtime),
  };
  addOperations(core);
  for (const surface of options.surfaces) addSurface(core, surface);
  for (const { method, path, route } of options.added) core.routes.add(method, path, route);
  addHealth(core);
  const unready = () => unreadyReasons(core);
  const reference = createReference(runtime, { visits: options.visits, unready });
  for (const { method, path, route } of reference.routes) core.routes.add(method, path, route);
  const cancels: (() => void)[] = [];
  return {
    answer: (ask) => run(answer(core, ask)),
    refused: (ask, found) => refused(core, { ask, headers: {} }, found),
    started() {
      reference.prepare();
      cancels.push(...options.surfaces.map((surface) => startLater(runtime, surface)));
    },
    paths: core.routes.paths,
    async close() {
      for (const cancel of cancels) cancel();
      for (const surface of options.surfaces) await surface.close();
    },
  };
}

const NOTHING = new Uint8Array();

function* answer(core: Core, asked: HttpAsk): Steps<HttpAnswer> {
  // The answer to HEAD is that to GET; the adapter leaves out its body.
  const ask = asked.method === 'HEAD' ? { ...asked, method: 'GET' } : asked;
  const { platform, metrics } = core;
  const begun = platform.monotonic();
  const path = routedPath(ask.target);
  const found = path === undefined ? undefined : core.routes.find(ask.method, path);
  const exchange = begin(core, ask, found);
  const { slot } = exchange;
  let status = 0;
  // A client that leaves early is never answered, and its slot must be free.
  ask.onClosed(slot.abandon);
  ask.onSent(() => {
    const seconds = (platform.monotonic() - begun) / 1_000;
    metrics.answered(found?.route.name ?? 'none', status, seconds);
  });
  let made: HttpAnswer;
  try {
    const limited = found?.route.isWatching ? undefined : shedOrLimited(core, exchange);
    let given =
      (isPromised(limited) ? ((yield limited) as Failure | undefined) : limited) ??
      refusedEarly(core, exchange, found);
    if (!given) {
      const { route } = found as Match<Route>;
      const admit = async () => (route.stranger ? route.stranger(exchange) : tooLong());
      const body = ask.method === 'POST' ? ask.body(admit) : NOTHING;
      exchange.body = isPromised(body) ? ((yield body) as Uint8Array) : body;
      given = unreadBody(exchange, route) ?? (yield* stepsOf(route.answer(exchange)));
    }
    made = 'type' in given ? refused(core, exchange, given) : given;
  } catch (error) {
    made = refused(core, exchange, failureOf(core, error));
  }
  ({ status } = made);
  if (typeof made.body === 'function') return untilWritten(core, exchange, made);
  // The answer is made: from here on it only waits for its client.
  slot.leave();
  if (exchange.visit) core.visits?.end(exchange.visit, status);
  return made;
}

type Asked = Pick<Exchange, 'ask' | 'headers'>;

/** A browser that opens a page gets words, everything else a failure. */
function refused({ runtime, refusalPage }: Core, exchange: Asked, found: Failure): HttpAnswer {
  const answer = httpRefusal(runtime, exchange, found);
  const { vary } = exchange.headers;
  if (exchange.ask.method === 'GET') answer.headers.vary = variedByAccept(vary);
  if (!wantsPage(exchange.ask)) return answer;
  const { headers, body } = refusalPage(exchange, found, answer.status);
  return { ...answer, headers: { ...answer.headers, ...headers }, body };
}

/** Names a request and continues its trace. */
function begin(core: Core, ask: HttpAsk, found: Match<Route> | undefined): Exchange {
  const { platform, load, cors } = core;
  const headers: Record<string, string> = { 'x-request-id': newSpanId(platform) };
  const trace = traceOf(ask.headers.traceparent);
  if (trace) headers.traceparent = `00-${trace.traceId}-${newSpanId(platform)}-${trace.flags}`;
  if (cors && isShared(found)) {
    Object.assign(headers, cors.headersFor(originIn(ask.headers)));
  }
  const params = found?.params ?? {};
  return { ask, params, headers, slot: load.enter(), visit: null, body: NOTHING };
}

/** Whether the configuration may admit pages of other origins to what was asked for. */
function isShared(found: Match<Route> | undefined): boolean {
  return !found?.route.isWatching && !found?.route.isForOwnPages;
}

/** Names a request, or its span in the trace of a caller. */
function newSpanId({ random }: Platform): string {
  return toHex(random(8));
}

/** A streamed answer keeps its slot until its work is done. */
function untilWritten(
  { runtime: { log } }: Core,
  { slot }: Exchange,
  { status, headers, body }: HttpAnswer,
): HttpAnswer {
  const write = body as WriteBody;
  return {
    status,
    headers,
    body: (output) =>
      write(output)
        .catch((error: unknown) => log.error({ err: error }, 'a stream broke'))
        .finally(slot.leave),
  };
}

/** Why a request is refused for the load, or for how many its address has sent. */
function shedOrLimited(core: Core, exchange: Exchange): Eventual<Failure | undefined> {
  const overload = core.load.overload();
  if (overload === undefined) return limitedVisit(core, exchange);
  core.metrics.shed();
  return failure('service_unavailable', `Cannot take more work: ${overload}`);
}

/** Answers a request that is refused before its body is read. Returns nothing for any other. */
function refusedEarly(
  core: Core,
  exchange: Exchange,
  found: Match<Route> | undefined,
): HttpAnswer | Failure | undefined {
  const { ask } = exchange;
  const fault = ask.fault?.();
  if (fault !== undefined) {
    return failure('invalid_parameters', `Cannot read the request: ${fault}`);
  }
  if (!found) return unrouted(core, exchange);
  if (hasLongValue(found)) {
    return failure('invalid_parameters', 'Cannot read the path: a name or an id is too long');
  }
  const encoding = codingOf(ask);
  if (encoding === undefined) return undefined;
  const detail = `Cannot read a body in "${encoding}": expected plain JSON`;
  return failure('unsupported_media_type', detail);
}

/** Counts a request whose caller is not known yet, or says why it is refused. */
function limitedVisit({ visits }: Core, exchange: Exchange): Eventual<Failure | undefined> {
  const counted = (visit: Visit | Failure | undefined) => {
    if (visit && 'type' in visit) return visit;
    exchange.visit = visit ?? null;
    return undefined;
  };
  const visit = visits?.begin(exchange.ask);
  return isPromised(visit) ? visit.then(counted) : counted(visit);
}

/** Tells a wrong method on a known path from a path that does not exist. */
function unrouted(
  { routes, cors, runtime: { basePath } }: Core,
  exchange: Exchange,
): HttpAnswer | Failure {
  const { ask, headers } = exchange;
  const routed = routedPath(ask.target);
  if (routed === undefined) {
    return failure('invalid_parameters', 'Cannot read the request: its path is malformed');
  }
  const { method } = ask;
  // A mounted service sees paths without its prefix, and an app may have removed it before.
  const path = `${requestPath(ask.target)}${basePath === '' ? '' : ` under "${basePath}"`}`;
  const methods = routes.methodsOf(routed);
  if (methods.length === 0) {
    return failure('not_found', `Cannot find ${method} ${path}`);
  }
  if (method === 'OPTIONS' && isShared(routes.find(methods[0] as string, routed))) {
    const preflight = cors?.preflight(ask.headers, methods);
    if (preflight)
      return { status: 204, headers: Object.assign(headers, preflight), body: undefined };
  }
  headers.allow = methods.join(', ');
  const detail = `Cannot ${method} ${path}: it takes ${methods.join(' or ')}`;
  return failure('method_not_allowed', detail);
}

/** Only plain JSON is read, and as bytes: the strict reader decodes them after the caller is known. */
const JSON_MEDIA = mediaType('application/json');
const FORM_MEDIA = mediaType('application/x-www-form-urlencoded');

interface MediaType {
  readonly name: string;
  readonly pattern: RegExp;
}

function mediaType(name: string): MediaType {
  return { name, pattern: new RegExp(`^${name}(?:\\s*;\\s*charset="?utf-8"?)?\\s*$`, 'i') };
}

/** Says why a body that is there cannot be used. If it can, the work begins. */
function unreadBody(exchange: Exchange, route: Route): Failure | undefined {
  const { ask, slot } = exchange;
  if (ask.method === 'POST') {
    const { name, pattern } = route.takesForm ? FORM_MEDIA : JSON_MEDIA;
    const sent = headerText(ask, 'content-type') ?? '';
    // A request without fields may have an empty body of any media type.
    if (exchange.body.length > 0 && sent !== name && !pattern.test(sent)) {
      const detail = `Cannot read the body: expected ${name}`;
      return failure('unsupported_media_type', detail);
    }
  }
  slot.begin();
  return undefined;
}

/** Anything but a refusal is a defect of ours. */
function failureOf({ runtime: { log } }: Core, error: unknown): Failure {
  if (error instanceof Refusal) return error.failure;
  log.error({ err: error }, 'defect');
  return failure('internal_error', 'Cannot answer: internal error');
}

function addOperations(core: Core): void {
  const { runtime, routes, visits, platform } = core;
  const turns = createTurns(platform);
  for (const [name, method] of Object.entries(runtime.methods) as [OperationName, Method][]) {
    const operation: Operation = operations[name];
    routes.add(operation.method, operation.path, {
      name,
      stranger: strangerJudge(runtime, name, visits),
      *answer(exchange) {
        const ask = askOf(operation, exchange, visits);
        const answer = yield* begunWith(performing(name, method, ask, runtime), turns.begin);
        yield turns.end();
        if (!isDocument(answer) && answer.failure && wantsPage(exchange.ask)) return answer.failure;
        return httpAnswer(runtime, exchange, answer);
      },
    });
  }
}

function addSurface(core: Core, surface: Surface): void {
  const { runtime, routes, visits, cors } = core;
  runtime.announce(surface.name, `${runtime.basePath}${surface.path}`);
  routes.add('POST', surface.path, {
    name: surface.name,
    // A surface takes delegation tokens.
    stranger: strangerJudge(runtime, 'permissions', visits),
    async answer(exchange) {
      const given = await askSurface(surface, exchange, { visits, cors });
      if ('type' in given) return given;
      const { status, headers, body } = given;
      const all = Object.assign(exchange.headers, { 'cache-control': 'no-store' }, headers);
      return { status, headers: all, body };
    },
  });
}

const LEAVING = 'stop: the service was asked to stop';

function addHealth(core: Core): void {
  const { runtime, routes, metrics, visits } = core;
  routes.add('GET', '/healthz', {
    name: 'healthz',
    isWatching: true,
    answer: ({ headers }) => plainAnswer(200, headers, { status: 'ok' }),
  });
  routes.add('GET', '/readyz', {
    name: 'readyz',
    async answer({ headers }) {
      const reasons = await unreadyReasons(core);
      return reasons.length > 0
        ? plainAnswer(503, headers, { status: 'unready', reasons })
        : plainAnswer(200, headers, { status: 'ready' });
    },
  });
  routes.add('GET', '/metrics', {
    name: 'metrics',
    isWatching: true,
    async answer(exchange) {
      const { headers } = exchange;
      const proved = () => visits?.prove(exchange.visit);
      const asking = { bearer: () => judgedBearer(exchange, visits), input: () => ({}), proved };
      // Checking a credential lets a stranger guess one, so the request is counted first.
      const found = core.hasOpenMetrics
        ? undefined
        : ((await limitedVisit(core, exchange)) ?? (await runtime.unreadableMetrics(asking)));
      if (found) return found;
      headers['content-type'] = METRICS_TYPE;
      return { status: 200, headers, body: await metrics.text() };
    },
  });
}

async function unreadyReasons({ runtime, isLeaving }: Core): Promise<string[]> {
  return isLeaving?.() ? [LEAVING] : runtime.unready();
}

function plainAnswer(status: number, headers: Record<string, string>, body: object): HttpAnswer {
  headers['cache-control'] = 'no-store';
  headers['content-type'] = JSON_TYPE;
  return { status, headers, body: JSON.stringify(body) };
}
