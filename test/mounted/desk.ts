/**
 * The travel desk mounted by the public API under `/desk`, with a folder of its own.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEMO_IDENTITIES, travelDesk } from '../../examples/travel/service.ts';
import { type MountedService, type MountOptions, mount } from '../../src/index.ts';
import { createLog } from '../../src/log.ts';
import type { ServiceDefinition } from '../../src/service/author/definition.ts';
import { ALICE } from '../support/world.ts';

export const PREFIX = '/desk';
export const ORIGIN = 'http://127.0.0.1:3000';
export const PUBLIC_URL = `${ORIGIN}${PREFIX}`;

/** What the app's own users may ask for. */
const ENTITLEMENTS = [{ principals: ['human:*'], scopes: ['travel.*'], subjects: ['agent:*'] }];

export interface MountedDesk extends MountedService {
  /** The lines of its log. */
  readonly lines: string[];
  /** Asks by fetch, with a path below the prefix. */
  ask(method: string, path: string, options?: Asked): Promise<Told>;
  /** The text of a token, asked for with a demo key. */
  token(scope?: readonly string[]): Promise<string>;
}

interface Asked {
  readonly bearer?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Told {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  readonly body: any;
}

export async function mountDesk(
  { settings, ...options }: Partial<MountOptions> = {},
  definition: ServiceDefinition = travelDesk,
): Promise<MountedDesk> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-mounted-'));
  const lines: string[] = [];
  const service = await mount(definition, {
    prefix: PREFIX,
    folder,
    environment: {},
    log: createLog('debug', { write: (line) => void lines.push(line) }),
    settings: {
      store: 'memory:',
      public_url: PUBLIC_URL,
      identities: DEMO_IDENTITIES,
      entitlements: ENTITLEMENTS,
      ...settings,
    },
    ...options,
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  const ask: MountedDesk['ask'] = async (method, path, asked) => {
    return toldBy(await service.fetch(requestOf(method, `${PUBLIC_URL}${path}`, asked)));
  };
  return {
    ...service,
    lines,
    ask,
    async token(scope = ['travel.search', 'travel.read']) {
      const { body } = await ask('POST', '/svc/tokens', { bearer: ALICE, body: { scope } });
      return body.token;
    },
    async close() {
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function requestOf(method: string, url: string, { bearer, body, headers }: Asked = {}) {
  return new Request(url, {
    method,
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

export async function toldBy(response: Response): Promise<Told> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get('content-type')?.includes('json');
  return { status, headers, body: isJson && text ? JSON.parse(text) : text };
}

/** Starts an app on a free port. Returns its address and what ends it. */
export async function listened(
  app: RequestListener,
): Promise<{ url: string; end(): Promise<void> }> {
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async end() {
      server.close();
      server.closeAllConnections();
    },
  };
}
