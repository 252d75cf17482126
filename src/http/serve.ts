/**
 * Serving over HTTP: listens, and stops without cutting a request.
 *
 * @module
 */

import type { Server } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { isLoopback, pagesUrl } from '../address/host.ts';
import type { Config } from '../config/config.ts';
import type { Logger } from '../log.ts';
import {
  type OpenResources,
  openResources,
  type ReadSettings,
  readSettings,
  type ServeOptions,
  type Stoppable,
  stopOnSignals,
  tellMark,
  tellVariables,
} from '../open.ts';
import { type Platform, pause } from '../platform.ts';
import type { ServiceDefinition } from '../service/author/definition.ts';
import type { OwnAct } from '../service/caller/own-act.ts';
import { createPrincipalPacer } from '../service/pace/rate.ts';
import { createRuntime } from '../service/runtime.ts';
import { storeKind } from '../storage/store-kind.ts';
import { isOwed } from './bounds/connection.ts';
import { STOP_ARRIVAL_MS, STOP_PAUSE_MS, STOP_POLL_MS } from './bounds/limits.ts';
import { createReloading } from './reload.ts';
import { createHttpServer } from './server.ts';
import type { OpenSurface } from './surface.ts';
import { endWorker, isWatched, isWorker, startWorkers, watchesWorkers } from './workers.ts';

/**
 * A service that listens.
 *
 * @example
 * import { createService, type RunningService } from 'writ';
 *
 * async function offerNothing(running: RunningService) {
 *   await running.reload(createService({ id: 'demo', capabilities: [] }));
 *   return running.url;
 * }
 */
export interface RunningService {
  readonly url: string;
  /** Where people open its pages. On loopback this is a name, because a passkey cannot belong to an address. */
  readonly pagesUrl: string;
  readonly config: Config;
  readonly log: Logger;
  /** One of several processes: another watches over it, and says where the service is. */
  readonly isWorker: boolean;
  /**
   * Another definition of the same service takes over without a restart. Resolves when new requests go to it; those
   * in work are finished by the definition before it. Rejects, and changes nothing, when the definition has another
   * id or trust level, or cannot start. Concerns this process alone: each of several workers reloads by itself.
   */
  reload(definition: ServiceDefinition): Promise<void>;
  /** Takes no new request, finishes those in work, closes the store. */
  close(): Promise<void>;
}

/** A service that listens, as other layers of this package use it. */
export interface ServedService extends RunningService, Pick<Stoppable, 'leave'> {
  /** Appends the entry of an act of the service itself. */
  record(act: OwnAct): Promise<void>;
}

/** Runs a service over HTTP. Rejects, with nothing left open, when it cannot. */
export async function serve(
  definition: ServiceDefinition,
  options: ServeOptions = {},
  surfaces: readonly OpenSurface[] = [],
): Promise<ServedService> {
  const read = await readSettings(options);
  if (!isWatched(read.config)) tellVariables(read, options);
  if (watchesWorkers(read.config)) return serveByWorkers(read, options);
  try {
    const running = await open(definition, read, surfaces);
    // The process that started a worker always stops it with a signal.
    if (isWorker() || (options.signals ?? true)) stopOnSignals(running, read);
    return running;
  } catch (error) {
    endWorker();
    throw error;
  }
}

