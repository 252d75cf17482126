/**
 * MCP over streamable HTTP at `/mcp`: stateless, one server for each request, the delegation token as
 * its bearer.
 *
 * Who asks is checked before a message is looked at. A call of a tool is not asked about twice: the
 * invocation itself checks its token, and its refusal is an entry and a tool's error.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { type AuthInfo, createMcpHandler, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { failure } from '../domain/failure.ts';
import { readJson } from '../domain/json.ts';
import type { Failure } from '../protocol/failure.ts';
import type { Ask } from '../service/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { deskIn, isFailure } from './desk.ts';
import { foreignArrival } from './origin.ts';
import { createMcpServer } from './server.ts';

const MCP_PATH = '/mcp';

interface McpRequest extends Pick<Ask, 'bearer' | 'trace'> {
  readonly raw: IncomingMessage;
  readonly body: Uint8Array;
  response(): ServerResponse;
}

/** The surface, for a server to carry. */
export function mcpSurface(runtime: Runtime) {
  const handler = createMcpHandler(
    ({ authInfo }) => createMcpServer(deskIn(runtime, authInfo?.extra?.caller as McpRequest)),
    {
      onerror: (error) => runtime.log.debug({ err: error }, 'mcp'),
      // There is nothing to subscribe to, and an open stream would only hold a place.
      maxSubscriptions: 0,
    },
  );

  async function answer(request: McpRequest): Promise<Failure | undefined> {
    const { raw, body } = request;
    const { host, origin } = raw.headers;
    const { localAddress } = raw.socket;
    const arrival = { host, origin, localAddress, publicUrl: runtime.baseUrl() };
    const foreign = foreignArrival(arrival);
    if (foreign) {
      sendError(request.response(), 403, ProtocolErrorCode.InvalidRequest, foreign);
      return undefined;
    }
    if (request.bearer() === undefined) return noBearer();
    const reading = readJson(body);
    const message = 'value' in reading ? reading.value : undefined;
    if (!isToolCall(message)) {
      const known = await deskIn(runtime, request).ask('permissions', {});
      if (isFailure(known)) return known.failure;
    }
    if ('fault' in reading) {
      sendError(request.response(), 400, ProtocolErrorCode.ParseError, reading.fault);
      return undefined;
    }
    if (Array.isArray(message)) {
      // Many calls in one request would pass the limits that are set on requests.
      const why = 'Cannot take several messages in one request';
      sendError(request.response(), 400, ProtocolErrorCode.InvalidRequest, why);
      return undefined;
    }
    await carry(request, message);
    return undefined;
  }

  /** Through the package's own bridge, which minds a client that leaves or does not read. */
  async function carry(request: McpRequest, message: unknown): Promise<void> {
    const bridge = toNodeHandler({
      fetch: (web, options) => handler.fetch(web, { ...options, authInfo: callerInfo(request) }),
    });
    await bridge(request.raw as NodeIncomingMessageLike, request.response(), message);
  }

  return { path: MCP_PATH, name: 'mcp', answer, close: () => handler.close() } as const;
}

/** The package hands this through as it is; what it says of a token is never asked. */
function callerInfo(caller: McpRequest): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { caller } };
}

function isToolCall(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'method' in message
    ? message.method === 'tools/call'
    : false;
}

function noBearer(): Failure {
  const detail = 'Cannot tell who asks: present a delegation token as the bearer';
  return failure('authentication_required', detail);
}

function sendError(response: ServerResponse, status: number, code: number, message: string): void {
  const error = { jsonrpc: '2.0', id: null, error: { code, message } };
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(error));
}
