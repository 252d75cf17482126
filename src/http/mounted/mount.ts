/**
 * Mounting: opens a service inside an app that exists, and closes it.
 *
 * Opens store, keys and mark as `serve()` does. Listens on no port, handles no signal and never ends the
 * process: all of that is the app's.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import type { Logger } from '../../log.ts';
import {
  type OpenResources,
  openResources,
  type ReadSettings,
  readSettings,
  type ServeOptions,
  tellMark,
  tellVariables,
} from '../../open.ts';
import type { ServiceDefinition } from '../../service/author/definition.ts';
import { createRuntime } from '../../service/runtime.ts';
import { storeKind } from '../../storage/store-kind.ts';
import type { OpenSurface } from '../surface.ts';
import { type AppHooks, type AppService, openApp } from './app.ts';
import { type MountAddress, mountAddress } from './mount-address.ts';

/**
 * Options of `mount()`.
 *
 * @example
 * import type { MountOptions } from 'writ';
 *
 * const options: MountOptions = {
 *   prefix: '/desk',
 *   settings: { public_url: 'https://shop.example/desk' },
 *   cors: { origins: ['https://app.example'] },
 * };
 */
export interface MountOptions extends Omit<ServeOptions, 'signals'>, AppHooks {
  /** The whole path of the service in the app, such as `/desk`. */
  readonly prefix: string;
  /** The same as the setting `cors_origins`. */
  readonly cors?: { readonly origins: readonly string[] };
}

/**
 * A service in an app.
 *
 * @example
 * import type { MountedService } from 'writ';
 *
 * const answer = (desk: MountedService, request: Request) => desk.fetch(request);
 */
export interface MountedService extends Pick<AppService, 'fetch' | 'listener'> {
  readonly config: Config;
  readonly log: Logger;
  /** Takes no new request, finishes running ones, then closes store and keys. */
  close(): Promise<void>;
}

/** Rejects, with nothing left open, when the service cannot be mounted. */
export async function mount(
  definition: ServiceDefinition,
  options: MountOptions,
  surfaces: readonly OpenSurface[] = [],
): Promise<MountedService> {
  const { cors, settings } = options;
  const given = cors ? { ...settings, cors_origins: [...cors.origins] } : { ...settings };
  const read = await readSettings({ ...options, settings: given });
  const mountedAt = mountAddress(options.prefix, read.config.public_url);
  refuseUnknownReach(read.config, mountedAt);
  tellIgnored(read);
  tellVariables(read, options);
  const opened = await openResources(definition, read);
  try {
    return await open(definition, opened, { options, surfaces, mountedAt });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

interface Mounting {
  readonly options: MountOptions;
  readonly surfaces: readonly OpenSurface[];
  readonly mountedAt: MountAddress;
}

async function open(
  definition: ServiceDefinition,
  opened: OpenResources,
  { options, surfaces, mountedAt }: Mounting,
): Promise<MountedService> {
  const { config, log, platform } = opened;
  const { baseUrl, basePath, prefix } = mountedAt;
  const isIdentifiedByApp = options.identify !== undefined;
  const given = { ...opened, definition, isIdentifiedByApp };
  const runtime = await createRuntime({ ...given, baseUrl, basePath });
  let app: AppService;
  try {
    const made = surfaces.map((make) => make(runtime));
    app = openApp(runtime, { ...options, mountedAt, surfaces: made });
  } catch (error) {
    await runtime.close(0);
    throw error;
  }
  log.info({ service: definition.id, prefix, store: storeKind(config.store) }, 'mounted');
  tellMark(definition, opened);

  let closed: Promise<void> | undefined;
  const close = async () => {
    const graceMs = config.stop_grace_seconds * 1_000;
    const begun = platform.monotonic();
    await app.stop(graceMs);
    // One grace period: what the requests took is not given to other calls again.
    await runtime.close(Math.max(0, graceMs - (platform.monotonic() - begun)));
    await opened.close();
    log.info({ service: definition.id }, 'closed');
  };
  return {
    fetch: app.fetch,
    listener: app.listener,
    config,
    log,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/**
 * Refuses what is accepted on loopback only, unless the public address says that the app is there: the
 * service does not see where the app listens.
 */
function refuseUnknownReach(
  { public_url, identities, rate_limits }: Config,
  mountedAt: MountAddress,
) {
  if (public_url !== undefined) return;
  const demo = identities.filter((identity) => identity.demo).map(({ principal }) => principal);
  const loose = [
    ...(demo.length > 0 ? [`the demo credentials of ${demo.join(', ')}`] : []),
    ...(rate_limits === 'off' ? ['WRIT_RATE_LIMITS=off'] : []),
  ];
  if (loose.length === 0) return;
  const why =
    'it is accepted on a loopback address only, and WRIT_PUBLIC_URL does not say where the app is';
  const advice = `set it, such as http://127.0.0.1:3000${mountedAt.prefix}`;
  throw new Error(`Cannot mount with ${loose.join(' and ')}: ${why}; ${advice}`);
}

function tellIgnored({ config: { workers, public_url }, log }: ReadSettings): void {
  if (workers > 1) {
    log.warn({ workers }, 'WRIT_WORKERS is ignored: the app decides how many processes run');
  }
  if (public_url === undefined) {
    log.warn({}, 'no WRIT_PUBLIC_URL: the service answers on loopback names only');
  }
}
