/**
 * A running service inside an app: answers Web requests and requests of node:http under a prefix.
 *
 * The app owns the connections: how many there are, how long they live, how long headers may take. The
 * bounds on bodies, load and rates are the service's own, as they are when it listens itself.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pagesUrl } from '../../address/host.ts';
import { failure } from '../../domain/failure.ts';
import type { Platform } from '../../platform.ts';
import { askNow } from '../../service/foreign/foreign.ts';
import { beforeLate } from '../../service/pace/deadline.ts';
import type { Runtime } from '../../service/runtime.ts';
import { type Admit, type Bodies, createBodies } from '../bounds/bodies.ts';
import { CONNECTION_BOUNDS } from '../bounds/connection.ts';
import { type Load, watchLoad } from '../bounds/shed.ts';
import { createVisits } from '../bounds/strangers.ts';
import { consoleRoutes } from '../console/routes.ts';
import { createCore, type HttpCore } from '../core.ts';
import type { AskedHeaders, HttpAnswer, HttpAsk } from '../exchange.ts';
import { createMetrics } from '../metrics.ts';
import { nodeAsk, sendAnswer } from '../node.ts';
import { isCrossSite } from '../origin.ts';
import { requestPath } from '../request.ts';
import { signInRoutes } from '../sign-in/routes.ts';
import type { Surface } from '../surface.ts';
import { bodyInTime, handedBody } from './body.ts';
import {
  type Arrival,
  type MountAddress,
  refuseOwnPath,
  rootDocument,
  withinPrefix,
} from './mount-address.ts';
import { webExchange } from './web.ts';

/**
 * What the hook of an app sees of a request.
 *
 * @example
 * import type { AppRequest } from 'writ';
 *
 * const identify = ({ headers }: AppRequest) =>
 *   headers['x-user'] === 'ann' ? 'human:ann@example.com' : null;
 */
export interface AppRequest {
  readonly method: string;
  /** With the prefix, without the query. */
  readonly path: string;
  /** By their names in lower case. */
  readonly headers: AskedHeaders;
  /** What the framework passed: a Request or an IncomingMessage. The service reads its body. */
  readonly raw: Request | IncomingMessage;
}

/**
 * A person of the app.
 *
 * @example
 * import type { PersonOfApp } from 'writ';
 *
 * const ann: PersonOfApp = { principal: 'human:ann@shop.example', scopes: ['stock.read'] };
 */
export interface PersonOfApp {
  /** Of class `human`, and of no identity of the service. */
  readonly principal: string;
  /** What the person has now, of what a rule of `entitlements` gives. */
  readonly scopes: readonly string[];
  /** On the calls of every root token of the person, beside those of the rule, by capability and path. */
  readonly conditions?: Readonly<Record<string, object>>;
  /** When the person signed in to the app. A first passkey counts at once for 15 minutes after it. */
  readonly signed_in_at?: Date;
}

/** A principal alone has all that a rule of `entitlements` gives. */
type Identified = PersonOfApp | string | null | undefined;

/** Hooks of the app. */
export interface AppHooks {
  /**
   * The app's own authentication: returns the person who asks, or null.
   *
   * Called for every page and request of the console, and for operations that take a bootstrap credential where
   * none is presented and no page of another site sent the request. `entitlements` decide what the person may have
   * at most.
   */
  readonly identify?: (request: AppRequest) => Identified | Promise<Identified>;
  /** The address of the client of a Web request, by which strangers are counted. */
  readonly address?: (request: Request) => string | undefined;
  /**
   * With `next`, the listener also answers the documents at the root of the app, instead of passing them on:
   * `/.well-known/svc`, `/.well-known/jwks.json`, and the metadata of sign-in for this prefix.
   */
  readonly root?: boolean;
}

export interface AppParts extends AppHooks {
  readonly mountedAt: MountAddress;
  readonly surfaces: readonly Surface[];
  readonly load?: Load;
}

type Listener = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export interface AppService {
  fetch(request: Request): Promise<Response>;
  readonly listener: Listener;
  /** Takes no new request, and resolves when the running ones are answered or the time is up. */
  stop(graceMs: number): Promise<void>;
}

/** Throws when the prefix is a path of the service itself. */
export function openApp(runtime: Runtime, parts: AppParts): AppService {
  const { platform } = runtime;
  const { mountedAt, surfaces, load = watchLoad(platform) } = parts;
  const metrics = createMetrics(load, () => runtime);
  // The app decides who reaches it, so metrics always ask for a credential.
  const visits = createVisits(runtime);
  const added = [...signInRoutes(runtime, visits), ...consoleRoutes(runtime, visits)];
  const given = { load, visits, metrics, surfaces, hasOpenMetrics: false, added };
  const core = createCore(runtime, given);
  try {
    refuseOwnPath(mountedAt.prefix, core.paths());
  } catch (error) {
    load.close();
    throw error;
  }
  runtime.watch(metrics);
  runtime.watchAlarms(metrics.alarmed);
  core.started();
  const running = createRunning(platform);
  const app: App = {
    runtime,
    parts,
    bodies: createBodies(CONNECTION_BOUNDS),
    answer: (ask) => answerWhileOpen(core, running, ask),
    refused: core.refused,
  };
  return {
    fetch: (request) => answerWeb(app, request),
    listener: (request, response, next) => answerNode(app, request, response, next),
    async stop(graceMs) {
      running.stop();
      runtime.release();
      await running.ended(graceMs);
      await core.close();
      load.close();
    },
  };
}

