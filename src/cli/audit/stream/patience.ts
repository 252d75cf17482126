/**
 * Patience: repeats what failed for a while, with growing pauses. One line says that it waits, and why.
 *
 * @module
 */

import type { Client } from '../../../client/index.ts';
import { backoffMs, type Pause } from '../../../client/pace.ts';
import { credentialFor } from '../../login/session.ts';
import type { Io } from '../../shell/command.ts';
import { CommandFault, EXIT_UNAVAILABLE } from '../../shell/exit.ts';

/** In milliseconds: a longer pause that the other side asks for is cut. */
const PAUSE_MAX_MS = 300_000;

/** The other side is busy or does not answer: the same request may succeed later. */
export class Busy extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, { retryAfterMs = 0, ...options }: BusyOptions = {}) {
    super(message, options);
    this.name = 'Busy';
    this.retryAfterMs = retryAfterMs;
  }
}

interface BusyOptions extends ErrorOptions {
  readonly retryAfterMs?: number | undefined;
}

export interface Patience {
  /** Aborts when the command is asked to stop. */
  readonly signal: AbortSignal;
  /** How often a request is sent before the command gives up. */
  tries: number;
  readonly pause: Pause;
  /** Says why the command waits. */
  say(text: string): void;
}

/** Repeats `work` while it is `Busy`. Throws the reason of the abort when the command is asked to stop. */
export async function patiently<Result>(
  patience: Patience,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      patience.signal.throwIfAborted();
      return await work();
    } catch (error) {
      patience.signal.throwIfAborted();
      if (!(error instanceof Busy)) throw error;
      if (attempt + 1 >= patience.tries) {
        throw new CommandFault(error.message, { exit: EXIT_UNAVAILABLE, cause: error });
      }
      if (attempt === 0) patience.say(`Waiting: ${error.message}`);
      const least = Math.min(error.retryAfterMs, PAUSE_MAX_MS);
      await patience.pause(backoffMs(attempt, least), patience.signal);
    }
  }
}

/**
 * The same client with a credential that holds now: a login is renewed, and a file may have a new one. Throws `Busy`
 * while the credential cannot be had.
 */
export async function currentClient(
  client: Client,
  tokenFile: string | undefined,
  io: Io,
): Promise<Client> {
  try {
    return client.withCredential(await credentialFor(client.url, tokenFile, io));
  } catch (error) {
    if (error instanceof CommandFault && error.exit !== EXIT_UNAVAILABLE) throw error;
    throw new Busy((error as Error).message, { cause: error });
  }
}
