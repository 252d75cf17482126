/**
 * A server of MCP over HTTP on this machine, of 2025, whose calls a test answers, and the upstream of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HttpUpstreamOptions, openHttpUpstream } from '../../src/guard/mcp/http.ts';
import type { Upstream } from '../../src/guard/upstream.ts';
import { system } from '../../src/platform.ts';
import { CANARY, keptLog } from './calls.ts';

export interface Asked {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

export type Answer = (asked: Asked, request: IncomingMessage, response: ServerResponse) => void;

/** Serves on loopback, and gives the upstream of it to a test. */
export async function withServer(
  listener: RequestListener,
  run: (upstream: Upstream) => Promise<void>,
  more: Partial<HttpUpstreamOptions> = {},
): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  const { log, text } = keptLog();
  const upstream = openHttpUpstream({
    url: `http://127.0.0.1:${port}/mcp?key=${CANARY}`,
    inside: true,
    headers: () => ({ Authorization: `Bearer ${CANARY}` }),
    deadlineMs: 5_000,
    platform: system,
    log,
    ...more,
  });
  try {
    await run(upstream);
  } finally {
    await upstream.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
  assert.ok(!text().includes(CANARY));
}

/** A server of 2025 with one session, whose calls a test answers. */
export function older(onCall: Answer, sessions: string[] = []): RequestListener {
  return async (request, response) => {
    if (request.method === 'GET') return void response.writeHead(405).end();
    if (request.method === 'DELETE') return void response.writeHead(200).end();
    const asked = await bodyOf(request);
    if (asked.id === undefined) return void response.writeHead(202).end();
    if (asked.method === 'initialize') {
      sessions.push(`session-${sessions.length}`);
      response.setHeader('mcp-session-id', sessions.at(-1) as string);
      return json(response, asked, {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'older', version: '1' },
      });
    }
    if (asked.method === 'tools/list') {
      return json(response, asked, { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
    }
    if (asked.method === 'tools/call') return onCall(asked, request, response);
    const error = { code: -32_601, message: 'unknown method' };
    response.setHeader('content-type', 'application/json');
    return void response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error }));
  };
}

export async function bodyOf(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

export function json(response: ServerResponse, { id }: Asked, result: object): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

export const texts = (text: string) => ({ content: [{ type: 'text', text }] });
