/**
 * MCP over streamable HTTP at `/mcp`: stateless, one server for each request, the delegation token as
 * its bearer.
 *
 * Who asks is checked before a message is looked at. A call of a tool is not asked about twice: the
 * invocation itself checks its token, and its refusal is an entry and a tool's error.
 *
 * To load the protocol's package takes a fifth of the start, so it is loaded after it.
 *
 * @module
 */

import type { ServerResponse } from 'node:http';
import { failure } from '../domain/failure.ts';
import { readJson } from '../domain/wire/json.ts';
import type { Failure } from '../protocol/failure.ts';
import { INVALID_REQUEST, PARSE_ERROR } from '../protocol/json-rpc.ts';
import type { Runtime } from '../service/runtime.ts';
import type { Bridge, McpRequest } from './bridge.ts';
import { deskIn, isFailure } from './desk.ts';
import { metaFault } from './meta.ts';
import { foreignArrival } from './origin.ts';

const MCP_PATH = '/mcp';

/** The surface, for a server to carry. */
export function mcpSurface(runtime: Runtime) {
  let loading: Promise<Bridge | undefined> | undefined;

  /** A package that cannot be loaded is missing or broken: nothing but a new start helps. */
  function load(): Promise<Bridge | undefined> {
    loading ??= import('./bridge.ts').then(
      ({ createBridge }) => createBridge(runtime),
      (error: unknown) => {
        runtime.log.error({ err: error }, 'MCP cannot be served until the next start');
        return undefined;
      },
    );
    return loading;
  }

  async function answer(request: McpRequest): Promise<Failure | undefined> {
    const { raw, body } = request;
    const { host, origin } = raw.headers;
    const { localAddress } = raw.socket;
    const arrival = { host, origin, localAddress, publicUrl: runtime.baseUrl() };
    const foreign = foreignArrival(arrival);
    if (foreign) {
      sendError(request.response(), 403, INVALID_REQUEST, foreign);
      return undefined;
    }
    if (request.bearer() === undefined) return noBearer();
    const reading = readJson(body);
    const message = 'value' in reading ? reading.value : undefined;
    if (!isToolCall(message)) {
      const known = await deskIn(runtime, request).ask('permissions', {});
      if (isFailure(known)) return known.failure;
      request.done();
    }
    if ('fault' in reading) {
      sendError(request.response(), 400, PARSE_ERROR, reading.fault);
      return undefined;
    }
    const fault = messageFault(message);
    if (fault) {
      sendError(request.response(), 400, INVALID_REQUEST, fault);
      return undefined;
    }
    return carry(request, message);
  }

  async function carry(request: McpRequest, message: unknown): Promise<Failure | undefined> {
    const bridge = await load();
    if (!bridge) return notLoaded();
    await bridge.carry(request, message);
    return undefined;
  }

  const close = async () => (await loading)?.close();
  return { path: MCP_PATH, name: 'mcp', answer, started: () => void load(), close } as const;
}

/** Many calls in one request would pass the limits that are set on requests. */
function messageFault(message: unknown): string | undefined {
  return Array.isArray(message)
    ? 'Cannot take several messages in one request'
    : metaFault(message);
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

function notLoaded(): Failure {
  return failure(
    'service_unavailable',
    'Cannot speak MCP: its package did not load; nothing happened',
  );
}

function sendError(response: ServerResponse, status: number, code: number, message: string): void {
  const error = { jsonrpc: '2.0', id: null, error: { code, message } };
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(error));
}
