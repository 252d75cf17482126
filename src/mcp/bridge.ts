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
import { type Desk, deskIn } from './desk.ts';
import { createMcpServer } from './server.ts';

export interface Bridge {
  carry(request: McpRequest, message: unknown): Promise<void>;
  close(): Promise<void>;
}

export function createBridge(runtime: Runtime): Bridge {
  const handler = createMcpHandler(
    ({ authInfo }) =>
      createMcpServer(deskFor(runtime, authInfo?.extra?.caller as McpRequest), runtime.platform),
    {
      onerror: (error) => runtime.log.debug({ err: error }, 'mcp'),
      // There is nothing to subscribe to, and an open stream would only hold a place.
      maxSubscriptions: 0,
    },
  );
  return {
    /** Through the package's own bridge, which minds a client that leaves or does not read. */
    async carry(request, message) {
      const bridge = toNodeHandler({
        fetch: (web, options) => handler.fetch(web, { ...options, authInfo: callerInfo(request) }),
      });
      await bridge(request.raw as NodeIncomingMessageLike, request.response(), message);
    },
    close: () => handler.close(),
  };
}

/** An invocation is the work of its request: its result may wait long for a client that does not read. */
function deskFor(runtime: Runtime, caller: McpRequest): Desk {
  const desk = deskIn(runtime, caller);
  return {
    ...desk,
    ask: (name, input, sink) =>
      desk.ask(name, input, sink).finally(() => {
        if (name === 'invoke') caller.done();
      }),
  };
}

/** The package hands this through as it is; what it says of a token is never asked. */
function callerInfo(caller: McpRequest): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { caller } };
}

export interface McpRequest extends Pick<Ask, 'bearer' | 'trace' | 'gone' | 'proved'> {
  readonly raw: IncomingMessage;
  readonly body: Uint8Array;
  response(): ServerResponse;
  /** What takes work is done: the rest waits for the client to read. */
  done(): void;
}
