/**
 * A link: keeps one connection to an upstream, and opens it again after growing pauses.
 *
 * While the upstream is away, each request for the connection is refused at once with the reason. So callers do not
 * queue up behind a server that is not there, and the server is not flooded when it comes back.
 *
 * @module
 */

import type { Client } from '@modelcontextprotocol/client';
import type { Platform } from '../../platform.ts';
import { CLOSED, type Ending } from './child.ts';
import { faultIn, UpstreamFault } from './fault.ts';

export interface Connection {
  readonly client: Client;
  /** Resolves when the connection has ended. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Ends the connection because it is of no more use. */
  lose(why: string): void;
  close(): Promise<void>;
}

export interface Link {
  /** The connection, or the outcome of the try that is under way. Rejects at once during a pause. */
  ready(): Promise<Connection>;
  /** The next connection, after the pause if there is one. */
  again(): Promise<Connection>;
  close(): Promise<void>;
}

/** In milliseconds. */
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 60_000;

/** In milliseconds: after a connection of this length the pauses begin small again. */
const STEADY_MS = 10_000;

export interface LinkOptions {
  readonly platform: Platform;
  /** Rejects soon after the signal aborts. */
  open(signal: AbortSignal): Promise<Connection>;
  /** Called when the connection was opened, and when it ended. */
  onChange(): void;
}

export function createLink({ platform, open, onChange }: LinkOptions): Link {
  let failures = 0;
  const closing = new AbortController();
  /** Why there is no connection, during a pause. */
  let away: string | undefined;
  let next = begin();

  function begin(): Promise<Connection> {
    const opening = tryToOpen();
    // Each request for the connection gets the rejection. Without a request it is no defect.
    opening.catch(() => undefined);
    return opening;
  }

  async function tryToOpen(): Promise<Connection> {
    const connection = await open(closing.signal).catch((error: unknown) => {
      const why = faultIn(error)?.message ?? 'it does not speak MCP';
      pauseAfter(why);
      throw new UpstreamFault(why, { mayHaveActed: false });
    });
    if (closing.signal.aborted) {
      await connection.close();
      throw closedFault();
    }
    const began = platform.monotonic();
    void connection.ended.then(({ why }) => {
      if (platform.monotonic() - began >= STEADY_MS) failures = 0;
      pauseAfter(why);
      if (!closing.signal.aborted) onChange();
    });
    if (failures > 0) onChange();
    return connection;
  }

  /** The next try begins after the pause. A try of before may have failed or succeeded. */
  function pauseAfter(why: string): void {
    if (closing.signal.aborted) return;
    away = why;
    const ms = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** failures);
    failures += 1;
    next = new Promise<void>((resolve) => platform.after(ms, resolve).unref()).then(() => {
      if (closing.signal.aborted) throw closedFault();
      away = undefined;
      return tryToOpen();
    });
    next.catch(() => undefined);
  }

  return {
    async ready() {
      if (closing.signal.aborted) throw closedFault();
      if (away !== undefined) throw new UpstreamFault(away, { mayHaveActed: false });
      return next;
    },
    again: () => next,
    async close() {
      closing.abort();
      const open = away === undefined ? await next.catch(() => undefined) : undefined;
      await open?.close();
    },
  };
}

function closedFault(): UpstreamFault {
  return new UpstreamFault(CLOSED.why, { mayHaveActed: false });
}
