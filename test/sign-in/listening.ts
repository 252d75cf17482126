/**
 * The travel desk on a real port where people sign in, and a person who uses it over that port.
 *
 * @module
 */

import { pagesUrl } from '../../src/address/host.ts';
import { listening } from '../http/socket.ts';
import { type Reply, type TestOptions, type TestService, testService } from '../support/world.ts';
import { type Person, personAt } from './browser.ts';

export interface ListeningDesk {
  readonly service: TestService;
  readonly url: string;
}

export async function listeningDesk(options: TestOptions = {}): Promise<ListeningDesk> {
  let url = 'http://127.0.0.1';
  const service = await testService({ ...options, baseUrl: () => url });
  url = `http://127.0.0.1:${await listening(service)}`;
  return { service, url };
}

/** A person with cookies, who asks by `fetch` under the name that the pages have. */
export function personOver(baseUrl: string): Person {
  const url = pagesUrl(baseUrl);
  const ask: TestService['ask'] = async (method, path, { body, headers = {} } = {}) => {
    const { host: _, ...others } = headers;
    const response = await fetch(new URL(path, url), {
      method,
      redirect: 'manual',
      headers: { ...others, ...(others.origin !== undefined && { origin: url }) },
      ...(body !== undefined && { body: String(body) }),
    });
    return replyOf(response);
  };
  return personAt({ ask });
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  const headers: Record<string, unknown> = Object.fromEntries(response.headers);
  headers['set-cookie'] = response.headers.getSetCookie();
  return { status: response.status, body: text, text, headers };
}
