/**
 * Reloading: another definition takes over a service that listens, without a restart.
 *
 * The runtime of the other definition works on the same store and keys as a replica would. New requests go to it as
 * soon as it can take calls. The runtime before it finishes the requests that it has, then its calls, and ends like a
 * replica that stops. When the other runtime cannot start, the one before it goes on.
 *
 * @module
 */

import type { Logger } from '../log.ts';
import type { ServiceDefinition } from '../service/author/definition.ts';
import type { Runtime } from '../service/runtime.ts';
import type { HttpServer } from './server.ts';
import type { OpenSurface } from './surface.ts';

/**
 * Runtimes that finish their requests at the same time. Each has its own background tasks, and one long call keeps
 * it. The oldest gives way to another reload: its calls go on, and count as those of a process that died.
 */
const RETIRING_MAX = 8;

export interface ReloadOptions {
  readonly app: Pick<HttpServer, 'replace'>;
  /** What runs now. */
  readonly definition: ServiceDefinition;
  readonly runtime: Runtime;
  readonly surfaces: readonly OpenSurface[];
  readonly graceMs: number;
  readonly log: Logger;
  /** Makes the runtime of another definition, over the same resources. */
  open(definition: ServiceDefinition): Promise<Runtime>;
}

export interface Reloading {
  /** The runtime that takes new requests. */
  current(): Runtime;
  /** Resolves when the definition takes new requests. One at a time, in the order of the calls. */
  reload(definition: ServiceDefinition): Promise<void>;
  /** From now on every reload is refused. */
  stop(): void;
  /** Closes all runtimes. Called when no connection is open. */
  close(graceMs: number): Promise<void>;
}

export function createReloading(options: ReloadOptions): Reloading {
  const { app, definition, surfaces, graceMs, log, open } = options;
  const retiring = new Set<Retiring>();
  let current = options.runtime;
  let isStopped = false;
  let turn: Promise<unknown> = Promise.resolve();

  const refuse = (next: ServiceDefinition) => {
    const why = isStopped ? 'the service is closed' : unfitFor(definition, next);
    if (why !== undefined) throw new Error(`Cannot reload "${definition.id}": ${why}`);
  };
  const takeOver = async (next: ServiceDefinition) => {
    refuse(next);
    await makeRoom(retiring);
    const runtime = await open(next);
    try {
      // The service may have been closed while the runtime started.
      refuse(next);
      const answered = app.replace(
        runtime,
        surfaces.map((make) => make(runtime)),
      );
      retire(retiring, { runtime: current, answered, graceMs, log });
    } catch (error) {
      await runtime.close(0);
      throw error;
    }
    current = runtime;
    log.info({ service: definition.id }, 'reloaded');
  };
  return {
    current: () => current,
    reload(next) {
      const done = turn.then(() => takeOver(next));
      turn = done.catch(() => undefined);
      return done;
    },
    stop() {
      isStopped = true;
    },
    async close(leftMs) {
      await turn;
      const ending = [...retiring].map(({ close }) => close(leftMs));
      await Promise.all([...ending, current.close(leftMs)]);
    },
  };
}

/** Why the resources of one definition do not serve another. */
function unfitFor(now: ServiceDefinition, next: ServiceDefinition): string | undefined {
  if (next.id !== now.id) return `the definition is of "${next.id}"`;
  if (next.trust.level === now.trust.level) return undefined;
  // The mark of the log is opened at the start, for an anchored service alone.
  return `its trust level changes from ${now.trust.level} to ${next.trust.level}; restart the service`;
}

/** A runtime that gets no new request. */
interface Retiring {
  /**
   * Closes it, whether or not its requests are answered. The first call decides how long its calls have. Never
   * rejects.
   */
  close(graceMs: number): Promise<void>;
}

function retire(retiring: Set<Retiring>, { runtime, answered, graceMs, log }: RetireOptions): void {
  const failed = (error: unknown) =>
    log.error({ err: error }, 'could not end the definition before a reload');
  let closed: Promise<void> | undefined;
  const retired: Retiring = {
    close(leftMs) {
      closed ??= runtime.close(leftMs).catch(failed);
      return closed;
    },
  };
  retiring.add(retired);
  void answered
    .catch(failed)
    .then(() => retired.close(graceMs))
    .finally(() => retiring.delete(retired));
}

interface RetireOptions extends Pick<ReloadOptions, 'graceMs' | 'log' | 'runtime'> {
  /** Resolves when all its requests are answered. */
  readonly answered: Promise<void>;
}

async function makeRoom(retiring: Set<Retiring>): Promise<void> {
  for (const oldest of retiring) {
    if (retiring.size < RETIRING_MAX) return;
    await oldest.close(0);
    retiring.delete(oldest);
  }
}
