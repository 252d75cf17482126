/**
 * People at a terminal: the command line in this process, against a desk on a real port.
 *
 * @module
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { main } from '../../src/cli/main.ts';
import type { Io } from '../../src/cli/shell/command.ts';
import { listening } from '../http/socket.ts';
import { closedAtEnd } from '../support/ends.ts';
import type { Desk } from './desk.ts';

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `writ approvals …`. Without `answers` there is no terminal. */
export async function approvals(
  args: readonly string[],
  at: {
    readonly url: string;
    readonly key: string;
    readonly answers?: readonly string[];
  } & Partial<Io>,
): Promise<Ran> {
  const { url, key, answers, ...io } = at;
  let [out, err] = ['', ''];
  const left = [...(answers ?? [])];
  const ask = async (question: string) => {
    err += question;
    return left.shift();
  };
  const status = await main(['approvals', ...args, '--service', url], {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env: { WRIT_CLIENT_CREDENTIAL: key },
    ...(answers && { ask }),
    ...io,
  });
  return { status, out, err };
}

export async function portOf(desk: Desk): Promise<string> {
  return `http://127.0.0.1:${await listening(desk)}`;
}

/** Passes requests on to a service, and changes its answers to those whose path ends so. */
export async function lyingService(
  url: string,
  ending: string,
  lie: (answer: never) => unknown,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? '/';
    const headers = Object.entries(request.headers).filter(
      ([name]) => !['host', 'connection', 'content-length'].includes(name),
    );
    const answer = await fetch(`${url}${path}`, {
      method: request.method ?? 'GET',
      headers: headers as [string, string][],
      ...(request.method === 'POST' && { body: Buffer.concat(chunks) }),
    });
    const body = await answer.text();
    const isLie = path.endsWith(ending) && answer.ok;
    response
      .writeHead(answer.status, { 'content-type': 'application/json' })
      .end(isLie ? JSON.stringify(lie(JSON.parse(body) as never)) : body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closedAtEnd({ close: () => new Promise((resolve) => server.close(resolve)) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
