/**
 * A receiver of webhooks that behaves as a test tells it to, and remembers what it was sent.
 *
 * @module
 */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

interface Received {
  readonly path?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** How it answers from now on; 204 by default. */
  answer(how: (response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = [];
  let how = (response: ServerResponse): void => {
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      received.push({ path: request.url, headers: request.headers, body });
      how(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer(answer) {
      how = answer;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Told {
  readonly type: string;
  readonly data: Record<string, unknown>;
}

/** What was said, by the standard's own library. Throws when the signature does not verify. */
export function verified({ headers, body }: Received, secret = SECRET): Told {
  return new Webhook(secret).verify(body, headers as Record<string, string>) as Told;
}
