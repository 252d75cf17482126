/**
 * The official clients of both generations, over HTTP and as a command: what a test needs of each.
 *
 * @module
 */

import { StreamableHTTPClientTransport as HttpTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport as PipeTransport } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstPipeTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as FirstTransport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { newAgent, VERSIONS } from './agent.ts';

interface ToolCall {
  readonly name: string;
  readonly arguments?: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

export interface ListedTool {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  readonly outputSchema?: any;
  readonly annotations?: { readonly destructiveHint?: boolean | undefined } | undefined;
}

interface Told {
  readonly isError: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  readonly answer: any;
}

export interface GenerationClient {
  list(): Promise<readonly ListedTool[]>;
  call(call: ToolCall, onMessage?: (message: string) => void): Promise<Told>;
  close(): Promise<void>;
}

interface Place {
  readonly url: string;
  readonly token: string;
}

export interface Generation {
  readonly name: string;
  overHttp(place: Place): Promise<GenerationClient>;
  overPipes(place: Place): Promise<GenerationClient>;
}

export const GENERATIONS: readonly Generation[] = [
  {
    name: 'sdk 1.x',
    overHttp: (place) => firstClient(new FirstHttpTransport(...httpArguments(place))),
    overPipes: (place) => firstClient(new FirstPipeTransport(command(place))),
  },
  ...VERSIONS.map(
    (version): Generation => ({
      name: `client 2.x speaking ${version.version}`,
      overHttp: (place) => secondClient(version, new HttpTransport(...httpArguments(place))),
      overPipes: (place) => secondClient(version, new PipeTransport(command(place))),
    }),
  ),
];

function httpArguments({ url, token }: Place): [URL, { requestInit: RequestInit }] {
  return [
    new URL(`${url}/mcp`),
    { requestInit: { headers: { authorization: `Bearer ${token}` } } },
  ];
}

function command({ url, token }: Place) {
  return {
    command: process.execPath,
    args: ['dist/src/cli/bin.js', 'mcp', '--service', url],
    env: { WRIT_CLIENT_CREDENTIAL: token },
  };
}

async function firstClient(transport: object): Promise<GenerationClient> {
  const client = new FirstClient({ name: 'test-agent', version: '1.0.0' });
  // Its own transports are not assignable to its interface under exactOptionalPropertyTypes.
  await client.connect(transport as FirstTransport);
  return {
    list: async () => (await client.listTools()).tools,
    call: async (call, onMessage) =>
      toldBy(await client.callTool({ ...call }, undefined, listening(onMessage))),
    close: () => client.close(),
  };
}

async function secondClient(
  version: (typeof VERSIONS)[number],
  transport: HttpTransport | PipeTransport,
): Promise<GenerationClient> {
  const client = newAgent(version);
  await client.connect(transport);
  return {
    list: async () => (await client.listTools()).tools,
    call: async (call, onMessage) =>
      toldBy(await client.callTool({ ...call }, listening(onMessage))),
    close: () => client.close(),
  };
}

function listening(onMessage: ((message: string) => void) | undefined) {
  if (!onMessage) return {};
  const onprogress = ({ message = '' }: { message?: string | undefined }) => onMessage(message);
  return { onprogress };
}

function toldBy(result: object): Told {
  const { isError, content, structuredContent } = result as {
    isError?: boolean;
    content: { text?: string }[];
    structuredContent?: unknown;
  };
  return { isError: isError === true, text: content[0]?.text ?? '', answer: structuredContent };
}
