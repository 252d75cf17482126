import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test } from 'vitest';
import { attackFile } from '../../../test/log/raw-segments.ts';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import { freshDatabase, runSql } from '../../../test/support/postgres.ts';
import type { Store } from '../port/store.ts';
import { openPostgres } from '../postgres/store.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore } from './fsck.ts';

async function fill(store: Store): Promise<void> {
  const timestamp = '2026-01-01T00:00:00.000Z';
  const retentions = ['P900D', undefined, 'P901D', 'PT1S'];
  await store.append(retentions.map((retention) => entry({ timestamp, retention })));
  await store.sequence();
  await store.erase({ what: 'stated', until: new Date('2026-01-01T00:00:01.000Z'), limit: 10 });
}

async function detailsOf(store: Store): Promise<string[]> {
  const { findings } = await checkStore(store);
  return findings.map(({ what, detail }) => `${what}: ${detail}`);
}

const WRONG = (count: number, first: number) =>
  `store: entries whose time of erasure is missing or wrong: ${count}, the first is ${first}`;
const SURPLUS = 'store: times of erasure that no entry states: 1';

/** `@` stands for a time long ago. */
const EDITS: readonly [name: string, statement: string, ...found: string[]][] = [
  ['nothing where entries have their times', 'DELETE FROM retentions WHERE place = 9'],
  ['an entry without its time', 'DELETE FROM retentions WHERE place = 2', WRONG(1, 2)],
  ['no times at all', 'DELETE FROM retentions', WRONG(2, 0)],
  [
    'an entry with another time',
    'UPDATE retentions SET retain_until = @ WHERE place = 2',
    WRONG(1, 2),
    SURPLUS,
  ],
  ['a time of an entry that states none', 'INSERT INTO retentions VALUES (@, 1)', SURPLUS],
  ['a second time of an entry', 'INSERT INTO retentions VALUES (@, 0)', SURPLUS],
  ['a time of no entry', 'INSERT INTO retentions VALUES (@, 9)', SURPLUS],
  ['a time of an erased entry', 'INSERT INTO retentions VALUES (@, 3)', SURPLUS],
];

for (const [name, statement, ...found] of EDITS) {
  test(`checkStore() finds in a file ${name}`, async () => {
    const file = join(temporaryFolder(), 'writ.db');
    const before = await openSqlite(file);
    await fill(before);
    await before.close();
    const raw = new DatabaseSync(file);
    raw.exec(statement.replace('@', '0'));
    raw.close();

    assert.deepEqual(
      await detailsOf(closedAtEnd(await openSqlite(file, { create: false }))),
      found,
    );
  });
}

test('checkStore() finds times of erasure in a database that do not agree with the entries', {
  timeout: 60_000,
}, async () => {
  const { url } = await freshDatabase();
  const store = closedAtEnd(await openPostgres(url, { poolSize: 2 }));
  await fill(store);

  for (const [name, statement, ...found] of EDITS) {
    await runSql(url, 'CREATE TABLE kept AS SELECT * FROM retentions');
    await runSql(url, statement.replace('@', "'epoch'"));

    assert.deepEqual(await detailsOf(store), found, name);

    await runSql(
      url,
      'DELETE FROM retentions; INSERT INTO retentions SELECT * FROM kept; DROP TABLE kept',
    );
  }
});

test('checkStore() does not blame the times of a damaged segment', async () => {
  const file = join(temporaryFolder(), 'writ.db');
  const before = await openSqlite(file);
  await fill(before);
  await before.close();
  attackFile(file, (raw) => raw.exec("UPDATE segments SET leaves = x'0a'"));

  const details = await detailsOf(closedAtEnd(await openSqlite(file, { create: false })));

  assert.ok(details.some((detail) => detail.includes('the segment is damaged')));
  assert.deepEqual(
    details.filter((detail) => detail.includes('erasure')),
    [],
  );
});
