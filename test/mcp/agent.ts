/**
 * The official client, in either version of the protocol, connected to the travel desk.
 *
 * @module
 */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { InvokeFailure, InvokeSuccess } from '../../src/protocol/invocation.ts';

/** Both versions of the protocol, as the official client speaks them. */
export const VERSIONS = [
  { version: '2025-11-25', mode: 'legacy' },
  { version: '2026-07-28', mode: { pin: '2026-07-28' } },
] as const;

type Version = (typeof VERSIONS)[number];

/** What a person at the client says when the service has a question. */
export type Person = (message: string) => Promise<'accept' | 'decline'>;

interface AgentOptions {
  readonly version: Version;
  readonly url: string;
  readonly token: string;
  readonly person?: Person;
}

export async function connectAgent({ version, url, token, person }: AgentOptions): Promise<Client> {
  const client = newAgent(version, person);
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  return client;
}

export function newAgent({ mode }: Version, person?: Person): Client {
  const client = new Client(
    { name: 'test-agent', version: '1.0.0' },
    {
      versionNegotiation: { mode },
      capabilities: person ? { elicitation: { form: {} } } : {},
    },
  );
  if (person) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const action = await person(params.message);
      return action === 'accept' ? { action, content: {} } : { action };
    });
  }
  return client;
}

interface Called {
  readonly isError: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  readonly answer: (InvokeSuccess | InvokeFailure) & any;
}

export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  options?: Parameters<Client['callTool']>[1],
): Promise<Called> {
  const result = await client.callTool({ name, arguments: args }, options);
  const [first] = result.content;
  return {
    isError: result.isError === true,
    text: first?.type === 'text' ? first.text : '',
    answer: result.structuredContent,
  };
}
