/**
 * Every surface of the travel desk, opened on a running service.
 *
 * @module
 */

import { PassThrough } from 'node:stream';
import { serveConversation } from '../../src/stdio/server.ts';
import {
  inProcess,
  overClient,
  overHttp,
  overMcp,
  overStdio,
  type Surface,
} from '../../src/testing/index.ts';
import { listening } from '../http/socket.ts';
import { connectAgent, VERSIONS } from '../mcp/agent.ts';
import type { TestService } from '../world.ts';

export interface OpenSurface {
  readonly surface: Surface;
  /** Ends what was opened. */
  end?(): Promise<void>;
  /** How many calls went over tools, where there are tools. */
  toolCalls?(): number;
}

export interface SurfaceKind {
  readonly name: string;
  open(service: TestService): Promise<OpenSurface>;
}

export const SURFACES: readonly SurfaceKind[] = [
  { name: 'in the process', open: async ({ runtime }) => ({ surface: inProcess(runtime) }) },
  {
    name: 'over HTTP',
    open: async (service) => ({ surface: overHttp(await addressOf(service)) }),
  },
  { name: 'over stdio', open: async ({ runtime }) => openStdio(runtime) },
  {
    name: 'over the client',
    open: async (service) => ({ surface: overClient(await addressOf(service)) }),
  },
  ...VERSIONS.map(
    (version): SurfaceKind => ({
      name: `over MCP ${version.version}`,
      open: async (service) => openMcp(await addressOf(service), version),
    }),
  ),
];

async function addressOf(service: TestService): Promise<string> {
  return `http://127.0.0.1:${await listening(service)}`;
}

function openStdio(runtime: TestService['runtime']): OpenSurface {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const { ended } = serveConversation(runtime, { input, output });
  const end = () => {
    input.end();
    return ended;
  };
  return { surface: overStdio({ input, output }), end };
}

function openMcp(url: string, version: (typeof VERSIONS)[number]): OpenSurface {
  const clients: Awaited<ReturnType<typeof connectAgent>>[] = [];
  let calls = 0;
  const surface = overMcp({
    beside: overHttp(url),
    async connect(token) {
      const client = await connectAgent({ version, url, token });
      clients.push(client);
      return {
        callTool(...call) {
          calls += 1;
          return client.callTool(...call);
        },
      };
    },
  });
  const end = async () => {
    for (const client of clients) await client.close();
  };
  return { surface, end, toolCalls: () => calls };
}
