/**
 * What is measured: requests to the baselines and to the service, and what each has to reach.
 *
 * @module
 */

import type { Database } from './database.ts';
import type { Program } from './processes.ts';
import { orNoAnswer } from './silence.ts';

export interface Target {
  readonly name: string;
  readonly program: Program;
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The status every answer has to have; 200 when left out. */
  readonly status?: number;
  /** The server of its store, where it has one; its work counts too. */
  readonly database?: Database | undefined;
  /** The target it is compared with. */
  readonly baseline?: string | undefined;
  /** Ratios to the baseline. */
  readonly reach?: number | undefined;
  readonly aim?: number | undefined;
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const ECHO = 'fastify POST echo';

/** By how much a commit of `bench/driver.mjs` takes longer. */
export const SLOW_COMMIT_MS = 1;

/** A bootstrap credential of the showcase. */
const ALICE = 'demo-human-key';

export function baselines({ node, fastify, mcp }: Record<'node' | 'fastify' | 'mcp', Program>) {
  const body = JSON.stringify({ parameters: { origin: 'SEA', destination: 'SFO' } });
  const post = { path: '/', method: 'POST', headers: JSON_HEADERS, body } as const;
  const params = { name: 'echo', arguments: { origin: 'SEA', destination: 'SFO' } };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const accept = 'application/json, text/event-stream';
  return [
    { name: ECHO, program: fastify, ...post },
    { name: 'node:http POST echo', program: node, ...post, baseline: ECHO },
    {
      name: 'official MCP server, one trivial tool',
      program: mcp,
      path: '/',
      method: 'POST',
      headers: { ...JSON_HEADERS, accept },
      body: JSON.stringify(call),
      baseline: ECHO,
    },
  ] satisfies Target[];
}

/** Three flights, each with a quote. */
const ROUTE = { origin: 'SEA', destination: 'SFO', date: '2030-05-17' };

/** What the two stores have to reach for one kind of work. */
type Bar = Pick<Target, 'reach' | 'aim'>;

const BARS: Readonly<Record<'SQLite' | 'PostgreSQL', Readonly<Record<string, Bar>>>> = {
  SQLite: {
    read: { reach: 0.48, aim: 0.58 },
    write: { reach: 0.4, aim: 0.5 },
    permissions: { reach: 0.75, aim: 0.9 },
    issuance: { reach: 0.28, aim: 0.45 },
    search: { reach: 0.35, aim: 0.45 },
  },
  PostgreSQL: { read: { reach: 0.28, aim: 0.35 }, write: { reach: 0.2, aim: 0.25 } },
};

/** The target whose waiting time and promises have goals of their own. */
export const READ_ON_SQLITE = 'invoke, read capability, SQLite';

export async function workTargets(
  store: 'SQLite' | 'PostgreSQL',
  program: Program,
  database?: Database,
): Promise<Target[]> {
  const bearer = (token: string) => ({ ...JSON_HEADERS, authorization: `Bearer ${token}` });
  const headers = bearer(await issue(program, ['travel.read', 'travel.extras']));
  const post = { program, database, method: 'POST', headers, baseline: ECHO } as const;
  const bars = BARS[store];
  const targets: Target[] = [
    {
      name: `invoke, read capability, ${store}`,
      ...post,
      path: '/svc/invoke/find_traveler',
      body: JSON.stringify({ parameters: { traveler: 'TR-1' } }),
      ...bars.read,
    },
    {
      name: `invoke, write with budget and admission, ${store}`,
      ...post,
      path: '/svc/invoke/buy_lounge_pass',
      body: '{"parameters":{}}',
      ...bars.write,
    },
    {
      name: `permissions, ${store}`,
      ...post,
      path: '/svc/permissions',
      body: '{}',
      ...bars.permissions,
    },
    {
      name: `root issuance, ${store}`,
      ...post,
      path: '/svc/tokens',
      headers: bearer(ALICE),
      body: '{"scope":["travel.search"]}',
      ...bars.issuance,
    },
    {
      name: `showcase search with three quotes, ${store}`,
      ...post,
      path: '/svc/invoke/search_flights',
      headers: bearer(await issue(program, ['travel.search'])),
      body: JSON.stringify({ parameters: ROUTE }),
      ...bars.search,
    },
  ];
  return targets.filter(({ reach }) => reach !== undefined);
}

/** The travel desk with its defaults, and rates that a benchmark does not exceed: their counting stays. */
export const AS_SHIPPED = {
  NODE_ENV: '',
  WRIT_LOG_LEVEL: 'info',
  WRIT_RATE_LIMITS: 'on',
  WRIT_PRINCIPAL_RATE: '100000000/PT1S',
  WRIT_ADDRESS_RATE: '100000000/PT1S',
};

/** What an agent of the showcase does, beside the echo. */
const SHIPPED = {
  get_booking: { booking_id: 'BK-1000' },
  buy_lounge_pass: {},
  search_flights: ROUTE,
};

export async function shippedTargets(program: Program): Promise<Target[]> {
  const token = await issue(program, ['travel.search', 'travel.read', 'travel.extras']);
  const headers = { ...JSON_HEADERS, authorization: `Bearer ${token}` };
  return Object.entries(SHIPPED).map(([name, parameters]) => ({
    name: `${name} of the travel desk as shipped`,
    program,
    path: `/svc/invoke/${name}`,
    method: 'POST',
    headers,
    body: JSON.stringify({ parameters }),
    baseline: ECHO,
  }));
}

/** The calls that wait for a flush, on a disk that takes longer for one. */
export async function slowCommitTargets(program: Program): Promise<Target[]> {
  const targets = await workTargets('SQLite', program);
  return targets
    .filter(({ name }) => name.startsWith('invoke'))
    .map(({ reach: _, aim: __, ...target }) => ({
      ...target,
      name: `${target.name}, commit of ${SLOW_COMMIT_MS} ms`,
    }));
}

/** Two processes on one store behind one port; everything shares the cores with those who ask. */
export async function pairTargets(
  store: 'SQLite' | 'PostgreSQL',
  program: Program,
  database?: Database,
): Promise<Target[]> {
  const targets = await workTargets(store, program, database);
  return targets
    .filter(({ name }) => name.startsWith('invoke'))
    .map(({ name, aim: _, ...target }) => ({
      ...target,
      name: `${name}, two processes`,
      baseline: name,
      reach: 1,
    }));
}

const DOCUMENTS = {
  discovery: '/.well-known/svc',
  JWKS: '/.well-known/jwks.json',
  manifest: '/svc/manifest',
};

/** Each document, and a bare GET of as many bytes just before it. */
export async function documentTargets(service: Program, fastify: Program): Promise<Target[]> {
  const targets: Target[] = [];
  for (const [name, path] of Object.entries(DOCUMENTS)) {
    const bytes = (await orNoAnswer(name, () => bytesOf(`${service.url}${path}`))) ?? 2;
    const bare = `fastify GET, ${bytes} bytes`;
    const get = { method: 'GET', baseline: bare, reach: 0.9, aim: 0.97 } as const;
    if (!targets.some((target) => target.name === bare)) {
      targets.push({ name: bare, program: fastify, path: `/${bytes}`, method: 'GET' });
    }
    targets.push({ name, program: service, path, ...get });
  }
  return targets;
}

async function bytesOf(url: string): Promise<number> {
  const response = await fetch(url);
  return (await response.arrayBuffer()).byteLength;
}

export async function refusalTargets(program: Program): Promise<Target[]> {
  const token = await issue(program, ['travel.read', 'travel.extras']);
  const [header, claims, signature = ''] = token.split('.');
  // Another signature of the right form: well-formed, and one verification to find out.
  const forged = [header, claims, [...signature].reverse().join('').replace(/.$/, 'A')].join('.');
  const refused = (bearer: string) =>
    ({
      program,
      path: '/svc/invoke/find_traveler',
      method: 'POST',
      headers: { ...JSON_HEADERS, authorization: `Bearer ${bearer}` },
      body: '{"parameters":{"traveler":"TR-1"}}',
      status: 401,
      baseline: ECHO,
    }) as const;
  return [
    { name: 'refusal of a malformed token', ...refused(`${header}.${claims}`), reach: 0.8 },
    { name: 'refusal of a forged token', ...refused(forged), reach: 0.25 },
  ];
}

/** Without a token no request of its targets gets its answer, and each of them says so. */
export async function issue(program: Program, scope: readonly string[]): Promise<string> {
  return (await orNoAnswer('a token', () => issued(program, scope))) ?? 'none';
}

async function issued({ url }: Program, scope: readonly string[]): Promise<string> {
  const response = await fetch(`${url}/svc/tokens`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: `Bearer ${ALICE}` },
    body: JSON.stringify({ scope, budget: { currency: 'USD', max_amount: 1_000_000_000 } }),
  });
  const { token } = (await response.json()) as { token: string };
  return token;
}
