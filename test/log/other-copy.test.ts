/**
 * A database that is replaced under a running service: it is compared before anything is written to it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { freshDatabase, runSql } from '../support/postgres.ts';
import { ALICE, eventually } from '../support/world.ts';
import { life, machine, sealed, unready } from './support.ts';

interface Copyable {
  readonly url: string;
  /** Keeps the database as it is now. */
  keep(): Promise<void>;
  /** Puts what was kept in its place, under the same name, while services run. */
  restore(): Promise<void>;
}

async function copyable(): Promise<Copyable> {
  const { url } = await freshDatabase();
  const name = new URL(url).pathname.slice(1);
  const kept = `test_${randomBytes(8).toString('hex')}`;
  const server = new URL(url);
  server.pathname = '/postgres';
  const run = (sql: string) => runSql(server.href, sql);
  atEnd(() => run(`DROP DATABASE IF EXISTS ${kept} WITH (FORCE)`));
  /** Nobody may connect while a database is copied or renamed. */
  const alone = async (work: () => Promise<unknown>) => {
    await run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await run(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
    await work();
  };
  return {
    url,
    keep: () =>
      alone(async () => {
        await run(`CREATE DATABASE ${kept} TEMPLATE ${name}`);
        await run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
      }),
    restore: () =>
      alone(async () => {
        await run(`DROP DATABASE ${name} WITH (FORCE)`);
        await run(`ALTER DATABASE ${kept} RENAME TO ${name}`);
      }),
  };
}

test('an older copy that replaces the database under a running service is refused by the next call', async () => {
  const { url, keep, restore } = await copyable();

  await life(machine(), { store: url }, async (service) => {
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    await sealed(service);
    await keep();
    await eventually(async () => (await unready(service)) === '');
    await service.issue(ALICE, { scope: ['travel.search'] });
    await sealed(service);
    await restore();
    const calls = await Promise.all(
      Array.from({ length: 6 }, () =>
        service.invoke(token, 'search_flights', { origin: 'SEA', destination: 'SFO' }),
      ),
    );

    for (const { status, body } of calls) {
      assert.deepEqual([status, body.failure.type], [503, 'service_unavailable']);
    }
    const reason = /was signed over \d+ entries, the log has \d+/;
    await eventually(async () => reason.test(await unready(service)));
    assert.ok(service.log.some((line) => line.includes('leads to another copy of the database')));
  });
});

test('a copy that has everything serves on after it was compared', async () => {
  const { url, keep, restore } = await copyable();

  await life(machine(), { store: url }, async (service) => {
    await sealed(service);
    await keep();
    await restore();

    await eventually(async () => (await unready(service)) === '');
    await service.issue(ALICE, { scope: ['travel.search'] });
    await sealed(service);
  });
});