interface App {
  readonly runtime: Runtime;
  readonly bodies: Bodies;
  readonly parts: AppParts;
  answer(ask: HttpAsk): Promise<HttpAnswer>;
  readonly refused: HttpCore['refused'];
}

async function answerWhileOpen(
  core: HttpCore,
  running: Running,
  ask: HttpAsk,
): Promise<HttpAnswer> {
  const done = running.begin();
  if (!done) {
    const found = failure('service_unavailable', 'Cannot answer: the service is closed');
    return core.refused(ask, found);
  }
  const answer = await core.answer(ask);
  const { status, headers, body } = answer;
  if (typeof body === 'function') {
    return { status, headers, body: (output) => body(output).finally(done) };
  }
  done();
  return answer;
}

async function answerWeb(app: App, request: Request): Promise<Response> {
  const { platform } = app.runtime;
  const { mountedAt } = app.parts;
  const { host, protocol, pathname, search } = new URL(request.url);
  const full = `${pathname}${search}`;
  const { prefix } = mountedAt;
  // A framework may have removed the prefix.
  const within = withinPrefix(prefix, full);
  const target = within ?? rootDocument(mountedAt, full) ?? full;
  const remoteAddress = addressOf(app.parts, request);
  const { bodies } = app;
  const { ask, respond } = webExchange(request, { platform, bodies, target, remoteAddress });
  const { method, headers } = ask;
  const path = within === undefined ? `${prefix}${pathname}` : pathname;
  const asked = { method, path, headers, raw: request };
  const arrival = { host, isSecure: protocol === 'https:', localAddress: undefined };
  return respond(await app.answer(inApp(app, ask, arrival, asked)));
}

function answerNode(
  app: App,
  request: IncomingMessage,
  response: ServerResponse,
  next: (() => void) | undefined,
): void {
  const full = fullTarget(request);
  const target = targetFor(app.parts, full, next !== undefined);
  if (target === undefined && next) {
    next();
    return;
  }
  answerListened(app, request, response, { full, target })
    .then((made) => sendAnswer(made, request, response, false))
    .catch((error: unknown) => {
      app.runtime.log.error({ err: error }, 'defect');
      response.destroy();
    });
}

async function answerListened(
  app: App,
  request: IncomingMessage,
  response: ServerResponse,
  { full, target }: { readonly full: string; readonly target: string | undefined },
): Promise<HttpAnswer> {
  const ask = nodeAsk(request, response, app.bodies, target ?? full);
  const { method, headers } = ask;
  const path = requestPath(full);
  if (target === undefined) {
    const detail = `Cannot find ${method} ${path}: the service is mounted at "${app.parts.mountedAt.prefix}"`;
    return app.refused(ask, failure('not_found', detail));
  }
  const body = async (admit: Admit) => (await handedBody(request, admit)) ?? ask.body(admit);
  const asked = { method, path, headers, raw: request };
  return app.answer(inApp(app, { ...ask, body }, nodeArrival(request), asked));
}

/** The same request, with what the app adds to it. */
function inApp(
  { runtime: { platform }, parts: { mountedAt, identify } }: App,
  ask: HttpAsk,
  arrival: Arrival,
  asked: AppRequest,
): HttpAsk {
  // On this machine the pages have a name of their own, and their people call from there too.
  const isForeign = () => {
    const own = mountedAt.originFor(arrival);
    return [own, pagesUrl(own)].every((each) => isCrossSite(ask.headers, new URL(each).origin));
  };
  return {
    ...ask,
    fault: () => ask.fault?.() ?? mountedAt.foreignHost(arrival),
    body: (admit) => bodyInTime(platform, ask.body(admit)),
    identify: identify && (() => (isForeign() ? null : identify(asked))),
    person: identify && (() => identify(asked)),
  };
}

/** The target for the service; undefined for a path outside of it. */
function targetFor(
  { mountedAt, root }: AppParts,
  full: string,
  hasNext: boolean,
): string | undefined {
  const target = withinPrefix(mountedAt.prefix, full);
  if (target !== undefined) return target;
  return root || !hasNext ? rootDocument(mountedAt, full) : undefined;
}

interface Running {
  readonly platform: Platform;
  /** Counts a request. Returns what ends it; undefined when no request is taken any more. */
  begin(): (() => void) | undefined;
  stop(): void;
  /** Resolves when no request runs, or when the time is up. */
  ended(graceMs: number): Promise<void>;
}

function createRunning(platform: Platform): Running {
  let count = 0;
  let isStopped = false;
  let wake = () => {};
  const end = () => {
    count -= 1;
    if (count === 0) wake();
  };
  return {
    platform,
    begin() {
      if (isStopped) return undefined;
      count += 1;
      return end;
    },
    stop() {
      isStopped = true;
    },
    async ended(graceMs) {
      if (count === 0) return;
      const idle = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await beforeLate(platform, idle, graceMs);
    },
  };
}

/** Author code: an address that cannot be used counts as none. */
function addressOf({ address }: AppHooks, request: Request): string | undefined {
  if (!address) return undefined;
  const heard = askNow(() => address(request));
  return 'returned' in heard && typeof heard.returned === 'string' ? heard.returned : undefined;
}

/** What the client sent: frameworks remove a prefix from `url` and keep the whole in `originalUrl`. */
function fullTarget(request: IncomingMessage & { readonly originalUrl?: unknown }): string {
  const { originalUrl, url = '/' } = request;
  return typeof originalUrl === 'string' ? originalUrl : url;
}

function nodeArrival({ headers: { host }, socket }: IncomingMessage): Arrival {
  return { host, isSecure: 'encrypted' in socket, localAddress: socket.localAddress };
}
