/**
 * The world of the tests: a whole service in this process, on either store, asked over its real HTTP
 * surface without a socket. The folders add their own catalog of capabilities and what they ask most.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import inject from 'light-my-request';
import { DEMO_IDENTITIES, travelDesk } from '../../examples/travel/service.ts';
import { configOf } from '../../src/config/config.ts';
import { entryView } from '../../src/domain/log/entry.ts';
import type { ConnectionBounds } from '../../src/http/bounds/connection.ts';
import { type Load, watchLoad } from '../../src/http/bounds/shed.ts';
import { createHttpServer, type HttpServer } from '../../src/http/server.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import type { RowKeys } from '../../src/keyring/row-keys.ts';
import { createLog } from '../../src/log.ts';
import { mcpSurface } from '../../src/mcp/http.ts';
import { type Platform, system } from '../../src/platform.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { ServiceDefinition } from '../../src/service/author/definition.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/service/runtime.ts';
import { openStore } from '../../src/storage/open.ts';
import type { MarkStore } from '../../src/storage/port/mark.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { emptyStore, type Place } from './empty-store.ts';
import { atEnd, temporaryFolder } from './ends.ts';
import { group } from './missing.ts';

export interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  readonly body: any;
  /** The body as it came. */
  readonly text?: string;
  readonly headers: Record<string, unknown>;
}

