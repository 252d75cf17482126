/**
 * An MCP server elsewhere: Streamable HTTP, of 2025 and of 2026. The older HTTP with SSE of 2024 is not spoken.
 *
 * @module
 */

import {
  type FetchLike,
  type PriorDiscovery,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { Upstream } from '../upstream.ts';
import { CLOSED, type Ending } from './child.ts';
import { type Connecting, connectClient } from './client.ts';
import { createFetch, type FetchOptions } from './fetch.ts';
import { credentialSecrets } from './foreign-text.ts';
import type { Connection } from './link.ts';
import { createMcpUpstream } from './mcp-upstream.ts';
import { upstreamFault } from './outcome.ts';

export interface HttpUpstreamOptions extends FetchOptions {
  readonly url: string;
  readonly platform: Platform;
  readonly log: Logger;
}

/** Connects at once, and again after the server was away. */
export function openHttpUpstream(options: HttpUpstreamOptions): Upstream {
  const url = new URL(options.url);
  const secrets = credentialSecrets(Object.values(options.headers()));
  const { platform, deadlineMs } = options;
  let prior: PriorDiscovery | undefined;

  async function open(signal: AbortSignal, onToolsChanged: () => void): Promise<Connection> {
    const connecting = { platform, startMs: 2 * deadlineMs, onToolsChanged };
    const connection = await connectHttp(options, connecting, signal);
    const discover = connection.client.getDiscoverResult();
    prior = discover ? { kind: 'modern', discover } : { kind: 'legacy' };
    return connection;
  }

  /** A session belongs to one person, so each call has its own. */
  function openFor(accessToken: string): Promise<Connection> {
    const headers = () => ({ ...options.headers(), authorization: `Bearer ${accessToken}` });
    return connectHttp({ ...options, headers }, { platform, startMs: 2 * deadlineMs, prior });
  }

  return createMcpUpstream({ ...options, name: url.host, secrets, open, openFor });
}

/** In milliseconds: a server chooses when a broken stream is opened again, within these bounds. */
const AGAIN_MIN_MS = 1_000;
const AGAIN_MAX_MS = 60_000;

async function connectHttp(
  options: HttpUpstreamOptions,
  connecting: Connecting,
  signal?: AbortSignal,
): Promise<Connection> {
  const { platform, deadlineMs } = options;
  const transport = new StreamableHTTPClientTransport(new URL(options.url), {
    fetch: connecting.onToolsChanged ? createFetch(options) : withoutNotices(createFetch(options)),
    reconnectionScheduler: (reconnect, delayMs) => {
      const timer = platform.after(clamped(delayMs), reconnect);
      timer.unref();
      return () => platform.cancel(timer);
    },
  });
  let end: (ending: Ending) => void = () => undefined;
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const leave = () => void transport.close();
  signal?.addEventListener('abort', leave, { once: true });
  const client = await connectClient(transport, connecting)
    .catch((error: unknown) => {
      leave();
      throw upstreamFault(error, deadlineMs);
    })
    .finally(() => signal?.removeEventListener('abort', leave));
  async function close(): Promise<void> {
    await transport.terminateSession().catch(() => undefined);
    await client.close();
    end(CLOSED);
  }
  return {
    client,
    ended,
    close,
    lose(why) {
      end({ why, isRefused: false });
      void client.close();
    },
  };
}

/** Opens no stream of notices: a server may answer that it has none. */
function withoutNotices(fetch: FetchLike): FetchLike {
  return (url, init) =>
    init?.method === 'GET'
      ? Promise.resolve(new Response(null, { status: 405 }))
      : fetch(url, init);
}

function clamped(delayMs: number): number {
  return Math.min(AGAIN_MAX_MS, Math.max(AGAIN_MIN_MS, delayMs));
}
