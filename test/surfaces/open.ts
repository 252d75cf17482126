/**
 * Every surface of the travel desk, opened on a running service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import express from 'express';
import { overHttp, overMcp, overStdio, type Surface } from '../../src/conformance/index.ts';
import { type AppService, openApp } from '../../src/http/mounted/app.ts';
import { mountAddress } from '../../src/http/mounted/mount-address.ts';
import { mcpSurface } from '../../src/mcp/http.ts';
import { serveConversation } from '../../src/stdio/server.ts';
import { listening } from '../http/socket.ts';
import { connectAgent, VERSIONS } from '../mcp/agent.ts';
import { patientLoad, type TestService } from '../support/world.ts';
import { overClient } from './surface-client.ts';
import { inProcess } from './surface-process.ts';

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
  { name: 'mounted, over fetch', open: async (service) => openFetch(service) },
  { name: 'mounted, in an express app', open: async (service) => openExpress(service) },
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

const PREFIX = '/desk';

function mountedIn({ runtime }: TestService): AppService {
  const mountedAt = mountAddress(PREFIX, `http://127.0.0.1${PREFIX}`);
  return openApp(runtime, { mountedAt, surfaces: [mcpSurface(runtime)], load: patientLoad() });
}

async function openFetch(service: TestService): Promise<OpenSurface> {
  const app = mountedIn(service);
  const surface = overHttp(`http://127.0.0.1${PREFIX}`, app.fetch);
  return { surface, end: () => app.stop(0) };
}

async function openExpress(service: TestService): Promise<OpenSurface> {
  const app = mountedIn(service);
  const shop = express();
  shop.get('/', (_request, response) => void response.send('the shop'));
  shop.use(app.listener);
  const server = shop.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.equal(await (await fetch(url)).text(), 'the shop');
  const end = async () => {
    await app.stop(0);
    server.close();
    server.closeAllConnections();
  };
  return { surface: overHttp(`${url}${PREFIX}`), end };
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
