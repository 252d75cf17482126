/**
 * A real service behind a proxy that weakens one rule: it changes requests on their way in, or answers on their way out.
 *
 * Header lines travel as they came, so that without a weakness the service sees what the attacker sent.
 *
 * @module
 */

import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { atEnd } from '../support/ends.ts';

export interface Passed {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn, as on the wire. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export interface Answered {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

export interface Weakness {
  /** The rule that is not kept. */
  readonly name: string;
  /** Cases that must report it: exactly these of the cases that run. */
  readonly breaks: readonly string[];
  /** Cases that run beside them and must not report it. */
  readonly beside?: readonly string[];
  readonly withEffects?: boolean;
  /** It ends the service, so each case needs a run of its own. */
  readonly isEachAlone?: boolean;
  readonly lenientParser?: boolean;
  /** Changes a request, or answers it in the place of the service. */
  readonly request?: (
    passed: Passed,
    memory: Memory,
  ) => Passed | Answered | Promise<Passed | Answered>;
  readonly answer?: (answered: Answered, passed: Passed, memory: Memory) => Answered;
}

/** What a proxy remembers of a run. */
export interface Memory {
  /** Tokens by their ids, as the service issued them. */
  readonly tokens: Map<string, string>;
  readonly kept: Map<string, unknown>;
  /** Asks the service itself. */
  forward(passed: Passed): Promise<Answered>;
  /** Open connections of clients. */
  connections(): number;
  /** Ends the service for all later requests. */
  stop(): void;
}

export async function openWeakProxy(target: string, weakness: Weakness): Promise<string> {
  const { hostname, port } = new URL(target);
  const forward = (passed: Passed) => forwarded({ hostname, port }, passed);
  let isStopped = false;
  const sockets = new Set<Socket>();
  const memory: Memory = {
    tokens: new Map(),
    kept: new Map(),
    forward,
    connections: () => sockets.size,
    stop: () => {
      isStopped = true;
    },
  };
  const server = createServer(
    { insecureHTTPParser: weakness.lenientParser === true },
    (incoming, response) => {
      void pass(incoming, response).catch(() => response.destroy());
    },
  );
  const pass = async (incoming: IncomingMessage, response: ServerResponse) => {
    const passed = await readRequest(incoming);
    if (isStopped) return void response.destroy();
    const changed = (await weakness.request?.(passed, memory)) ?? passed;
    const answered = 'status' in changed ? changed : await forward(changed);
    remember(memory, passed, answered);
    const { status, headers, body } = weakness.answer?.(answered, passed, memory) ?? answered;
    if (isStopped) return void response.destroy();
    const kept = Object.entries(headers).filter(
      ([name]) =>
        !['content-length', 'transfer-encoding', 'connection', 'keep-alive'].includes(name),
    );
    response.writeHead(status, Object.fromEntries(kept) as Record<string, string>).end(body);
  };
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return listening(server);
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function readRequest(incoming: IncomingMessage): Promise<Passed> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { method = 'GET', url: path = '/', rawHeaders: headers } = incoming;
  return { method, path, headers, body: Buffer.concat(chunks) };
}

function forwarded(target: { hostname: string; port: string }, passed: Passed): Promise<Answered> {
  const { method, path, body } = passed;
  const headers = withHeader(
    withoutHeaders(passed, ['content-length', 'transfer-encoding', 'connection']),
    'Content-Length',
    String(body.length),
  ).headers;
  return new Promise((resolve, reject) => {
    // An array keeps repeated header lines apart.
    const sent = request(
      { ...target, method, path, headers: [...headers] as never, agent: false },
      async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

function remember({ tokens }: Memory, { path }: Passed, { status, body }: Answered): void {
  if (path !== '/svc/tokens' || status !== 200) return;
  const { token_id, token } = jsonOf(body);
  tokens.set(token_id, token);
}

/** The parsed body; an empty object where there is none. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came by.
export function jsonOf(body: Buffer): any {
  try {
    return JSON.parse(body.toString()) ?? {};
  } catch {
    return {};
  }
}

export function withJson<Part extends Passed | Answered>(part: Part, json: unknown): Part {
  return { ...part, body: Buffer.from(JSON.stringify(json)) };
}

export function headerOf({ headers }: Passed, name: string): string | undefined {
  const at = headers.findIndex((each, index) => index % 2 === 0 && each.toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1];
}

function withoutHeaders(passed: Passed, names: readonly string[]): Passed {
  const headers = passed.headers.filter((_, index) => {
    const name = passed.headers[index - (index % 2)] ?? '';
    return !names.includes(name.toLowerCase());
  });
  return { ...passed, headers };
}

function withHeader(passed: Passed, name: string, value: string): Passed {
  return { ...passed, headers: [...passed.headers, name, value] };
}

export function bearerOf(passed: Passed): string {
  return (headerOf(passed, 'authorization') ?? '').replace(/^Bearer /, '');
}

export function withBearer(passed: Passed, bearer: string): Passed {
  return withHeader(withoutHeaders(passed, ['authorization']), 'Authorization', `Bearer ${bearer}`);
}

/** A part of a JWT, unverified; an empty object for another text. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came by.
export function partOf(jwt: string, index: 0 | 1): any {
  return jsonOf(Buffer.from(jwt.split('.')[index] ?? '', 'base64url'));
}

export function answerWith(status: number, json: unknown): Answered {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(json)),
  };
}

/** A request for a child, and the fields it asks for. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the attacker sent.
export function childRequest({ path, body }: Passed): any {
  const json = jsonOf(body);
  return path === '/svc/tokens' && typeof json.parent_token === 'string' ? json : undefined;
}
