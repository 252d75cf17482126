/**
 * Runs commands without a process, and a network between them and a service that can lose answers.
 *
 * @module
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { main } from '../../src/cli/main.ts';
import type { Io } from '../../src/cli/shell/command.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly credential?: string | undefined;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly ask?: Io['ask'];
}

/** No login of the person who runs the tests. */
const LOGINS = join(temporaryFolder(), 'logins.json');

/** Runs a command at one service. */
export function atService(url: string) {
  return async (args: readonly string[], options: RunOptions = {}): Promise<Ran> => {
    const { credential, input, env, ask } = options;
    let [out, err] = ['', ''];
    const status = await main(args, {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      env: {
        WRIT_LOGINS: LOGINS,
        WRIT_CLIENT_SERVICE: url,
        ...(credential !== undefined && { WRIT_CLIENT_CREDENTIAL: credential }),
        ...env,
      },
      ...(input !== undefined && { input: async () => input }),
      ask,
    });
    return { status, out, err };
  };
}

/** The lines of standard output, each as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was printed.
export function jsonLines({ out }: Ran): any[] {
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Carries every request to a service, and loses the answers of some paths. */
export async function lossyNetwork(target: string, isLost: (path: string) => boolean) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
    const body = Buffer.concat(chunks);
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(body.length > 0 && { body }),
    });
    const text = await answer.text();
    if (isLost(request.url ?? '')) {
      request.socket.destroy();
      return;
    }
    const kept = [...answer.headers].filter(([name]) => name !== 'content-length');
    response.writeHead(answer.status, Object.fromEntries(kept)).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