async function open(
  definition: ServiceDefinition,
  read: ReadSettings,
  surfaces: readonly OpenSurface[],
): Promise<ServedService> {
  const opened = { ...(await openResources(definition, read)), surfaces };
  try {
    return await listen(definition, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function serveByWorkers(
  { config, log, platform }: ReadSettings,
  { signals = true }: ServeOptions,
): Promise<ServedService> {
  const failed = () => {
    log.fatal({}, 'workers keep exiting; see their log lines');
    void workers.close().finally(() => process.exit(1));
  };
  const workers = startWorkers(config, log, failed);
  // The first worker serves while the others still start: a stop at that time drains it, too.
  if (signals) stopOnSignals({ config, close: workers.close }, { log, platform });
  const url = urlOf(config.host, await workers.port);
  const running: ServedService = {
    url,
    pagesUrl: pagesUrl(config.public_url ?? url),
    config,
    log,
    isWorker: false,
    reload: async () => ofWorkers('reload'),
    record: async () => ofWorkers('record an act'),
    close: workers.close,
  };
  return running;
}

/** This process has no runtime: its workers have. */
function ofWorkers(what: string): never {
  throw new Error(`Cannot ${what} here: this process only watches its workers`);
}

async function listen(
  definition: ServiceDefinition,
  { surfaces, ...parts }: OpenResources & { readonly surfaces: readonly OpenSurface[] },
): Promise<ServedService> {
  const { config, log, platform } = parts;
  // The manifest names the address, and a free port is known only once the server listens.
  let baseUrl = config.public_url ?? urlOf(config.host, config.port);
  const pacer = createPrincipalPacer(config);
  const openRuntime = (each: ServiceDefinition) =>
    createRuntime({ ...parts, definition: each, pacer, baseUrl: () => baseUrl });
  const runtime = await openRuntime(definition);
  const opened = surfaces.map((open) => open(runtime));
  const app = createHttpServer(runtime, undefined, opened);
  const graceMs = config.stop_grace_seconds * 1_000;
  const drain = drainOf(app.server, platform, graceMs);
  const reloading = createReloading({
    app,
    definition,
    runtime,
    surfaces,
    graceMs,
    log,
    open: openRuntime,
  });
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (cause) {
    await app.close();
    await runtime.close();
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    const why = LISTEN_FAULTS[code] ?? code;
    throw new Error(`Cannot listen on ${config.host}:${config.port}: ${why}`, { cause });
  }
  const { port } = app.server.address() as AddressInfo;
  const url = urlOf(config.host, port);
  baseUrl = config.public_url ?? url;
  log.info({ service: definition.id, url, store: storeKind(config.store) }, 'listening');
  tellMark(definition, parts);
  if (!isLoopback(config.host)) log.info({ host: config.host }, 'reachable from other machines');

  let closed: Promise<void> | undefined;
  const close = async () => {
    const begun = platform.monotonic();
    reloading.stop();
    await app.close(drain);
    // One grace period: what closing the connections took is not given to other calls again.
    await reloading.close(Math.max(0, graceMs - (platform.monotonic() - begun)));
    await parts.close();
    log.info({ service: definition.id }, 'stopped');
  };
  return {
    url,
    pagesUrl: pagesUrl(baseUrl),
    config,
    log,
    isWorker: isWorker(),
    reload: reloading.reload,
    record: (act) => reloading.current().record(act),
    async leave() {
      app.leave();
      if (config.stop_delay_seconds > 0) await pause(platform, config.stop_delay_seconds * 1_000);
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}

const NO_ADDRESS = 'this machine has no such address; set HOST';

const LISTEN_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not; set PORT to 1024 or more',
  EADDRINUSE:
    'another program listens there; stop it, or set PORT to another port (0 takes a free one)',
  EADDRNOTAVAIL: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
};

/**
 * Stops without cutting a request. The port closes first, so that a client that comes now is refused
 * before it has sent anything. From then on every answer says `connection: close`, and busy
 * connections end by themselves. A connection that is idle may have a request on its way, so it gets
 * a moment to arrive before idle ones are closed; what is still there after the grace period is cut.
 */
function drainOf(server: Server, platform: Platform, graceMs: number): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async () => {
    // Not the server's own `close`, which also closes idle connections at once.
    NetServer.prototype.close.call(server);
    if (sockets.size > 0) await pause(platform, STOP_PAUSE_MS);
    const begun = platform.monotonic();
    const poll = platform.every(STOP_POLL_MS, () => {
      server.closeIdleConnections();
      // Node does not count a connection as idle before its first complete request.
      const late = platform.monotonic() - begun > STOP_ARRIVAL_MS;
      for (const socket of sockets) {
        if (socket.bytesRead === 0 || (late && !isOwed(socket))) socket.destroy();
      }
    });
    const cut = platform.after(graceMs, () => server.closeAllConnections());
    server.once('close', () => {
      platform.cancel(poll);
      platform.cancel(cut);
    });
  };
}

function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
