/**
 * MCP over streamable HTTP at `/mcp`: stateless, one server for each request, the delegation token as
 * its bearer.
 *
 * Authenticates the caller before it reads a message, except for a tool call: the
 * invocation checks the token itself, and its refusal leaves an entry and is the tool's error. A search for
 * capabilities is no invocation.
 *
 * Loads the MCP package after the start, because loading takes a fifth of the start time.
 *
 * @module
 */

import { type Arrival, foreignArrival } from '../address/arrival.ts';
import { failure } from '../domain/failure.ts';
import { isObject, readJson } from '../domain/wire/json.ts';
import type { Failure } from '../protocol/failure.ts';
import { INVALID_REQUEST, PARSE_ERROR } from '../protocol/json-rpc.ts';
import type { Runtime } from '../service/runtime.ts';
import type { Bridge, McpAnswer, McpRequest } from './bridge.ts';
import { isFailure, localGateway } from './gateway.ts';
import { metaFault } from './meta.ts';
import { SEARCH_TOOL, type ToolList } from './search-tools.ts';

const MCP_PATH = '/mcp';

/** The surface that the HTTP server mounts. */
export function mcpSurface(runtime: Runtime) {
  let loading: Promise<Bridge | undefined> | undefined;

  /** The package is missing or broken; only a restart can help. */
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

  async function answer(request: McpRequest): Promise<McpAnswer | Failure> {
    const foreign = foreignArrival(arrivalOf(request, runtime.baseUrl()));
    if (foreign) return errorAnswer(403, INVALID_REQUEST, foreign);
    if (request.bearer() === undefined) return noBearer();
    // Judged before a server for the request is made, which takes far more work than a signature.
    const stranger = await runtime.strangerTo('invoke', request);
    if (stranger) return stranger;
    const reading = readJson(request.body);
    const message = 'value' in reading ? reading.value : undefined;
    if (!isInvocation(message, runtime.config.mcp_tools)) {
      const known = await localGateway(runtime, request).ask('permissions', {});
      if (isFailure(known)) return known.failure;
      request.done();
    }
    if ('fault' in reading) return errorAnswer(400, PARSE_ERROR, reading.fault);
    return carry(request, message);
  }

  async function carry(request: McpRequest, message: unknown): Promise<McpAnswer | Failure> {
    const fault = messageFault(message);
    if (fault) return errorAnswer(400, INVALID_REQUEST, fault);
    const bridge = await load();
    return bridge ? bridge.carry(request, message) : notLoaded();
  }

  const close = async () => (await loading)?.close();
  return { path: MCP_PATH, name: 'mcp', answer, started: () => void load(), close } as const;
}

function arrivalOf({ headers, localAddress, isAdmitted }: McpRequest, publicUrl: string): Arrival {
  const [host, origin] = [headers.host, headers.origin].map((value) => value?.toString());
  return { host, origin, localAddress, publicUrl, isAdmitted };
}

/** A batch would bypass the limits on requests. */
function messageFault(message: unknown): string | undefined {
  return Array.isArray(message)
    ? 'Cannot take several messages in one request'
    : metaFault(message);
}

function isInvocation(message: unknown, tools: ToolList): boolean {
  if (!isObject(message) || message.method !== 'tools/call') return false;
  const name = isObject(message.params) ? message.params.name : undefined;
  return tools === 'all' || name !== SEARCH_TOOL.name;
}

function noBearer(): Failure {
  const detail = 'Cannot identify the caller: present a delegation token as the bearer';
  return failure('authentication_required', detail);
}

function notLoaded(): Failure {
  return failure(
    'service_unavailable',
    'Cannot serve MCP: its package did not load; nothing happened',
  );
}

function errorAnswer(status: number, code: number, message: string): McpAnswer {
  const error = { jsonrpc: '2.0', id: null, error: { code, message } };
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(error) };
}
