/**
 * Opening: the resources of a service (settings, log, keys, store, mark, telemetry), and how it stops.
 *
 * The same for every transport. When a part cannot be opened, those opened before are closed again.
 *
 * @module
 */

import {
  type Config,
  type GivenSettings,
  ignoredVariables,
  loadConfig,
  samplingVariables,
  unsafeMark,
} from './config/config.ts';
import { variableAdvice } from './config/variables.ts';
import { type Keyring, openKeyring } from './keyring/keyring.ts';
import { createLog, type Logger } from './log.ts';
import { packageManifest } from './package.ts';
import { type Platform, system } from './platform.ts';
import type { ServiceDefinition } from './service/author/definition.ts';
import type { Tracer } from './service/operations/tracing.ts';
import { sealStore } from './service/rows/row-seal.ts';
import { openMark, openStore } from './storage/open.ts';
import type { MarkStore } from './storage/port/mark.ts';
import type { Store } from './storage/port/store.ts';
import type { OnStep } from './storage/port/versions.ts';
import { storeKind } from './storage/store-kind.ts';

/**
 * Options of `serve()`.
 *
 * @example
 * import type { ServeOptions } from 'writ';
 *
 * const options: ServeOptions = { settings: { port: 0, store: 'memory:' }, signals: false };
 */
export interface ServeOptions {
  /** Settings of the program itself; the environment and the configuration file take precedence. */
  readonly settings?: GivenSettings;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The base of relative paths, where `writ.config.*` is searched. */
  readonly folder?: string;
  /** Stop on SIGTERM and SIGINT, and end the process with it. */
  readonly signals?: boolean;
  readonly log?: Logger;
}

/** What is known before anything is opened. */
export interface ReadSettings {
  readonly config: Config;
  readonly log: Logger;
  readonly platform: Platform;
}

export interface OpenResources extends ReadSettings {
  readonly tracer?: Tracer | undefined;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly mark?: MarkStore | undefined;
  close(): Promise<void>;
}

/** Reads the configuration; nothing is opened yet. */
export async function readSettings(options: ServeOptions): Promise<ReadSettings> {
  const folder = options.folder ?? process.cwd();
  const config = await loadConfig(folder, options.settings, options.environment);
  const log = options.log ?? createLog(config.log_level);
  return { config, log, platform: system };
}

/** Warns of variables that look like settings and are none. */
export function tellVariables({ log }: ReadSettings, { environment }: ServeOptions): void {
  const variables = ignoredVariables(environment);
  if (variables.length === 0) return;
  const advice = variableAdvice(variables);
  log.warn({ variables, advice }, 'variables that begin with WRIT_ are no settings: ignored');
}

/** Rejects, with nothing left open, when a part cannot be opened. */
export async function openResources(
  definition: ServiceDefinition,
  { config, log, platform }: ReadSettings,
): Promise<OpenResources> {
  const keyring = await named(keySettings(config), () => openKeys(config, log, platform));
  let store: Store | undefined;
  let mark: MarkStore | undefined;
  try {
    const onStep: OnStep = (step) =>
      log.info(step, `the store ${step.moved ? 'is being' : 'was'} migrated by one step`);
    const onWarning = (message: string) => log.warn({}, message);
    const opening = { platform, onStep, onWarning };
    store = await named('WRIT_STORE or WRIT_DATA', () => openStore(config.store, opening));
    await sealStore(store, keyring.rows);
    mark = await openMarkOf(definition, config);
    const telemetry = await openTelemetry(config, definition.id, onWarning);
    const close = () =>
      closeResources({ store, keyring, mark, telemetry }).finally(() => log.flush?.());
    return { config, log, platform, tracer: telemetry?.tracer, store, keyring, mark, close };
  } catch (error) {
    await closeResources({ store, keyring, mark });
    throw error;
  }
}

/**
 * Logs once at the start where the mark is stored: only the operator knows whether that place is separate.
 */
export function tellMark({ trust }: ServiceDefinition, { config, log }: OpenResources): void {
  const { mark, store } = config;
  if (trust.level !== 'anchored') return;
  if (mark !== undefined) {
    log.info({ mark: mark.startsWith('sqlite:') ? mark : storeKind(mark) }, 'the mark of the log');
    if (mark.startsWith('sqlite:') && !/^(?:sqlite|memory):/.test(store)) {
      const advice = 'replicas on other machines need WRIT_MARK=postgres://… or witness';
      log.warn({}, `the mark of the log is a file of this machine; ${advice}`);
    }
  } else if (store === 'memory:') {
    log.info({}, 'no mark of the log: the log is in memory and ends with this process');
  } else {
    log.warn(
      {},
      'no mark of the log: the service cannot notice a restored database; set WRIT_MARK',
    );
  }
}

/** In milliseconds, after the grace of running calls: what still runs is stuck. */
const STOP_SPARE_MS = 10_000;

/** Log lines for defects after the first: a handler in a loop must not fill the log. */
const DEFECTS_LOGGED_MAX = 16;

