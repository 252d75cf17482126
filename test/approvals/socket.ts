/**
 * A desk asked over a real socket.
 *
 * @module
 */

import { listening } from '../http/socket.ts';
import type { AskOptions, Reply } from '../support/world.ts';
import type { Desk } from './desk.ts';

const ports = new WeakMap<Desk, Promise<number>>();

/** Asks like `desk.ask`, through the loopback interface. The desk listens from the first time on. */
export async function askedOverSocket(
  desk: Desk,
): Promise<(method: string, path: string, options: AskOptions) => Promise<Reply>> {
  const listens = ports.get(desk) ?? listening(desk);
  ports.set(desk, listens);
  const port = await listens;
  return async (method, path, { bearer, body, headers }) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      body: JSON.parse(text),
      headers: Object.fromEntries(response.headers),
    };
  };
}
