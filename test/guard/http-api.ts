/**
 * HTTP APIs on this machine for tests of capabilities that call one.
 *
 * @module
 */

import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface LocalApi {
  readonly origin: string;
  readonly requests: readonly ReceivedRequest[];
  close(): Promise<void>;
}

/** Answers each request as given, after it has read all of it. */
export async function localApi(
  answer: (request: ReceivedRequest, response: Parameters<RequestListener>[1]) => void,
): Promise<LocalApi> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = incoming;
    const request = { method, url, headers, body: Buffer.concat(chunks).toString() };
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** An answer in JSON. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}) {
  return (_: ReceivedRequest, response: Parameters<RequestListener>[1]) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(value));
  };
}
