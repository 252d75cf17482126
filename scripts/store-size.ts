/**
 * What the service takes: bytes of the store for each call, connections and memory of one process.
 *
 * Part of `npm run deploy:try -- --size`. Runs the travel desk on each store with a bounded number of calls.
 *
 * @module
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DESK, startProgram } from '../bench/processes.ts';
import { makeDatabase, runSql, startPostgres } from '../test/postgres.ts';

const CALLS = 4_000;
const CLIENTS = 16;

const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2030-12-01' };

/** Each kind of call, with what it asks for. */
const KINDS = [
  { name: 'a read (search_flights)', capability: 'search_flights', parameters: SEARCH },
  { name: 'a paid write (buy_lounge_pass)', capability: 'buy_lounge_pass', parameters: {} },
];

export async function printSizes(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-size-'));
  const postgres = await startPostgres();
  try {
    await sizesOn('SQLite', folder, undefined, () => fileBytes(join(folder, '.writ/writ.db')));
    const { url } = await makeDatabase(postgres.url);
    const size = `SELECT pg_database_size(current_database())::float8 AS bytes`;
    await sizesOn('PostgreSQL', mkdtempSync(join(folder, 'p-')), url, async () => {
      await runSql(url, 'CHECKPOINT');
      return (await runSql<{ bytes: number }>(url, size))[0]?.bytes ?? 0;
    });
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The database and its write-ahead log. */
function fileBytes(path: string): number {
  return [path, `${path}-wal`]
    .map((each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, each) => sum + each, 0);
}

async function sizesOn(
  name: string,
  folder: string,
  url: string | undefined,
  bytes: () => number | Promise<number>,
): Promise<void> {
  const environment = {
    WRIT_MARK: join(folder, 'elsewhere/mark.db'),
    ...(url && { WRIT_STORE: url }),
  };
  const desk = await startProgram(DESK, { folder, environment });
  const idle = desk.resident();
  try {
    const token = await tokenAt(desk.url);
    for (const { name: kind, capability, parameters } of KINDS) {
      await callAll(`${desk.url}/svc/invoke/${capability}`, token, { parameters }, CALLS / 4);
      const before = await bytes();
      await callAll(`${desk.url}/svc/invoke/${capability}`, token, { parameters }, CALLS);
      const each = Math.round(((await bytes()) - before) / CALLS);
      console.log(`${name}: ${each} bytes for ${kind}`);
    }
    const connections = url ? await connectionsTo(url) : 0;
    if (url)
      console.log(`${name}: ${connections} connections of one process with ${CLIENTS} callers`);
    console.log(`${name}: ${idle} MiB resident after the start, ${desk.resident()} MiB under load`);
  } finally {
    await desk.stop();
  }
}

async function connectionsTo(url: string): Promise<number> {
  const count = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'writ'`;
  return (await runSql<{ count: number }>(url, count))[0]?.count ?? 0;
}

async function tokenAt(url: string): Promise<string> {
  const answer = await fetch(`${url}/svc/tokens`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo-human-key', 'content-type': 'application/json' },
    body: JSON.stringify({
      scope: ['travel.search', 'travel.extras'],
      budget: { currency: 'USD', max_amount: 100_000_000 },
    }),
  });
  return ((await answer.json()) as { token: string }).token;
}

async function callAll(url: string, token: string, body: object, calls: number): Promise<void> {
  let left = calls;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`Cannot measure: a call got ${answer.status}`);
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
