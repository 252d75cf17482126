/**
 * Callers of the deployed service: HTTPS to a proxy on this machine, with the host name that is public.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { CERTIFICATE } from './files.ts';
import type { Balancer, Stack } from './stack.ts';

export interface Reply {
  readonly proxy: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The parts as they came. */
  readonly chunks: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: a check looks into whatever came back.
  readonly body: any;
}

interface Asked {
  readonly bearer?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Ask = (proxy: Balancer, path: string, asked?: Asked) => Promise<Reply>;

/** A request that got no whole answer has status 0. */
export function clientOf({ publicUrl }: Pick<Stack, 'publicUrl'>): { ask: Ask; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca: readFileSync(CERTIFICATE) });
  const { host } = new URL(publicUrl);
  const ask: Ask = async (proxy, path, asked = {}) => {
    const reply = await once(proxy, path, asked);
    // A proxy closes an idle connection while the client sends on it: HTTP clients send again on a new one.
    const isSafe = asked.body === undefined || asked.headers?.['idempotency-key'] !== undefined;
    return reply.isStale && isSafe ? once(proxy, path, asked) : reply;
  };
  const once = (
    { name: proxy, port }: Balancer,
    path: string,
    { bearer, body, headers = {} }: Asked,
  ) =>
    new Promise<Reply & { isStale?: boolean }>((resolve) => {
      const chunks: string[] = [];
      const failed = (error: Error) => {
        const isStale = sent.reusedSocket && chunks.length === 0;
        resolve({ proxy, status: 0, headers: {}, text: error.message, chunks, body: {}, isStale });
      };
      const sent = request(
        {
          host: '127.0.0.1',
          servername: 'localhost',
          port,
          path,
          agent,
          method: body ? 'POST' : 'GET',
          timeout: 60_000,
          headers: {
            host,
            ...(bearer && { authorization: `Bearer ${bearer}` }),
            ...(body && { 'content-type': 'application/json' }),
            ...headers,
          },
        },
        (response) => {
          response.setEncoding('utf8').on('data', (part: string) => chunks.push(part));
          response.on('error', failed);
          response.on('aborted', () => failed(new Error('the answer was cut')));
          response.on('end', () => {
            const text = chunks.join('');
            const { statusCode: status = 0 } = response;
            resolve({ proxy, status, headers: response.headers, text, chunks, body: parsed(text) });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error('no answer within a minute')));
      sent.on('error', failed);
      sent.end(body && JSON.stringify(body));
    });
  return { ask, close: () => agent.destroy() };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
