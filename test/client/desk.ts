/**
 * The travel desk on a real port, and clients of it whose network can be made to fail.
 *
 * @module
 */

import { type Client, type ClientOptions, createClient } from '../../src/client/index.ts';
import { listening } from '../http/socket.ts';
import { ALICE, type TestOptions, type TestService, testService } from '../support/world.ts';

export const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

export interface Desk {
  readonly service: TestService;
  readonly url: string;
  /** A client with a token of these scopes, for an agent. */
  client(scope: string[], options?: Partial<ClientOptions> & { token?: object }): Promise<Client>;
}

export async function openDesk(options: TestOptions = {}): Promise<Desk> {
  const service = await testService(options);
  const url = `http://127.0.0.1:${await listening(service)}`;
  return {
    service,
    url,
    async client(scope, { token: more, ...rest } = {}) {
      const asked = { scope, subject: 'agent:planner', caller_class: 'internal', ...more };
      const { token } = await service.issue(ALICE, asked);
      return createClient({ url, credential: token, pause: async () => undefined, ...rest });
    },
  };
}

/** A network that carries every request there, and loses the answers to some. */
export function losing(isLost: (path: string, count: number) => boolean): {
  fetch: typeof fetch;
  sent: string[];
} {
  const sent: string[] = [];
  return {
    sent,
    async fetch(input, init) {
      const path = new URL(String(input)).pathname;
      sent.push(path);
      const response = await fetch(input, init);
      const count = sent.filter((each) => each === path).length;
      if (!isLost(path, count)) return response;
      await response.arrayBuffer();
      throw new TypeError('fetch failed', { cause: new Error('connection reset') });
    },
  };
}

/** A network in which somebody else answers for some paths. */
export function answering(answer: (path: string) => Response | undefined): typeof fetch {
  return async (input, init) => answer(new URL(String(input)).pathname) ?? fetch(input, init);
}
