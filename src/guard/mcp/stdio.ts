/**
 * An MCP server that this guard starts: a command that speaks over its standard streams.
 *
 * @module
 */

import { basename } from 'node:path';
import {
  type JSONRPCMessage,
  type PriorDiscovery,
  SdkError,
  SdkErrorCode,
  type Transport,
} from '@modelcontextprotocol/client';
import { isObject } from '../../domain/wire/json.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { Upstream } from '../upstream.ts';
import { type Child, type ChildOptions, CLOSED, startChild } from './child.ts';
import { connectClient } from './client.ts';
import { UpstreamFault } from './fault.ts';
import { secretsOf, visibleLine } from './foreign-text.ts';
import type { Connection } from './link.ts';
import { createMcpUpstream } from './mcp-upstream.ts';

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

/** Lines that answer no request, in one window. Progress and log messages of an honest server are fewer. */
const UNASKED_MAX = 10_000;
const WINDOW_MS = 10_000;

/** Requests that may be without an answer. A child that never answers must not make the list grow. */
const ASKED_MAX = 10_000;

interface StdioConnection {
  readonly child: Child;
  readonly transport: Transport;
}

/**
 * Starts the child at once. The client starts to read when it connects. A line that is no message is ignored, because
 * programs print by mistake. A child that sends many lines that answer nothing is ended: reading them would delay every
 * other caller.
 */
function connectStdio(options: Omit<ChildOptions, 'onLine'>): StdioConnection {
  const asked = new Set<unknown>();
  const count = createCounter(options);
  const child = startChild({ ...options, onLine: take });

  function take(line: Uint8Array): void {
    const message = messageOf(line);
    const isAnswer = message !== undefined && !('method' in message) && asked.delete(message.id);
    const isFlood = !isAnswer && count() > UNASKED_MAX;
    if (isFlood) child.kill(`it sent more than ${UNASKED_MAX} lines that nothing asked for`);
    // The client checks the rest of the message.
    else if (message && isWanted(message))
      transport.onmessage?.(message as unknown as JSONRPCMessage);
  }

  // The client recognises a child process by `stderr` and `pid`, and then takes silence for an older server.
  const transport: Transport & { stderr: null; pid: null } = {
    stderr: null,
    pid: null,
    async start() {
      // Has no effect after the first time: a promise resolves once.
      void child.ended.then(() => transport.onclose?.());
    },
    async send(message) {
      if ('method' in message && 'id' in message) asked.add(message.id);
      if (asked.size > ASKED_MAX) asked.delete(asked.values().next().value);
      await child.write(`${JSON.stringify(message)}\n`);
    },
    close: () => child.close(),
  };
  return { child, transport };
}

/** Progress and log messages have no reader here. */
function isWanted({ id, method }: Readonly<Record<string, unknown>>): boolean {
  if (id !== undefined || typeof method !== 'string') return true;
  return !/^notifications\/(?:message|progress)$/.test(method);
}

function messageOf(line: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(line).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Counts in windows of time. */
function createCounter({ platform }: Pick<ChildOptions, 'platform'>): () => number {
  let began = platform.monotonic();
  let count = 0;
  return () => {
    if (platform.monotonic() - began > WINDOW_MS) {
      began = platform.monotonic();
      count = 0;
    }
    count += 1;
    return count;
  };
}
