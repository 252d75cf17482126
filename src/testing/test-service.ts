/**
 * A service in memory, for the tests of its author: the real runtime, store, keys and checks, a clock that the
 * test moves, and callers by name.
 *
 * It opens no port, reads no environment and no configuration file, writes no file, and leaves signals
 * alone. Everything ends with `close()`. Several run side by side.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { createClient } from '../client/index.ts';
import { type Config, configOf, type GivenSettings } from '../config/config.ts';
import { entryView } from '../domain/log/entry.ts';
import { parseDuration } from '../domain/values/duration.ts';
import { fromMinor } from '../domain/values/money.ts';
import { watchLoad } from '../http/bounds/shed.ts';
import { type AppService, openApp } from '../http/mounted/app.ts';
import type { MountOptions } from '../http/mounted/mount.ts';
import { mountAddress } from '../http/mounted/mount-address.ts';
import { generateJwk } from '../keyring/es256.ts';
import { type Keyring, openKeyring } from '../keyring/keyring.ts';
import { createLog } from '../log.ts';
import { type Platform, system } from '../platform.ts';
import type { AuditEntry } from '../protocol/audit.ts';
import type { CapabilityMap, TypedService } from '../protocol/typed.ts';
import type { ServiceDefinition } from '../service/author/definition.ts';
import { createRuntime, type Runtime } from '../service/runtime.ts';
import { openStore } from '../storage/open.ts';
import type { BindingRecord } from '../storage/port/records.ts';
import type { Store } from '../storage/port/store.ts';
import { matchesEntry, onlyEntry } from './expect.ts';
import { peopleOf } from './people.ts';
import type { LogLine, PinnedBinding, TestedService } from './types.ts';

/**
 * The settings of a service in a test, and the time at which its clock starts.
 *
 * @example
 * import { createService } from 'writ';
 * import { type TestServiceOptions, testService } from 'writ/testing';
 *
 * const newYear: TestServiceOptions = {
 *   now: new Date('2030-01-01T00:00:00Z'),
 *   settings: { max_ttl_hours: 1 },
 * };
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }), newYear);
 * console.log(desk.now().toISOString());
 * await desk.close();
 */
export interface TestServiceOptions {
  /** Settings as in `writ.config`, such as `disclosure`, `identities` or `actor_policies`. */
  readonly settings?: Omit<GivenSettings, 'store' | 'data' | 'keys' | 'host' | 'port'> | undefined;
  /** When the clock starts; by default now. Only `advance()` moves it. */
  readonly now?: Date | undefined;
  /** Where the service stands in an app, and how the app says who asks, as in `mount()`. */
  readonly mount?: Pick<MountOptions, 'prefix' | 'identify'> | undefined;
}

/** The types that a service carries, or any names where it carries none. */
export type TypesOf<Definition> =
  Definition extends TypedService<infer Types>
    ? Types extends CapabilityMap
      ? Types
      : CapabilityMap
    : CapabilityMap;

/**
 * Runs a service in memory for a test.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 *
 * const ping = defineCapability({
 *   name: 'ping',
 *   description: 'Answers',
 *   side_effect: 'read',
 *   minimum_scope: ['demo.ping'],
 *   handler: () => ({ pong: true }),
 * });
 * const desk = await testService(createService({ id: 'demo', capabilities: [ping] }));
 * const agent = await desk.caller('tester');
 * console.log(expectAnswer(await agent.invoke('ping')).result);
 * await desk.close();
 */
export async function testService<Definition extends ServiceDefinition>(
  service: Definition,
  options: TestServiceOptions = {},
): Promise<TestedService<TypesOf<Definition>>> {
  const clock = createClock(options.now);
  const secret = randomBytes(16).toString('hex');
  const definition = { ...service, authenticate: signIn(service, secret) };
  const config = configOf(settingsFor(service, options.settings), '/');
  const { platform } = clock;
  const prefix = options.mount?.prefix ?? PREFIX;
  const mountedAt = mountAddress(
    prefix,
    (options.mount && config.public_url) ?? `${ORIGIN_OF_TESTS}${prefix}`,
  );
  const store = await openStore('memory:', { platform, clock: clock.now });
  const keyring = memoryKeys(platform, config);
  const log: LogLine[] = [];
  let runtime: Runtime | undefined;
  const end = async () => {
    await runtime?.close(0);
    keyring.close();
    await store.close();
  };
  try {
    runtime = await createRuntime({
      ...mountedAt,
      definition,
      config,
      store,
      keyring,
      platform,
      log: createLog('warn', { write: (line) => void log.push(JSON.parse(line)) }, platform),
      // Test people have the console, where their devices enrol passkeys.
      isIdentifiedByApp: true,
    });
    // A machine that is busy with other tests must not make the service refuse requests.
    const load = watchLoad(platform, { loopDelayMaxMs: Number.POSITIVE_INFINITY });
    const app = openApp(runtime, { ...options.mount, mountedAt, surfaces: [], load });
    const open = opened({ app, runtime, store, clock, end });
    return { ...open, ...peopleOf(service, { ...open, runtime, secret }), log };
  } catch (error) {
    await end();
    throw error;
  }
}

/** No request goes there: `fetch` asks the service in this process. */
const ORIGIN_OF_TESTS = 'http://localhost';
const PREFIX = '/service';

interface Clock {
  readonly platform: Platform;
  now(): Date;
  advance(by: number | string): void;
}

