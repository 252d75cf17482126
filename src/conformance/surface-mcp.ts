/**
 * MCP tools as a surface: calls of capabilities only.
 *
 * A tool carries the parameters of a call, its ids, its grant and its key, continues with a waiting grant,
 * and itself chooses whether to stream; it reports stream events as sentences. Every other operation goes
 * over another surface. The author supplies the MCP client.
 *
 * @module
 */

import type { JsonObject } from '../protocol/primitives.ts';
import type { Surface, SurfaceAnswer, SurfaceEvent } from './surface.ts';

/**
 * A client that is connected with a token; the official one fits.
 *
 * @example
 * import { Client } from '@modelcontextprotocol/client';
 * import type { ToolClient } from 'writ/conformance';
 *
 * const agent: ToolClient = new Client({ name: 'our-tests', version: '1.0.0' });
 */
export interface ToolClient {
  callTool(
    call: { name: string; arguments: JsonObject; _meta?: JsonObject },
    options?: { onprogress(progress: { message?: string | undefined }): void },
  ): Promise<{ structuredContent?: unknown; isError?: boolean | undefined }>;
}

/**
 * How to call tools, and the surface for everything that tools cannot do.
 *
 * @example
 * import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
 * import { overHttp, type ToolSurface } from 'writ/conformance';
 *
 * const url = 'http://127.0.0.1:8420';
 * const tools: ToolSurface = {
 *   beside: overHttp(url),
 *   async connect(token) {
 *     const client = new Client({ name: 'our-tests', version: '1.0.0' });
 *     const requestInit = { headers: { authorization: `Bearer ${token}` } };
 *     await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
 *     return client;
 *   },
 * };
 */
export interface ToolSurface {
  /** Connects with a delegation token. Asked once for each. */
  connect(token: string): Promise<ToolClient>;
  /** Has every operation. */
  readonly beside: Surface;
}

/**
 * Over MCP tools where a tool can do it, and over the surface beside them otherwise.
 *
 * @example
 * import { createService, mount } from 'writ';
 * import { overHttp, overMcp } from 'writ/conformance';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const desk = await mount(service, { prefix: '/desk', settings: { store: 'memory:' } });
 * const beside = overHttp('http://127.0.0.1/desk', desk.fetch);
 * const connect = () => Promise.reject(new Error('Only a call of a capability connects'));
 * console.log((await overMcp({ connect, beside }).ask('discovery', {})).status);
 * await desk.close();
 */
export function overMcp({ connect, beside }: ToolSurface): Surface {
  const clients = new Map<string, Promise<ToolClient>>();
  return {
    whole: beside,
    async ask(name, request, credential) {
      const call = name === 'invoke' ? toolCallOf(request) : undefined;
      if (!call || credential === undefined) return beside.ask(name, request, credential);
      const client = clients.get(credential) ?? connect(credential);
      clients.set(credential, client);
      return toolAnswer(await client, call);
    },
  };
}

interface ToolCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly _meta: JsonObject;
  readonly stream: boolean;
}

/** Undefined for a call that must not continue with a waiting grant: a tool always does. */
function toolCallOf(request: JsonObject): ToolCall | undefined {
  const { capability, parameters, stream, approval_grant, idempotency_key, ...others } = request;
  const { continue_approved = true, ...ids } = others;
  if (continue_approved !== true) return undefined;
  const reserved = {
    ...(approval_grant !== undefined && { svc_approval_grant: approval_grant }),
    ...(idempotency_key !== undefined && { svc_idempotency_key: idempotency_key }),
  };
  return {
    name: String(capability),
    arguments: { ...(parameters as JsonObject), ...reserved },
    _meta: Object.fromEntries(Object.entries(ids).map(([name, value]) => [`svc/${name}`, value])),
    stream: stream === true,
  };
}

async function toolAnswer(
  client: ToolClient,
  { stream, ...call }: ToolCall,
): Promise<SurfaceAnswer> {
  const events: SurfaceEvent[] = [];
  const onprogress = ({ message = '' }: { message?: string | undefined }) => {
    events.push({ event: 'progress', data: { progress: message } });
  };
  const result = await client.callTool(call, stream ? { onprogress } : undefined);
  const body = result.structuredContent as JsonObject;
  if (body.success === (result.isError === true)) {
    throw new Error(`Cannot believe ${call.name}: success and isError are both ${body.success}`);
  }
  return { body, events, headers: {} };
}
