/**
 * Carries messages over HTTP between callers and MCP servers, one server for each request.
 *
 * @module
 */

import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AuthInfo, createMcpHandler } from '@modelcontextprotocol/server';
import type { Failure } from '../protocol/failure.ts';
import type { Ask } from '../service/operations/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { watchCaller } from './caller-watch.ts';
import { type Gateway, localGateway } from './gateway.ts';
import { createMcpServer } from './server.ts';

export interface Bridge {
  /** Resolves with the failure of a caller who is not known, where a client can sign in again. */
  carry(request: McpRequest, message: unknown): Promise<McpAnswer | Failure>;
  close(): Promise<void>;
}

export function createBridge(runtime: Runtime): Bridge {
  const options = {
    platform: runtime.platform,
    tools: runtime.config.mcp_tools,
    serviceId: runtime.id,
  };
  const handler = createMcpHandler(
    ({ authInfo }) => createMcpServer(authInfo?.extra?.gateway as Gateway, options),
    {
      onerror: (error) => runtime.log.debug({ err: error }, 'mcp'),
      // The service has no subscriptions, and an open stream would only hold a connection.
      maxSubscriptions: 0,
    },
  );
  return {
    async carry(request, message) {
      const send = (gateway: Gateway) =>
        handler.fetch(webRequest(runtime, request, message), {
          authInfo: authInfoOf(gateway),
          parsedBody: message,
        });
      if (!runtime.signIn) return mcpAnswer(await send(gatewayFor(runtime, request)));
      const watch = watchCaller(request);
      const gateway = watch.watched(gatewayFor(runtime, watch.caller));
      const admitted = await watch.admitted(await send(gateway));
      return admitted instanceof Response ? mcpAnswer(admitted) : admitted;
    },
    close: () => handler.close(),
  };
}

/** The work of the request ends with the invocation; the client may take long to read the result. */
function gatewayFor(runtime: Runtime, caller: McpRequest): Gateway {
  const gateway = localGateway(runtime, caller);
  return {
    ...gateway,
    ask: (name, input, sink) =>
      gateway.ask(name, input, sink).finally(() => {
        if (name === 'invoke') caller.done();
      }),
  };
}

/** The package passes `extra` through unchanged; its other fields are not used. */
function authInfoOf(gateway: Gateway): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { gateway } };
}

/** Headers of the connection, of the body as it was sent, and of the caller's proof. */
const NOT_CARRIED = [
  'authorization',
  'connection',
  'content-length',
  'content-encoding',
  'cookie',
  'host',
  'transfer-encoding',
];

/** The request as the package reads it. It aborts when the client has left. */
function webRequest(
  { baseUrl, basePath }: Runtime,
  { headers, gone }: McpRequest,
  message: unknown,
): Request {
  const carried = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':') || NOT_CARRIED.includes(name)) continue;
    carried.set(name, String(value));
  }
  const signal = gone?.() ?? null;
  const init = { method: 'POST', headers: carried, body: JSON.stringify(message), signal };
  return new Request(new URL(`${basePath}/mcp`, baseUrl()), init);
}

function mcpAnswer({ status, headers, body }: Response): McpAnswer {
  return {
    status,
    headers: Object.fromEntries(headers),
    body: body === null ? undefined : (output) => write(body, output),
  };
}

/** No faster than the client reads. A client that leaves ends what the package still sends. */
async function write(body: NonNullable<Response['body']>, output: Writable): Promise<void> {
  // What a broken connection reports: the package has cancelled its side by then.
  await pipeline(Readable.fromWeb(body as never), output).catch(() => undefined);
}

export interface McpAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | ((output: Writable) => Promise<void>) | undefined;
}

export interface McpRequest extends Pick<Ask, 'bearer' | 'trace' | 'gone' | 'proved'> {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly localAddress: string | undefined;
  /** Whether the configuration admits pages of the origin that the request names. */
  readonly isAdmitted: boolean;
  readonly body: Uint8Array;
  /** Called when the work is done and only sending is left. */
  done(): void;
}