/** What this process runs, whatever the transport. */
export interface Stoppable {
  readonly config: Pick<Config, 'stop_delay_seconds' | 'stop_grace_seconds'>;
  /** Is not ready from now on, and serves as before. Resolves when no balancer sends requests any more. */
  readonly leave?: () => Promise<void>;
  close(): Promise<void>;
}

/**
 * Ends the process on a signal, or after a defect outside any call, such as a rejected promise that a handler
 * did not await. The service takes no new work and finishes running work within its grace; a supervisor
 * restarts it where the exit code is not 0. A signal lets balancers know first; a defect does not wait for them.
 * Later defects change nothing else.
 */
export function stopOnSignals(
  running: Stoppable,
  { log, platform }: Pick<ReadSettings, 'log' | 'platform'>,
): void {
  let defects = 0;
  let isStopping = false;
  const end = () => process.exit(defects > 0 ? 1 : 0);
  const fail = (error: unknown) => {
    log.fatal({ err: error }, 'could not stop cleanly');
    process.exit(1);
  };
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= running.close();
    return closed;
  };
  const stop = (reason: string, leave = async () => {}) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ reason }, 'stopping');
    const { stop_delay_seconds, stop_grace_seconds } = running.config;
    const mostMs = (stop_delay_seconds + stop_grace_seconds) * 1_000 + STOP_SPARE_MS;
    platform.after(mostMs, () => fail(new Error(`Cannot stop within ${mostMs} ms`)));
    leave().then(close).then(end, fail);
  };
  process.once('SIGTERM', () => stop('SIGTERM', running.leave));
  process.once('SIGINT', () => stop('SIGINT', running.leave));
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    // Never removed: without a listener the next one would end the process at once.
    process.on(event, (error: unknown) => {
      defects += 1;
      if (defects <= DEFECTS_LOGGED_MAX) log.fatal({ err: error }, event);
      stop(event);
      // Where a signal was first, what it waits for is over.
      close().catch(() => undefined);
    });
  }
}

function keySettings({ token_keys }: Config): string {
  return token_keys === undefined
    ? 'WRIT_KEYS or WRIT_DATA'
    : 'WRIT_TOKEN_KEYS, WRIT_LOG_KEYS and WRIT_ROW_KEYS';
}

export function openKeys(config: Config, log: Logger, platform: Platform): Keyring {
  return openKeyring(
    config.token_keys !== undefined && config.log_keys !== undefined
      ? {
          tokenKeys: config.token_keys,
          logKeys: config.log_keys,
          rowKeys: config.row_keys,
          successors: config.successors,
        }
      : { folder: config.keys },
    {
      platform,
      now: () => new Date(platform.now()),
      tokenLifetimeMaxMs: config.max_ttl_hours * 3_600_000,
      onWarning: (message) => log.warn({}, message),
    },
  );
}

/** Opens the mark only if the service signs its log; otherwise a read-only folder must not stop the start. */
async function openMarkOf(
  { trust }: ServiceDefinition,
  config: Config,
): Promise<MarkStore | undefined> {
  if (trust.level !== 'anchored') return undefined;
  const fault = unsafeMark(config);
  if (fault) throw new Error(`Cannot start a service that other machines reach: ${fault}`);
  const { mark } = config;
  if (mark === undefined || mark === 'witness') return undefined;
  return named('WRIT_MARK', () => openMark(mark), 'Cannot open the mark of the log: ');
}

/** Adds to a failure the settings that name the part: the part itself knows no settings. */
async function named<Part>(
  settings: string,
  open: () => Part | Promise<Part>,
  before = '',
): Promise<Part> {
  try {
    return await open();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const advice = `fix that, or change ${settings}`;
    throw new Error(`${before}${why}; ${advice}`, { cause });
  }
}

/** The packages are loaded only where they are used: most services are installed without them. */
async function openTelemetry(
  { otlp_endpoint: endpoint }: Config,
  serviceId: string,
  onWarning: (message: string) => void,
) {
  if (endpoint === undefined) return undefined;
  const { exportTo } = await import('./telemetry.ts').catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const peers = Object.entries(packageManifest().peerDependencies);
    const command = `npm install ${peers.map(([name, range]) => `${name}@${range}`).join(' ')}`;
    const why = `its packages are not installed; run: ${command}, or leave the setting out`;
    throw new Error(`Cannot use OTEL_EXPORTER_OTLP_ENDPOINT: ${why}`, {
      cause,
    });
  });
  return exportTo(endpoint, serviceId, { ...samplingVariables(), onWarning });
}

/** The parts that are open so far. */
interface Opened extends Pick<OpenResources, 'keyring' | 'mark'> {
  readonly store?: Store | undefined;
  readonly telemetry?: { close(): Promise<void> } | undefined;
}

async function closeResources({ store, keyring, mark, telemetry }: Opened): Promise<void> {
  keyring.close();
  await mark?.close();
  await store?.close();
  await telemetry?.close();
}