export interface AskOptions {
  readonly bearer?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface TestService {
  readonly store: Store;
  /** What authenticates the rows that a test puts into the store by itself. */
  readonly rows: RowKeys;
  readonly log: string[];
  /** The server itself, for a test that needs a socket or exact bytes. */
  readonly app: HttpServer;
  /** What every transport asks. */
  readonly runtime: Runtime;
  ask(method: string, path: string, options?: AskOptions): Promise<Reply>;
  /** A token, asked for with a demo key or another token. */
  issue(bearer: string, request: object): Promise<IssueAnswer>;
  /** A child of a token with the same scope unless the request narrows it, asked for with the token. */
  delegate(parent: IssueAnswer, request?: object): Promise<IssueAnswer>;
  invoke(
    token: string,
    capability: string,
    parameters?: object,
    more?: { fields?: object; headers?: Record<string, string> },
  ): Promise<Reply>;
  /** The entries that a query of the store finds, oldest first. */
  entriesBy(query: Omit<Parameters<Store['queryEntries']>[0], 'limit'>): Promise<AuditEntry[]>;
  /** What a token was given, has reserved and has spent, in minor units. */
  budgetOf(token: IssueAnswer): Promise<{ max: bigint; reserved: bigint; consumed: bigint }>;
  /** Reads the key folder now, as the service does every few seconds. */
  refreshKeys(): void;
  /** Moves the service's clock. */
  advance(ms: number): void;
  /** Stops the service's clock, so that only `advance` moves it, or lets it go on. */
  holdClock(held: boolean): void;
  close(): Promise<void>;
}

export interface TestOptions {
  readonly store?: string;
  readonly definition?: ServiceDefinition;
  readonly settings?: object;
  /** Stands between the service and its store. */
  readonly wrap?: (store: Store) => Store;
  readonly recovery?: RuntimeOptions['recovery'];
  readonly upkeep?: RuntimeOptions['upkeep'];
  readonly mark?: MarkStore;
  /** Where the keys are, for services that share them. */
  readonly keys?: string;
  readonly load?: Load;
  /** What a connection may hold, beyond the defaults. */
  readonly bounds?: Partial<ConnectionBounds>;
  readonly tracer?: RuntimeOptions['tracer'];
  readonly slicer?: RuntimeOptions['slicer'];
  readonly platform?: Platform;
  /** Where clients reach the service, for a test that listens. */
  readonly baseUrl?: () => string;
}

export const ALICE = 'demo-human-key';
export const AGENT = 'demo-agent-key';
export const BOB = 'demo-approver-key';
export const PARTNER = 'demo-partner-key';
export const OPERATOR = 'demo-operator-key';

/** Both stores, as a test runs on each: the embedded one in memory, and a database of its own. */
export const STORES: readonly {
  name: string;
  open(): Promise<Place>;
}[] = [
  { name: 'SQLite', open: async () => ({ url: 'memory:', drop: async () => undefined }) },
  { name: 'PostgreSQL', open: () => emptyStore() },
];

/** A machine that is busy with other tests must not make this one turn its requests away. */
export function patientLoad(inWorkMax?: number): Load {
  return watchLoad(system, {
    loopDelayMaxMs: Number.POSITIVE_INFINITY,
    ...(inWorkMax && { inWorkMax }),
  });
}

/** A service that is closed with the test or the file that started it, unless the test closes it before. */
export async function testService(options: TestOptions = {}): Promise<TestService> {
  const folder = temporaryFolder();
  let offset = 0;
  let heldAt: number | undefined;
  const platform = options.platform ?? system;
  const clock = () => new Date((heldAt ?? platform.now()) + offset);
  const { mark, keys } = options;
  const settings = { identities: DEMO_IDENTITIES, ...(keys && { keys }), ...options.settings };
  const config = configOf(settings, folder);
  const opened = await openStore(options.store ?? 'memory:', { platform, clock });
  const store = options.wrap?.(opened) ?? opened;
  const keyring = await openKeyring(
    { folder: config.keys },
    { platform, now: clock, onWarning: () => undefined },
  );
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  const definition = options.definition ?? travelDesk;
  const baseUrl = options.baseUrl ?? (() => 'http://127.0.0.1');
  const runtime = await createRuntime({
    definition,
    config,
    store,
    keyring,
    log,
    platform,
    baseUrl,
    mark,
    ...(options.recovery && { recovery: options.recovery }),
    tracer: options.tracer,
    slicer: options.slicer,
    ...(options.upkeep && { upkeep: options.upkeep }),
  });
  const load = options.load ?? patientLoad();
  const app = createHttpServer(runtime, load, [mcpSurface(runtime)], options.bounds);

  const ask: TestService['ask'] = async (method, path, { bearer, body, headers } = {}) => {
    const response = await inject(app.listener as never, {
      method: method as 'GET',
      url: path,
      headers: {
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    });
    const json = String(response.headers['content-type']).includes('json');
    return {
      status: response.statusCode,
      body: json && response.payload ? JSON.parse(response.payload) : response.payload,
      text: response.payload,
      headers: response.headers,
    };
  };
  const issue: TestService['issue'] = async (bearer, request) => {
    const { status, body } = await ask('POST', '/svc/tokens', { bearer, body: request });
    if (status !== 200) throw new Error(`Cannot issue for the test: ${JSON.stringify(body)}`);
    return body;
  };
  const end = async () => {
    await app.close();
    await runtime.close();
    keyring.close();
    await store.close();
  };
  let ending: Promise<void> | undefined;
  const close = () => {
    ending ??= end();
    return ending;
  };
  atEnd(close);
  return {
    store,
    rows: keyring.rows,
    log: lines,
    app,
    runtime,
    ask,
    issue,
    delegate: ({ token, token_id: parent_token, scope }, request) =>
      issue(token, { parent_token, scope, ...request }),
    invoke: (token, capability, parameters = {}, { fields, headers } = {}) =>
      ask('POST', `/svc/invoke/${capability}`, {
        bearer: token,
        body: { parameters, ...fields },
        ...(headers && { headers }),
      }),
    async entriesBy(query) {
      await store.sequence();
      const { entries } = await store.queryEntries({ ...query, limit: 1_000 });
      return entries.map(entryView).reverse();
    },
    async budgetOf({ token_id }) {
      const described = await store.describeToken(token_id, 0);
      const state = described?.lineage.at(-1)?.budget;
      if (!state) throw new Error(`Cannot look at the budget of ${token_id}: it has none`);
      return { max: state.max, reserved: state.reserved, consumed: state.consumed };
    },
    refreshKeys: () => keyring.refresh(),
    advance: (ms) => {
      offset += ms;
    },
    holdClock: (held) => {
      heldAt = held ? platform.now() : undefined;
    },
    close,
  };
}

/** Runs the tests of `body` on each store, with one service for all of them. */
export function onEachStore<Service, Where extends Place = Place>(
  start: (place: Where) => Promise<Service>,
  body: (service: () => Service) => void,
  stores = STORES as readonly { name: string; open(): Promise<Where> }[],
): void {
  for (const { name, open } of stores) {
    group(name, async () => {
      const service = await start(await open());
      body(() => service);
    });
  }
}

/** Looks again until it is so. The bound only ends a test that would hang. */
export async function eventually(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 2_500; tries++) {
    if (await isSo()) return;
    await pause(10);
  }
  throw new Error('Cannot go on: what was waited for did not happen');
}