function createClock(start: Date | undefined): Clock {
  let time = start?.getTime() ?? system.now();
  return {
    platform: { ...system, now: () => time },
    now: () => new Date(time),
    advance(by) {
      const ms = typeof by === 'number' ? by : parseDuration(by);
      if (ms === undefined || !Number.isFinite(ms) || ms < 0) {
        throw new Error(`Cannot advance the clock by "${by}": expected milliseconds or a duration`);
      }
      time += ms;
    },
  };
}

/** Accepts the credentials of test people, `<secret> <principal>`; others go to the hook of the author. */
function signIn(
  { authenticate }: ServiceDefinition,
  secret: string,
): NonNullable<ServiceDefinition['authenticate']> {
  return (bearer) => {
    const isOurs = bearer.startsWith(`${secret}.`);
    if (isOurs) return Buffer.from(bearer.slice(secret.length + 1), 'base64url').toString();
    return authenticate?.(bearer) ?? null;
  };
}

function settingsFor(
  { catalog }: ServiceDefinition,
  { entitlements = [], ...given }: GivenSettings = {},
): GivenSettings {
  const scopes = [...catalog.capabilities.values()].flatMap((each) => each.minimum_scope);
  const classes = Object.keys(given.disclosure ?? {});
  const everyone = {
    principals: ['human:*', 'agent:*', 'service:*'],
    scopes: [...new Set([...scopes, 'approver:*', 'operator:*'])],
    subjects: ['human:*', 'agent:*', 'service:*'],
    caller_classes: [...new Set([...CLASSES, ...classes])],
  };
  return {
    rate_limits: 'off',
    ...given,
    store: 'memory:',
    entitlements: [...entitlements, everyone],
  };
}

/** The caller classes that have a disclosure level by default. */
const CLASSES = ['default', 'internal', 'partner', 'automated_agent'];

function memoryKeys(platform: Platform, config: Config): Keyring {
  const list = () => JSON.stringify([generateJwk()]);
  const rowKeys = randomBytes(32).toString('base64');
  return openKeyring(
    { tokenKeys: list(), logKeys: list(), rowKeys },
    {
      platform,
      now: () => new Date(platform.now()),
      tokenLifetimeMaxMs: config.max_ttl_hours * 3_600_000,
      onWarning: () => undefined,
    },
  );
}

interface Parts {
  readonly app: AppService;
  readonly runtime: Runtime;
  readonly store: Store;
  readonly clock: Clock;
  /** Closes the runtime, and what is below it. */
  end(): Promise<void>;
}

function opened({ app, runtime, store, clock, end }: Parts) {
  const { fetch, listener } = app;
  const client = createClient({
    url: runtime.baseUrl(),
    fetch: (input, init) => fetch(new Request(input, init)),
    now: clock.now,
    // A test sees the first answer.
    retries: 0,
  });
  let closing: Promise<void> | undefined;
  const stop = async () => {
    await app.stop(0);
    await end();
  };
  const close = () => {
    closing ??= stop();
    return closing;
  };
  const inApp = { fetch, listener };
  return {
    client,
    ...inApp,
    ...clockOf(clock),
    ...readsOf(store),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function clockOf({ now, advance }: Clock): Pick<TestedService, 'now' | 'advance'> {
  return { now, advance };
}

type Reads = Pick<TestedService, 'entries' | 'expectEntry' | 'spent' | 'expectSpent' | 'binding'>;

/** What a test reads of a service: entries of the log, spending, bindings. */
function readsOf(store: Store): Reads {
  const entries: Reads['entries'] = async (filter = {}) => {
    const all = await allEntries(store);
    return all.filter((entry) => matchesEntry(entry, filter));
  };
  const spent: Reads['spent'] = async ({ principal, token }) => {
    const described = await store.describeToken(token.token_id, 0);
    const budget = described?.lineage.at(-1)?.budget;
    if (budget) {
      const { currency, consumed } = budget;
      return { currency, amount: fromMinor(consumed, currency) };
    }
    throw new Error(`Cannot tell what ${principal} spent: its token has no budget; give it one`);
  };
  return {
    entries,
    spent,
    expectEntry: async (filter) => onlyEntry(await allEntries(store), filter),
    async expectSpent(caller, amount) {
      const found = await spent(caller);
      if (found.amount === amount) return;
      const { principal } = caller;
      const { currency } = found;
      throw new Error(
        `Expected ${principal} to have spent ${amount} ${currency}: it spent ${found.amount}`,
      );
    },
    async binding(handle) {
      const { bindings } = await store.load({ tokenId: '', bindingIds: [handle] });
      return bindings[0] && pinned(bindings[0]);
    },
  };
}

function pinned({ type, capability, price, data, issued_at }: BindingRecord): PinnedBinding {
  const money = price && {
    currency: price.currency,
    amount: fromMinor(price.amount, price.currency),
  };
  return { type, capability, price: money, data, issued_at };
}

/** Entries in one read. */
const PAGE = 1_000;

async function allEntries(store: Store): Promise<AuditEntry[]> {
  await store.sequence();
  const all: AuditEntry[] = [];
  for (let before: number | undefined; ; ) {
    const { entries } = await store.queryEntries({ limit: PAGE, before });
    all.push(...entries.map(entryView));
    before = entries.at(-1)?.sequence;
    if (entries.length < PAGE) return all.reverse();
  }
}
