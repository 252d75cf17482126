/**
 * `writ serve`: serves the service that a file defines, over HTTP.
 *
 * Settings come from the environment and the configuration file of the working folder, as for every service.
 *
 * @module
 */

import { resolve } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import { type RunningService, serve } from '../../index.ts';
import { system } from '../../platform.ts';
import { type Io, leaf } from '../shell/command.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { flag, needed } from '../shell/options.ts';
import { type FileWatch, watchFiles } from '../shell/watch.ts';
import { faultLines, loadDefinition } from './definition.ts';
import { openFreshImports } from './module.ts';

export const SERVED_FILE = needed('<file>', 'a module that exports a service');

export const serveCommand = leaf({
  name: 'serve',
  summary: 'serve the service that a file defines',
  about: `Imports a module with "export const service = createService(…)" and serves it over HTTP, with its console and MCP, until SIGTERM or SIGINT. A file with one service may export it by any name. TypeScript needs the package tsx, or Node 22.18 or later.

Settings come from the environment and from writ.config.* in the working folder. Prints the addresses on standard output. The log of the service goes to standard error, as lines of JSON. With WRIT_WORKERS several processes share the port.`,
  operands: { file: SERVED_FILE },
  options: {
    watch: flag('serve the changed service when the file, or one that it imports, changes'),
  },
  examples: [
    ['writ serve src/service.ts', 'on port 8420 of this machine'],
    ['PORT=8080 WRIT_LOG_LEVEL=warn writ serve service.mjs', 'with other settings'],
    ['writ serve src/service.ts --watch', 'while you write it'],
  ],
  exits: [
    [EXIT_OK, 'a signal stopped it'],
    [EXIT_FOUND, 'code of the service failed outside any call, or it could not stop in time'],
    [EXIT_FAILED, 'the file, its service or the configuration is wrong, or the port is taken'],
  ],
  cannot: 'serve',
  async run({ file, watch }, io) {
    // Code of the file may keep the process alive.
    io.endAfter?.();
    try {
      const running = await (watch ? startWatched(file, io) : start(file, io));
      if (!running.isWorker) io.out(addresses(running));
    } catch (error) {
      io.err(faultLines(`Cannot serve "${file}"`, error));
      return EXIT_FAILED;
    }
    // A signal ends the process.
    return new Promise<never>(() => {});
  },
});

async function start(file: string, io: Io): Promise<RunningService> {
  return serve(await loadDefinition(file), { environment: io.env });
}

async function startWatched(file: string, io: Io): Promise<RunningService> {
  const { workers } = await loadConfig(process.cwd(), {}, io.env);
  if (workers === 1) return serveWatched(file, io);
  throw new Error('--watch is for one process; leave out WRIT_WORKERS');
}

function addresses({ url, pagesUrl, config }: RunningService): string {
  const base = config.public_url ?? url;
  return `Serving at ${base} (console: ${pagesUrl}/console/, MCP: ${base}/mcp)\n`;
}

/**
 * Serves a file that changes: each changed definition takes over without a restart. A faulty one is reported, and the
 * definition before it goes on.
 */
async function serveWatched(file: string, io: Io): Promise<RunningService> {
  const files = new Set([resolve(file)]);
  let watch: FileWatch | undefined;
  let isChanged = false;
  let isReloading = false;

  const follow = () => {
    watch?.close();
    watch = watchFiles([...files], system, () => void reload());
  };
  const importFile = openFreshImports((path) => {
    if (files.has(path)) return;
    files.add(path);
    // Before the start there is nothing to follow yet.
    if (watch) follow();
  });
  const running = await serve(await loadDefinition(file, importFile), { environment: io.env });

  /** One at a time. What changes meanwhile is loaded afterwards. */
  async function reload(): Promise<void> {
    isChanged = true;
    if (isReloading) return;
    isReloading = true;
    while (isChanged) {
      isChanged = false;
      await reloadOnce();
    }
    isReloading = false;
  }

  async function reloadOnce(): Promise<void> {
    try {
      await running.reload(await loadDefinition(file, importFile));
      io.out(`Reloaded "${file}"\n`);
    } catch (error) {
      io.err(faultLines(`Cannot reload "${file}" (the service goes on as before)`, error));
    }
  }

  follow();
  return running;
}
