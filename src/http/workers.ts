/**
 * Several processes of one service behind one port: this process starts them, replaces one that dies,
 * and stops them all. It answers no request itself.
 *
 * They share nothing but the store and the keys, as replicas on other machines do, so nothing is
 * decided here. The first starts alone: it makes keys and tables where there are none.
 *
 * @module
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import type { Logger } from '../log.ts';

/** In milliseconds: a worker that dies at once must not be started in a tight loop. */
const RESTART_MS = 1_000;

/** Deaths in a minute. After more of them the service ends, so that its operator sees the defect. */
const DEATHS_MAX = 5;
const DEATHS_MS = 60_000;

/** In milliseconds, after the grace that requests in work have: a worker that still lives is stuck. */
const STOP_SPARE_MS = 5_000;

export interface Workers {
  /** Resolves when every worker listens. Rejects, with nothing left running, when one cannot. */
  readonly port: Promise<number>;
  /** Resolves when every worker has finished its requests and ended. */
  close(): Promise<void>;
}

/** Whether this process starts workers and serves nothing itself. */
export function watchesWorkers({ workers }: Pick<Config, 'workers'>): boolean {
  return workers > 1 && cluster.isPrimary;
}

/** Whether another process of this service started this one, and has read the same settings. */
export function isWatched({ workers }: Pick<Config, 'workers'>): boolean {
  return workers > 1 && cluster.isWorker;
}

export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Disconnects a worker that could not start: the channel to its parent would keep it alive. */
export function endWorker(): void {
  if (cluster.isWorker) process.channel?.unref();
}

/** Rejects, with no worker left, when one cannot start. Calls `onFailed` when they keep dying. */
export function startWorkers(
  {
    workers: count,
    stop_delay_seconds,
    stop_grace_seconds,
  }: Pick<Config, 'workers' | 'stop_delay_seconds' | 'stop_grace_seconds'>,
  log: Logger,
  onFailed: () => void,
): Workers {
  const living = new Set<Worker>();
  const deaths: number[] = [];
  let isServing = false;
  let isStopping = false;

  function start(): Promise<number> {
    const worker = cluster.fork();
    living.add(worker);
    const { pid } = worker.process;
    log.info({ pid }, 'worker started');
    worker.once('exit', (code, signal) => {
      living.delete(worker);
      if (isStopping) return;
      log.error({ pid, code, signal }, 'worker ended');
      // During the start, a worker that ends makes the start fail.
      if (isServing) void replace();
    });
    return portOf(worker);
  }

  async function replace(): Promise<void> {
    const now = Date.now();
    deaths.push(now);
    if (deaths.filter((at) => at > now - DEATHS_MS).length > DEATHS_MAX) return onFailed();
    await pause(RESTART_MS);
    if (!isStopping) await start().catch(() => undefined);
  }

  async function close(): Promise<void> {
    isStopping = true;
    const ends = [...living].map((worker) => once(worker, 'exit'));
    for (const worker of living) worker.process.kill('SIGTERM');
    const late = setTimeout(
      () => {
        for (const worker of living) worker.process.kill('SIGKILL');
      },
      (stop_delay_seconds + stop_grace_seconds) * 1_000 + STOP_SPARE_MS,
    );
    await Promise.all(ends);
    clearTimeout(late);
  }

  async function startAll(): Promise<number> {
    try {
      const port = await start();
      await Promise.all(Array.from({ length: count - 1 }, start));
      isServing = true;
      return port;
    } catch (error) {
      // A stop during the start ends workers that do not listen yet; it ends this process, too.
      if (isStopping) return new Promise(() => undefined);
      await close();
      throw error;
    }
  }

  return { port: startAll(), close };
}

/** The port a worker listens on; a worker that cannot start says why itself. */
function portOf(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port));
    worker.once('exit', () => reject(new Error('Cannot start: a worker ended before it listened')));
  });
}
