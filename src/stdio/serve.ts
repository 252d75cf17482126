/**
 * Serves on standard input and output, for a client that starts the service as a child process.
 *
 * Standard output carries only JSON-RPC: other output of the process, such as
 * what a handler prints, goes to standard error instead.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream';
import type { Config } from '../config/config.ts';
import type { Logger } from '../log.ts';
import {
  type OpenResources,
  openResources,
  readSettings,
  type ServeOptions,
  stopOnSignals,
  tellMark,
  tellVariables,
} from '../open.ts';
import type { ServiceDefinition } from '../service/author/definition.ts';
import { createRuntime } from '../service/runtime.ts';
import { storeKind } from '../storage/store-kind.ts';
import { serveConversation } from './server.ts';

/**
 * Options of `serveStdio()`.
 *
 * @example
 * import { PassThrough } from 'node:stream';
 * import type { StdioOptions } from 'writ';
 *
 * const options: StdioOptions = { input: new PassThrough(), output: new PassThrough() };
 */
export interface StdioOptions extends ServeOptions {
  /** By default those of the process. */
  readonly input?: Readable;
  readonly output?: Writable;
}

/**
 * A service on a pipe.
 *
 * @example
 * import type { StdioService } from 'writ';
 *
 * const untilClosed = ({ ended }: StdioService) => ended;
 */
export interface StdioService {
  readonly config: Config;
  readonly log: Logger;
  /** Resolves when the client closed its end, all calls are finished, and the service is closed. */
  readonly ended: Promise<void>;
  /** Takes no new request, finishes the running ones, closes the store. */
  close(): Promise<void>;
}

/**
 * Runs a service over a pipe. Rejects, with nothing left open, when it cannot.
 *
 * @example
 * import { PassThrough } from 'node:stream';
 * import { createService, serveStdio } from 'writ';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const pipe = { input: new PassThrough(), output: new PassThrough() };
 * const running = await serveStdio(service, {
 *   ...pipe,
 *   settings: { store: 'memory:' },
 *   signals: false,
 * });
 * await running.close();
 */
export async function serveStdio(
  definition: ServiceDefinition,
  options: StdioOptions = {},
): Promise<StdioService> {
  const read = await readSettings(options);
  tellVariables(read, options);
  const parts = await openResources(definition, read);
  try {
    const running = await start(definition, parts, options);
    if (options.signals ?? true) stopOnSignals(running, parts);
    return running;
  } catch (error) {
    await parts.close();
    throw error;
  }
}

async function start(
  definition: ServiceDefinition,
  parts: OpenResources,
  { input = process.stdin, output = process.stdout }: StdioOptions,
): Promise<StdioService> {
  const { config, log, platform } = parts;
  // Documents name where keys are found. Without an address there is only this pipe.
  const baseUrl = () => config.public_url ?? 'stdio:';
  const runtime = await createRuntime({ ...parts, definition, baseUrl });
  const conversation = serveConversation(runtime, { input, output });
  const restore = output === process.stdout ? divert() : () => {};
  log.info({ service: definition.id, store: storeKind(config.store) }, 'listening on stdio');
  tellMark(definition, parts);

  const graceMs = config.stop_grace_seconds * 1_000;
  let stopBy = Number.POSITIVE_INFINITY;
  const ended = conversation.ended.then(async () => {
    restore();
    // One grace for all of it: what the answers took of it, calls without a reader do not have.
    await runtime.close(Math.min(graceMs, Math.max(0, stopBy - platform.monotonic())));
    log.info({ service: definition.id }, 'stopped');
    await parts.close();
  });
  return {
    config,
    log,
    ended,
    close() {
      stopBy = Math.min(stopBy, platform.monotonic() + graceMs);
      conversation.stop(graceMs);
      return ended;
    },
  };
}

/** Redirects all other output of the process from standard output to standard error. */
function divert(): () => void {
  const { stdout, stderr } = process;
  const write = stdout.write;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return () => {
    stdout.write = write;
  };
}
