/**
 * An MCP server as an upstream: lists, calls and watches its tools over a link, whatever carries the messages.
 *
 * A call is sent once. Only a read whose connection was lost is sent once more, where the tool is still the same.
 * Parameters are never logged.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { SdkError, SdkErrorCode, type Tool } from '@modelcontextprotocol/client';
import type { Logger } from '../../log.ts';
import type { Platform, Timer } from '../../platform.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { HandlerFailure, NoEffect } from '../../service/author/handler.ts';
import { toolDigest, type Upstream, type UpstreamCall, type UpstreamTool } from '../upstream.ts';
import { UpstreamFault } from './fault.ts';
import { bothSecrets, credentialSecrets, type Secrets } from './foreign-text.ts';
import { type Connection, createLink, type Link } from './link.ts';
import { callFailure, toolResult, upstreamFault } from './outcome.ts';
import { listTools } from './tool-list.ts';

/** In milliseconds. A server that changes a tool without a notice is found out within this time. */
const LOOK_AGAIN_MS = 60_000;

/** In milliseconds: many notices become one report. */
const GATHER_MS = 200;

export interface McpUpstreamOptions {
  /** For messages: a program or a host. */
  readonly name: string;
  readonly deadlineMs: number;
  readonly platform: Platform;
  readonly log: Logger;
  readonly secrets: Secrets;
  /** Rejects soon after the signal aborts. */
  open(signal: AbortSignal, onToolsChanged: () => void): Promise<Connection>;
  /** Opens a connection in the name of one person, for one call. Absent where there is no such thing. */
  openFor?(accessToken: string): Promise<Connection>;
}

/** The call for which a transport sends a request, where it can tell. */
export interface CallInFlight {
  readonly signal: AbortSignal;
  /** Ends the call, because its answer can no longer arrive. */
  fail(fault: UpstreamFault): void;
}

export const callInFlight = new AsyncLocalStorage<CallInFlight>();

export function createMcpUpstream(options: McpUpstreamOptions): Upstream {
  const { platform, name, log, deadlineMs, secrets } = options;
  const watching = createWatch(platform);
  const link = createLink({
    platform,
    open: (signal) => options.open(signal, watching.changed),
    onChange: watching.changed,
  });

  return {
    async tools(): Promise<readonly UpstreamTool[]> {
      const late = new AbortController();
      const timer = platform.after(deadlineMs, () => late.abort());
      try {
        const { client } = await link.ready();
        return await listTools(client, { log, deadlineMs, secrets, signal: late.signal });
      } catch (error) {
        throw listFailure(name, upstreamFault(error, deadlineMs));
      } finally {
        platform.cancel(timer);
      }
    },
    call: (call) => callOnLink(options, link, call),
    watch: (onChange) => watching.add(onChange),
    async close() {
      watching.end();
      await link.close();
    },
  };
}

/** Without the error as its cause: a library repeats there what it was sent. */
function listFailure(name: string, { message }: UpstreamFault): Error {
  return new Error(`Cannot list the tools of ${name}: ${message}`);
}

async function callOnLink(
  options: McpUpstreamOptions,
  link: Link,
  call: UpstreamCall,
): Promise<JsonObject> {
  const { tool, isRead, accessToken } = call;
  const secrets =
    accessToken === undefined
      ? options.secrets
      : bothSecrets(options.secrets, credentialSecrets([accessToken]));
  try {
    return accessToken === undefined
      ? await callWithRetry(options, link, call)
      : await callFor(accessToken, { ...options, secrets }, call);
  } catch (error) {
    if (HandlerFailure.is(error) || NoEffect.is(error)) throw error;
    throw callFailure(error, { name: tool.name, isRead, deadlineMs: options.deadlineMs, secrets });
  }
}

/** Calls in the name of one person, on a connection that ends with the call. */
async function callFor(
  accessToken: string,
  options: McpUpstreamOptions,
  call: UpstreamCall,
): Promise<JsonObject> {
  if (!options.openFor) throw notSent('it takes no access token of a person');
  const connection = await options.openFor(accessToken).catch((error: unknown) => {
    throw notSent(upstreamFault(error, options.deadlineMs).message);
  });
  try {
    return await callOnce(options, connection, call);
  } finally {
    void connection.close();
  }
}

