/**
 * Serving: opens what a service needs, listens, and stops without cutting a request.
 *
 * @module
 */

import type { Server } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type Config, type GivenSettings, loadConfig } from '../config.ts';
import { isLoopback } from '../domain/host.ts';
import { type Keyring, openKeyring } from '../keyring/keyring.ts';
import { createLog, type Logger } from '../log.ts';
import type { ServiceDefinition } from '../service/definition.ts';
import { createRuntime, type Runtime } from '../service/runtime.ts';
import type { Tracer } from '../service/tracing.ts';
import { type MarkStore, openMark } from '../storage/mark.ts';
import { openStore } from '../storage/open.ts';
import type { Store } from '../storage/store.ts';
import { isOwed } from './client-error.ts';
import { STOP_ARRIVAL_MS, STOP_PAUSE_MS, STOP_POLL_MS } from './limits.ts';
import { createHttpServer } from './server.ts';
import type { Surface } from './surface.ts';

export interface ServeOptions {
  /** Settings of the program itself; the environment and the configuration file win over them. */
  readonly settings?: GivenSettings;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths begin and `writ.config.*` is looked for. */
  readonly folder?: string;
  /** Stop on SIGTERM and SIGINT, and end the process with it. */
  readonly signals?: boolean;
  readonly log?: Logger;
}

export interface RunningService {
  readonly url: string;
  readonly config: Config;
  readonly log: Logger;
  /** Takes no new request, finishes those in work, closes the store. */
  close(): Promise<void>;
}

/** Makes a surface once there is a runtime to ask. */
export type OpenSurface = (runtime: Runtime) => Surface;

