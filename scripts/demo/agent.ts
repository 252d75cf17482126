/**
 * The agents of the demo: the official MCP client with its own sign-in, and MCP clients that hold a token.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

export interface Agent {
  readonly name: string;
  /** Its delegation token now. */
  token(): string;
  tools(): Promise<string[]>;
  call(tool: string, given?: Record<string, unknown>): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly ok: boolean;
  /** What a model reads. */
  readonly text: string;
  /** What a program reads: the result of a call that succeeded. */
  readonly result: Record<string, unknown>;
}

interface SignIn {
  readonly url: string;
  readonly name: string;
  /** Brings the address of the consent page to the person. */
  readonly open: (address: URL) => Promise<void>;
  /** Ends the wait for the person. */
  readonly signal: AbortSignal;
}

type Tokens = Parameters<OAuthClientProvider['saveTokens']>[0];
type Information = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];

/** Connects, is sent to the consent page, and connects again with what the person allowed. */
export async function signedInAgent({ url, name, open, signal }: SignIn): Promise<Agent> {
  const callback = await listenForAnswer();
  try {
    const keep = createKeep(name, callback.url);
    const asking = transportTo(url, { authProvider: keep.provider });
    const first = newClient(name);
    await first.connect(asking).then(
      () => {
        throw new Error('the guard let a client in without sign-in');
      },
      (error: Error) => {
        if (keep.asked() === undefined) throw error;
      },
    );
    const [answer] = await Promise.all([
      callback.answerTo(keep.state, signal),
      open(keep.asked() as URL),
    ]);
    await asking.finishAuth(answer);
    await first.close();
    const client = newClient(name);
    await client.connect(transportTo(url, { authProvider: keep.provider }));
    return agentOf(name, client, keep.token);
  } finally {
    callback.close();
  }
}

/** An agent that was given a token by another one. */
export async function agentWith(name: string, url: string, token: string): Promise<Agent> {
  const client = newClient(name);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(transportTo(url, { requestInit }));
  return agentOf(name, client, () => token);
}

function newClient(name: string): Client {
  return new Client({ name, version: '1.0.0' });
}

function transportTo(
  url: string,
  options: ConstructorParameters<typeof StreamableHTTPClientTransport>[1],
): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), options);
}

function agentOf(name: string, client: Client, token: () => string): Agent {
  return {
    name,
    token,
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    async call(tool, given = {}) {
      const answer = await client.callTool({ name: tool, arguments: given });
      const [first] = answer.content;
      const content = (answer.structuredContent ?? {}) as { result?: Record<string, unknown> };
      return {
        ok: answer.isError !== true,
        text: first?.type === 'text' ? first.text : '',
        result: content.result ?? {},
      };
    },
    close: () => client.close(),
  };
}

/** What an application keeps for one server. */
function createKeep(client_name: string, redirectUrl: string) {
  const state = randomBytes(16).toString('hex');
  let [verifier, asked]: [string, URL | undefined] = ['', undefined];
  let tokens: Tokens | undefined;
  let information: Information | undefined;
  let discovery: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => state,
    clientInformation: () => information,
    saveClientInformation: (given) => {
      information = given;
    },
    tokens: () => tokens,
    saveTokens: (given) => {
      tokens = given;
    },
    redirectToAuthorization: (address) => {
      asked = address;
    },
    saveCodeVerifier: (text) => {
      verifier = text;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (found) => {
      discovery = found;
    },
    discoveryState: () => discovery,
    invalidateCredentials: (what) => {
      if (what === 'all' || what === 'tokens') tokens = undefined;
    },
  };
  return { provider, state, asked: () => asked, token: () => tokens?.access_token ?? '' };
}

/** Waits on this computer for the answer that the browser of the person brings. */
async function listenForAnswer() {
  let received: (answer: URLSearchParams) => void = () => undefined;
  let expected: string | undefined;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    // Any page can send a browser here. Only the answer to our question has its state.
    const isOurs = pathname === '/callback' && searchParams.get('state') === expected;
    response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/plain', connection: 'close' });
    response.end(isOurs ? 'The agent has your answer. You can close this page.\n' : 'Not here.\n');
    if (isOurs) received(searchParams);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    async answerTo(state: string, signal: AbortSignal): Promise<URLSearchParams> {
      const answer = await new Promise<URLSearchParams>((resolve, reject) => {
        received = resolve;
        expected = state;
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      if (!answer.has('code')) throw new Error('the person refused on the consent page');
      return answer;
    },
    close() {
      server.close();
      server.closeIdleConnections();
    },
  };
}
