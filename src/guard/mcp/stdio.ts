/**
 * An MCP server that this guard starts: a command that speaks over its standard streams.
 *
 * @module
 */

import { basename } from 'node:path';
import { type PriorDiscovery, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { Upstream } from '../upstream.ts';
import { CLOSED } from './child.ts';
import { connectClient } from './client.ts';
import { UpstreamFault } from './fault.ts';
import { secretsOf, visibleLine } from './foreign-text.ts';
import type { Connection } from './link.ts';
import { createMcpUpstream } from './mcp-upstream.ts';
import { connectStdio } from './stdio-transport.ts';

/** In milliseconds: a package runner may have to fetch the server first. */
const START_MS = 60_000;

/** What every program needs to run. None of it is a credential. */
const ORDINARY = /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TERM|TMPDIR|TEMP|TMP)$/;

const PROGRAM_LENGTH_MAX = 64;

export interface StdioUpstreamOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The variables of this process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The names of the variables that the command gets besides the ordinary ones. */
  readonly env: readonly string[];
  readonly cwd: string;
  readonly deadlineMs: number;
  /** In milliseconds, for the start of the server. */
  readonly startMs?: number;
  readonly platform: Platform;
  readonly log: Logger;
}

/** Starts the command at once, and again after it ended. */
export function openStdioUpstream(options: StdioUpstreamOptions): Upstream {
  const { command, environment, env, platform, startMs = START_MS } = options;
  const secrets = secretsOf(env.flatMap((name) => environment[name] ?? []));
  const program = visibleLine(basename(command[0] ?? ''), PROGRAM_LENGTH_MAX);
  let prior: PriorDiscovery | undefined;

  async function open(signal: AbortSignal, onToolsChanged: () => void): Promise<Connection> {
    const childEnv = environmentOf(options);
    const missing = env.find((name) => childEnv[name] === undefined);
    if (missing !== undefined) throw started(`the variable ${missing} is not set`);
    const spawned = { signal, command, env: childEnv, cwd: options.cwd, platform, secrets };
    const connecting = { platform, startMs, onToolsChanged };
    const first = await attempt({ ...connecting, prior }, spawned);
    if ('client' in first) return first;
    // Some servers of 2025 end when they are asked anything before their handshake.
    const second = first.wasEnded && !prior ? LEGACY : undefined;
    const again = second ? await attempt({ ...connecting, prior: second }, spawned) : first;
    if (!('client' in again)) throw started(again.why);
    prior = second;
    return again;
  }

  return createMcpUpstream({ ...options, name: `"${program}"`, secrets, open });
}

const LEGACY: PriorDiscovery = { kind: 'legacy' };

function started(why: string): UpstreamFault {
  return new UpstreamFault(why, { mayHaveActed: false });
}

/** Connects to a new child, or says why that failed. */
async function attempt(
  connecting: Parameters<typeof connectClient>[1],
  { signal, ...spawned }: Parameters<typeof connectStdio>[0] & { readonly signal: AbortSignal },
): Promise<Connection | { readonly why: string; readonly wasEnded: boolean }> {
  const { child, transport } = connectStdio(spawned);
  const leave = () => child.kill(CLOSED.why);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  let isEnded = false;
  void child.ended.then(() => {
    isEnded = true;
  });
  try {
    const client = await connectClient(transport, connecting);
    return {
      client,
      ended: child.ended,
      lose: (why) => child.kill(why),
      close: () => client.close(),
    };
  } catch (error) {
    const isLate = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
    const refusal = isLate
      ? `it does not answer as an MCP server in ${connecting.startMs} ms`
      : 'it speaks no known version of MCP';
    const wasEnded = isEnded;
    child.kill(refusal);
    const ending = await child.ended;
    // The client may have begun to close it.
    return ending === CLOSED ? { why: refusal, wasEnded: false } : { why: ending.why, wasEnded };
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

function environmentOf({ environment, env }: StdioUpstreamOptions): Record<string, string> {
  const passed = Object.entries(environment).filter(
    ([name, value]) => value !== undefined && (ORDINARY.test(name) || env.includes(name)),
  );
  return Object.fromEntries(passed) as Record<string, string>;
}
