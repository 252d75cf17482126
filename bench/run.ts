/**
 * The benchmark: the service beside bare servers, in the same run, on the same machine.
 *
 * Targets are interleaved and repeated, and what counts is the ratio of medians: a busy machine slows
 * all of them alike. Where the rounds of a target differ too much, no ratio is printed.
 *
 * @module
 */

import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import autocannon from 'autocannon';
import { startPostgres } from '../test/postgres.ts';
import { type Program, startProgram } from './processes.ts';

const quick = process.argv.includes('--quick');
const CONNECTIONS = 64;
const SECONDS = quick ? 1 : 4;
const ROUNDS = quick ? 3 : 5;

/** When the quickest and the slowest round differ by more than this, the median means nothing. */
const SPREAD_MAX = 0.5;

interface Target {
  readonly name: string;
  readonly program: Program;
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The target it is compared with. */
  readonly baseline?: string;
}

interface Sample {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
}

const JSON_HEADERS = { 'content-type': 'application/json' };

async function main(): Promise<void> {
  const postgres = await startPostgres();
  const programs = {
    node: await startProgram('bench/baseline.mjs', ['node']),
    fastify: await startProgram('bench/baseline.mjs', ['fastify']),
    sqlite: await startProgram('dist/examples/travel/main.js'),
    postgres: await startProgram('dist/examples/travel/main.js', [], { WRIT_STORE: postgres.url }),
  };
  try {
    const targets = [
      ...baselines(programs.node, programs.fastify),
      ...(await serviceTargets('SQLite', programs.sqlite)),
      ...(await serviceTargets('PostgreSQL', programs.postgres)),
    ];
    const samples = new Map<string, Sample[]>(targets.map(({ name }) => [name, []]));
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const target of targets) {
        const sample = await measure(target, round === 0 ? 1 : SECONDS);
        // The first round warms up: caches, compiled code, connections.
        if (round > 0) samples.get(target.name)?.push(sample);
      }
    }
    report(targets, samples);
  } finally {
    await Promise.all(Object.values(programs).map((program) => program.stop()));
    await postgres.stop();
  }
}

function baselines(node: Program, fastify: Program): Target[] {
  const body = JSON.stringify({ parameters: { origin: 'SEA', destination: 'SFO' } });
  const post = { path: '/', method: 'POST', headers: JSON_HEADERS, body } as const;
  return [
    { name: 'node:http POST echo', program: node, ...post, baseline: 'fastify POST echo' },
    { name: 'fastify POST echo', program: fastify, ...post },
    { name: 'fastify GET', program: fastify, path: '/', method: 'GET' },
  ];
}

async function serviceTargets(store: string, program: Program): Promise<Target[]> {
  const token = await issue(program);
  const headers = { ...JSON_HEADERS, authorization: `Bearer ${token}` };
  const post = { program, method: 'POST', headers, baseline: 'fastify POST echo' } as const;
  const read = { parameters: { traveler: 'TR-1' } };
  return [
    {
      name: `${store} invoke read`,
      ...post,
      path: '/svc/invoke/find_traveler',
      body: JSON.stringify(read),
    },
    {
      name: `${store} invoke write`,
      ...post,
      path: '/svc/invoke/buy_lounge_pass',
      body: '{"parameters":{}}',
    },
    { name: `${store} permissions`, ...post, path: '/svc/permissions', body: '{}' },
    {
      name: `${store} root issuance`,
      ...post,
      path: '/svc/tokens',
      headers: { ...JSON_HEADERS, authorization: 'Bearer demo-human-key' },
      body: '{"scope":["travel.search"]}',
    },
    {
      name: `${store} manifest`,
      program,
      path: '/svc/manifest',
      method: 'GET',
      baseline: 'fastify GET',
    },
  ];
}

async function issue({ url }: Program): Promise<string> {
  const response = await fetch(`${url}/svc/tokens`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: 'Bearer demo-human-key' },
    body: JSON.stringify({
      scope: ['travel.read', 'travel.extras'],
      budget: { currency: 'USD', max_amount: 1_000_000_000 },
    }),
  });
  const { token } = (await response.json()) as { token: string };
  return token;
}

async function measure(target: Target, duration: number): Promise<Sample> {
  const before = target.program.cpu();
  const result = await autocannon({
    url: `${target.program.url}${target.path}`,
    connections: CONNECTIONS,
    duration,
    method: target.method,
    ...(target.headers && { headers: target.headers }),
    ...(target.body !== undefined && { body: target.body }),
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(
      `Cannot measure ${target.name}: ${result.non2xx} refused, ${result.errors} broken`,
    );
  }
  const count = result.requests.total;
  return {
    rate: count / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpu: (target.program.cpu() - before) / count,
  };
}

function report(targets: readonly Target[], samples: ReadonlyMap<string, Sample[]>): void {
  const rows = targets.map(({ name, baseline }) => {
    const own = samples.get(name) ?? [];
    const other = baseline ? (samples.get(baseline) ?? []) : [];
    const rate = median(own, 'rate');
    const unsure =
      spread(own) > SPREAD_MAX || (baseline !== undefined && spread(other) > SPREAD_MAX);
    const ratio = !baseline || unsure ? undefined : rate / median(other, 'rate');
    const figures = {
      rate,
      p50: median(own, 'p50'),
      p99: median(own, 'p99'),
      cpu: median(own, 'cpu'),
    };
    return { name, ...figures, baseline, unsure, ratio };
  });
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  console.log(
    `${machine.cores} x ${machine.cpu}, Node ${machine.node}, ${CONNECTIONS} connections\n`,
  );
  for (const row of rows) {
    const ratio = row.ratio?.toFixed(2) ?? (row.unsure ? 'unsure' : '');
    const cells = [
      row.rate.toFixed(0),
      row.p50.toFixed(0),
      row.p99.toFixed(0),
      row.cpu.toFixed(0),
      ratio,
    ];
    console.log(row.name.padEnd(28), ...cells.map((cell) => cell.padStart(9)));
  }
  console.log(
    ''.padEnd(28),
    ...['req/s', 'p50 ms', 'p99 ms', 'cpu µs', 'ratio'].map((cell) => cell.padStart(9)),
  );
  const file = process.argv[process.argv.indexOf('--json') + 1];
  if (process.argv.includes('--json') && file) {
    writeFileSync(file, JSON.stringify({ machine, connections: CONNECTIONS, rows }, null, 2));
  }
}

function median(samples: readonly Sample[], field: keyof Sample): number {
  const values = samples.map((sample) => sample[field]).toSorted((one, other) => one - other);
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}

function spread(samples: readonly Sample[]): number {
  const rates = samples.map(({ rate }) => rate);
  return (Math.max(...rates) - Math.min(...rates)) / median(samples, 'rate');
}

await main();
