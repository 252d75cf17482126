/**
 * Carries messages over HTTP between callers and MCP servers, one server for each request.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { type AuthInfo, createMcpHandler } from '@modelcontextprotocol/server';
import type { Ask } from '../service/core/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { type Gateway, localGateway } from './gateway.ts';
import { createMcpServer } from './server.ts';

export interface Bridge {
  carry(request: McpRequest, message: unknown): Promise<void>;
  close(): Promise<void>;
}

export function createBridge(runtime: Runtime): Bridge {
  const handler = createMcpHandler(
    ({ authInfo }) =>
      createMcpServer(gatewayFor(runtime, authInfo?.extra?.caller as McpRequest), runtime.platform),
    {
      onerror: (error) => runtime.log.debug({ err: error }, 'mcp'),
      // The service has no subscriptions, and an open stream would only hold a connection.
      maxSubscriptions: 0,
    },
  );
  return {
    /** Uses the package's own bridge, which handles clients that disconnect or do not read. */
    async carry(request, message) {
      const bridge = toNodeHandler({
        fetch: (web, options) => handler.fetch(web, { ...options, authInfo: callerInfo(request) }),
      });
      await bridge(request.raw as NodeIncomingMessageLike, request.response(), message);
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
function callerInfo(caller: McpRequest): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { caller } };
}

export interface McpRequest extends Pick<Ask, 'bearer' | 'trace' | 'gone' | 'proved'> {
  readonly raw: IncomingMessage;
  readonly body: Uint8Array;
  response(): ServerResponse;
  /** Called when the work is done and only sending is left. */
  done(): void;
}