/** Runs a service over HTTP. Rejects, with nothing left open, when it cannot. */
export async function serve(
  definition: ServiceDefinition,
  options: ServeOptions = {},
  surfaces: readonly OpenSurface[] = [],
): Promise<RunningService> {
  const folder = options.folder ?? process.cwd();
  const config = await loadConfig(folder, options.settings, options.environment);
  const log = options.log ?? createLog(config.log_level);
  const opened = { ...(await openParts(config, log, definition)), surfaces };
  try {
    const running = await listen(definition, config, log, opened);
    if (options.signals ?? true) stopOnSignals(running, log);
    return running;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

interface Parts {
  readonly tracer?: Tracer | undefined;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly mark?: MarkStore | undefined;
  close(): Promise<void>;
}

/** As far as opening came. */
interface OpenParts extends Pick<Parts, 'keyring' | 'mark'> {
  readonly store?: Store | undefined;
  readonly telemetry?: { close(): Promise<void> } | undefined;
}

async function openParts(
  config: Config,
  log: Logger,
  definition: ServiceDefinition,
): Promise<Parts> {
  const keyring = await openKeyring(
    config.token_keys !== undefined && config.log_keys !== undefined
      ? { tokenKeys: config.token_keys, logKeys: config.log_keys }
      : { folder: config.keys },
    {
      now: () => new Date(),
      tokenLifetimeMaxMs: config.max_ttl_hours * 3_600_000,
      onWarning: (message) => log.warn({}, message),
    },
  );
  let store: Store | undefined;
  let mark: MarkStore | undefined;
  try {
    store = await openStore(config.store);
    mark = await openMarkOf(definition, config);
    const telemetry = await openTelemetry(config, definition.id);
    const close = () => closeParts({ store, keyring, mark, telemetry });
    return { tracer: telemetry?.tracer, store, keyring, mark, close };
  } catch (error) {
    await closeParts({ store, keyring, mark });
    throw error;
  }
}

/** Only where something is signed: a folder that nobody may write to is no obstacle elsewhere. */
async function openMarkOf(
  { trust }: ServiceDefinition,
  { mark }: Config,
): Promise<MarkStore | undefined> {
  if (trust.level !== 'anchored' || mark === undefined) return undefined;
  try {
    return await openMark(mark);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(`Cannot open the mark of the log: ${why}; WRIT_MARK names its place`, {
      cause,
    });
  }
}

async function closeParts({ store, keyring, mark, telemetry }: OpenParts): Promise<void> {
  keyring.close();
  await mark?.close();
  await store?.close();
  await telemetry?.close();
}

/** The packages are loaded only where they are used: most services start without them. */
async function openTelemetry({ otlp_endpoint: endpoint }: Config, serviceId: string) {
  if (endpoint === undefined) return undefined;
  const { exportTo } = await import('../telemetry.ts');
  return exportTo(endpoint, serviceId);
}

/** Where the mark is kept, once at the start: only its owner knows whether that place is apart. */
function tellMark({ trust }: ServiceDefinition, { mark, store }: Config, log: Logger): void {
  if (trust.level !== 'anchored') return;
  if (mark !== undefined) {
    log.info({ mark: mark.startsWith('sqlite:') ? mark : storeKind(mark) }, 'the mark of the log');
  } else if (store === 'memory:') {
    log.info({}, 'no mark of the log: it ends with this process');
  } else {
    log.warn({}, 'no mark of the log: a restored database would go unnoticed; set WRIT_MARK');
  }
}

async function listen(
  definition: ServiceDefinition,
  config: Config,
  log: Logger,
  { surfaces, ...parts }: Parts & { readonly surfaces: readonly OpenSurface[] },
): Promise<RunningService> {
  // The manifest names the address, and a free port is known only once the server listens.
  let baseUrl = config.public_url ?? urlOf(config.host, config.port);
  const runtime = await createRuntime({
    ...parts,
    definition,
    config,
    log,
    baseUrl: () => baseUrl,
  });
  const opened = surfaces.map((open) => open(runtime));
  const app = createHttpServer(runtime, undefined, opened);
  closeGracefully(app, config.stop_grace_seconds * 1_000);
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (cause) {
    await app.close();
    await runtime.close();
    const place = `${config.host}:${config.port}`;
    throw new Error(`Cannot listen on ${place}: ${(cause as NodeJS.ErrnoException).code}`, {
      cause,
    });
  }
  const { port } = app.server.address() as AddressInfo;
  const url = urlOf(config.host, port);
  baseUrl = config.public_url ?? url;
  log.info({ service: definition.id, url, store: storeKind(config.store) }, 'listening');
  tellMark(definition, config, log);
  if (!isLoopback(config.host)) log.info({ host: config.host }, 'reachable from other machines');

  let closed: Promise<void> | undefined;
  const close = async () => {
    await app.close();
    await runtime.close();
    await parts.close();
    log.info({ service: definition.id }, 'stopped');
  };
  return {
    url,
    config,
    log,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/**
 * Stops without cutting a request. The port closes first, so that a client that comes now is refused
 * before it has sent anything. From then on every answer says `connection: close`, and busy
 * connections end by themselves. A connection that is idle may have a request on its way, so it gets
 * a moment to arrive before idle ones are closed; what is still there after the grace period is cut.
 */
function closeGracefully(app: FastifyInstance, graceMs: number): void {
  let stopping = false;
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  app.addHook('onSend', async (_request, reply) => {
    if (stopping) reply.header('connection', 'close');
  });
  app.addHook('preClose', async () => {
    stopping = true;
    const server = app.server as Server;
    // Not the server's own `close`, which closes idle connections in the same breath.
    NetServer.prototype.close.call(server);
    if (sockets.size > 0) await pause(STOP_PAUSE_MS);
    const begun = Date.now();
    const poll = setInterval(() => {
      server.closeIdleConnections();
      // Node does not count as idle what has never said a word, or not a whole one.
      const late = Date.now() - begun > STOP_ARRIVAL_MS;
      for (const socket of sockets) {
        if (socket.bytesRead === 0 || (late && !isOwed(socket))) socket.destroy();
      }
    }, STOP_POLL_MS);
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.once('close', () => {
      clearInterval(poll);
      clearTimeout(cut);
    });
  });
}

function stopOnSignals(running: RunningService, log: Logger): void {
  const stop = (reason: string, code: number) => {
    log.info({ reason }, 'stopping');
    running.close().then(
      () => process.exit(code),
      (error) => {
        log.fatal({ err: error }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', () => stop('SIGTERM', 0));
  process.once('SIGINT', () => stop('SIGINT', 0));
  // After a defect that nobody caught the state is unknown: finish what is safe, then end.
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.once(event, (error) => {
      log.fatal({ err: error }, event);
      stop(event, 1);
    });
  }
}

function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** Never the whole address: it may carry a password. */
function storeKind(store: string): string {
  return store.split(':', 1)[0] as string;
}