function notSent(why: string): UpstreamFault {
  return new UpstreamFault(why, { mayHaveActed: false });
}

async function callWithRetry(
  options: McpUpstreamOptions,
  link: Link,
  call: UpstreamCall,
): Promise<JsonObject> {
  const connection = await link.ready();
  try {
    return await callOnce(options, connection, call);
  } catch (error) {
    if (!(error instanceof UpstreamFault) || !error.isLost || !call.isRead) throw error;
    const again = await unlessLate(link.again(), call.signal, error);
    if (!(await isStillOffered(options, again, call))) throw error;
    return callOnce(options, again, call);
  }
}

/** A server that was started again may offer another tool under the same name. */
async function isStillOffered(
  { log, deadlineMs, secrets }: McpUpstreamOptions,
  { client }: Connection,
  { tool, signal }: UpstreamCall,
): Promise<boolean> {
  const listed = await listTools(client, { log, deadlineMs, secrets, signal });
  const digest = toolDigest(tool);
  return listed.some((each) => each.name === tool.name && toolDigest(each) === digest);
}

/** Throws the failure that the tool reports, a fault of ours, or what the client threw. */
async function callOnce(
  { deadlineMs, secrets }: McpUpstreamOptions,
  connection: Connection,
  call: UpstreamCall,
): Promise<JsonObject> {
  const { tool, parameters, signal } = call;
  const { client } = connection;
  if (signal.aborted) throw notSent('its deadline has passed');
  if (client.transport === undefined) {
    const why = 'the connection has ended';
    throw new UpstreamFault(why, { mayHaveActed: false, isLost: true });
  }
  // Without the output schema: the client would demand structured content, and the service has its own rules.
  const { name, inputSchema } = tool;
  const toolDefinition = { name, inputSchema } as Tool;
  const broken = new AbortController();
  const failing = new Promise<never>((_, reject) => {
    broken.signal.addEventListener('abort', () => reject(broken.signal.reason), { once: true });
  });
  const inFlight: CallInFlight = { signal, fail: (fault) => broken.abort(fault) };
  const asking = callInFlight.run(inFlight, () =>
    client.callTool(
      { name, arguments: parameters },
      { signal: AbortSignal.any([signal, broken.signal]), timeout: deadlineMs, toolDefinition },
    ),
  );
  const result = await Promise.race([asking, failing]).catch(async (error: unknown) => {
    throw await explained(error, connection, deadlineMs);
  });
  return toolResult(call, result, secrets);
}

/** The fault with the reason why the connection ended. A connection of no more use is ended here. */
async function explained(
  error: unknown,
  connection: Connection,
  deadlineMs: number,
): Promise<unknown> {
  if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) {
    const { why, isRefused } = await connection.ended;
    return new UpstreamFault(why, { mayHaveActed: true, isLost: !isRefused });
  }
  const fault = upstreamFault(error, deadlineMs);
  if (fault.isLost) connection.lose(fault.message);
  return fault.isLost ? fault : error;
}

/** The connection, or the fault of before when the call ends first. */
function unlessLate(
  opening: Promise<Connection>,
  signal: AbortSignal,
  fault: UpstreamFault,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const late = () => reject(fault);
    signal.addEventListener('abort', late, { once: true });
    opening.then(resolve, reject).finally(() => signal.removeEventListener('abort', late));
  });
}

/** Reports the first notice at once and gathers those after it. Looks again by itself. */
function createWatch(platform: Platform) {
  const listeners: (() => void)[] = [];
  let gathering: Timer | undefined;
  let looking: Timer | undefined;
  let isEnded = false;
  let hasMore = false;

  function changed(): void {
    if (isEnded) return;
    hasMore = gathering !== undefined;
    if (hasMore) return;
    gathering = platform.after(GATHER_MS, () => {
      gathering = undefined;
      if (hasMore) changed();
    });
    gathering.unref();
    for (const listener of listeners) listener();
  }

  return {
    changed,
    add(listener: () => void) {
      listeners.push(listener);
      looking ??= platform.every(LOOK_AGAIN_MS, changed);
      looking.unref();
    },
    end() {
      isEnded = true;
      platform.cancel(gathering);
      platform.cancel(looking);
    },
  };
}
