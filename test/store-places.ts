/**
 * Empty places for stores under test: files in one folder, databases copied from one template.
 *
 * Copying a migrated database takes half the time of migrating a new one, and the suite needs
 * hundreds.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { inject } from 'vitest';
import { openPostgres } from '../src/storage/postgres/store.ts';
import type { Store } from '../src/storage/store.ts';
import { freshDatabase } from './postgres.ts';

type Instances = readonly [Store, ...Store[]];

export interface Places {
  /** A path at which there is no file yet. */
  file(): string;
  /** So many instances on one new database, which goes when the last of them is closed. */
  openPostgres(count: number): Promise<Instances>;
  remove(): Promise<void>;
}

export async function createPlaces(): Promise<Places> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-store-'));
  const template = await freshDatabase();
  const migrated = await openPostgres(template.url);
  await migrated.close();

  let files = 0;
  return {
    file: () => join(folder, `${files++}.db`),
    openPostgres: (count) => openCopies(template.url, count),
    async remove() {
      rmSync(folder, { recursive: true });
      await template.drop();
    },
  };
}

async function openCopies(templateUrl: string, count: number): Promise<Instances> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await runSql(`CREATE DATABASE ${name} TEMPLATE ${new URL(templateUrl).pathname.slice(1)}`);
  const url = new URL(templateUrl);
  url.pathname = `/${name}`;

  const stores: Store[] = [];
  for (let i = 0; i < count; i++) stores.push(await openPostgres(url.href));
  const last = stores.pop() as Store;
  return [...stores, droppingAfter(last, name)] as unknown as Instances;
}

function droppingAfter(store: Store, name: string): Store {
  return {
    ...store,
    async close() {
      await store.close();
      await runSql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function runSql(sql: string): Promise<void> {
  const client = new Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
