/**
 * The official MCP clients of both generations with their own authorization flow. The test adds only what an
 * application has to bring: a place for tokens, and a browser that opens the address it is given.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  type OAuthClientProvider,
  StreamableHTTPClientTransport as SecondTransport,
} from '@modelcontextprotocol/client';
import type { OAuthClientProvider as FirstProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { newAgent, VERSIONS } from '../mcp/agent.ts';

/** Opens an address for the person. Resolves with the address that the browser ends at: the redirect. */
export type OpenAddress = (address: URL) => Promise<URL>;

/** How the application is known to the service; nothing of it where it registers itself. */
export interface ClientOptions {
  /** The service as it names itself. */
  readonly issuer: string;
  readonly redirectUrl: string;
  readonly client_id?: string;
  readonly clientMetadataUrl?: string;
}

/** What an application keeps for one server, as both generations ask for it. */
export interface Keep extends OAuthClientProvider {
  /** The addresses that the client wanted to open, oldest first. */
  readonly opened: URL[];
  /** What the client keeps now. */
  readonly kept: { tokens?: Tokens | undefined; client?: Information | undefined };
  /** The state of the last authorization. */
  readonly states: string[];
}

type Tokens = Parameters<OAuthClientProvider['saveTokens']>[0];
type Information = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];

export function createKeep({
  issuer,
  redirectUrl,
  client_id,
  clientMetadataUrl,
}: ClientOptions): Keep {
  const kept: { tokens?: Tokens | undefined; client?: Information | undefined } = {};
  if (client_id !== undefined) kept.client = { client_id, issuer };
  let verifier = '';
  let discovery: ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>;
  const [opened, states]: [URL[], string[]] = [[], []];
  return {
    opened,
    kept,
    states,
    redirectUrl,
    ...(clientMetadataUrl && { clientMetadataUrl }),
    clientMetadata: {
      client_name: 'Trip Helper',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state() {
      states.push(randomBytes(16).toString('hex'));
      return states.at(-1) as string;
    },
    clientInformation: () => kept.client,
    saveClientInformation(client) {
      kept.client = client;
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens;
    },
    redirectToAuthorization: (address) => void opened.push(address),
    saveCodeVerifier(text) {
      verifier = text;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(state) {
      discovery = state;
    },
    discoveryState: () => discovery,
    invalidateCredentials(what) {
      if (what === 'all' || what === 'tokens') kept.tokens = undefined;
    },
  };
}

interface Told {
  readonly isError: boolean;
  readonly text: string;
}

export interface Connected {
  list(): Promise<string[]>;
  call(name: string, args?: Record<string, unknown>): Promise<Told>;
  close(): Promise<void>;
}

interface Attempt extends Connected {
  connect(): Promise<void>;
  /** Redeems the answer that the browser brought. */
  finish(answer: URLSearchParams): Promise<void>;
}

export interface AuthorizedGeneration {
  readonly name: string;
  attempt(url: string, keep: Keep): Attempt;
}

export const AUTHORIZED: readonly AuthorizedGeneration[] = [
  { name: 'sdk 1.x', attempt: firstAttempt },
  ...VERSIONS.map((version) => ({
    name: `client 2.x speaking ${version.version}`,
    attempt: (url: string, keep: Keep) => secondAttempt(version, url, keep),
  })),
];

function firstAttempt(url: string, keep: Keep): Attempt {
  const client = new FirstClient({ name: 'trip-helper', version: '1.0.0' });
  const authProvider = keep as unknown as FirstProvider;
  const transport = new FirstTransport(new URL(`${url}/mcp`), { authProvider });
  return {
    // Its own transports are not assignable to its interface under exactOptionalPropertyTypes.
    connect: () => client.connect(transport as Transport),
    finish: (answer) => transport.finishAuth(answer.get('code') ?? ''),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => toldBy(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}

function secondAttempt(version: (typeof VERSIONS)[number], url: string, keep: Keep): Attempt {
  const client = newAgent(version);
  const transport = new SecondTransport(new URL(`${url}/mcp`), { authProvider: keep });
  return {
    connect: () => client.connect(transport),
    finish: (answer) => transport.finishAuth(answer),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => toldBy(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}

function toldBy(result: object): Told {
  const { isError, content } = result as { isError?: boolean; content: { text?: string }[] };
  return { isError: isError === true, text: content[0]?.text ?? '' };
}

/** Whether the client gave up because the person has to sign in. Both generations name their error so. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof Error && error.constructor.name === 'UnauthorizedError';
}

/** What an application does: connects, and where the client asks for it lets the person sign in first. */
export async function signedIn(
  { attempt }: AuthorizedGeneration,
  url: string,
  keep: Keep,
  open: OpenAddress,
): Promise<Connected> {
  const first = attempt(url, keep);
  await assert.rejects(first.connect(), isUnauthorized);
  const answer = await open(keep.opened.at(-1) as URL);
  assert.equal(answer.searchParams.get('state'), keep.states.at(-1));
  await first.finish(answer.searchParams);
  await first.close();
  const second = attempt(url, keep);
  await second.connect();
  return second;
}
