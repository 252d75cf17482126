import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, test } from 'vitest';
import { fillLedger } from '../../../test/log/small-ledger.ts';
import { POSTGRES, SQLITE, type Tampering, tamperings } from '../../../test/log/tamperings.ts';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { connectedTo, freshDatabase } from '../../../test/support/postgres.ts';
import { openPostgres } from '../postgres/store.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore, type FsckReport } from './fsck.ts';

function assertNamed({ findings }: FsckReport, { name, what, where, says }: Tampering): void {
  const named = findings.filter((finding) => finding.what === what && finding.where === where);
  const reported = JSON.stringify(findings);
  assert.ok(
    named.some(({ detail }) => says.test(detail)),
    `${name}: ${reported}`,
  );
}

describe('SQLite', async () => {
  const folder = temporaryFolder();
  const original = join(folder, 'original.db');
  const store = await openSqlite(original);
  const ledger = await fillLedger(store);
  const { findings, ledger: counted } = await checkStore(store);
  assert.deepEqual(findings, []);
  assert.deepEqual(counted.notes, []);
  await store.close();

  test('checkStore() names every row that is not what the log says', async () => {
    for (const [place, tampering] of tamperings(ledger, SQLITE).entries()) {
      const file = join(folder, `${place}.db`);
      copyFileSync(original, file);
      const raw = new DatabaseSync(file);
      raw.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON');
      raw.exec('CREATE TEMP TABLE freezes_later AS SELECT 4102444800000 AS expires_at');
      raw.exec(tampering.sql);
      raw.close();

      const store = await openSqlite(file);
      const report = await checkStore(store);
      await store.close();

      assertNamed(report, tampering);
    }
  }, 60_000);
});

/** Nor by a condition that says which values fit together. */
const NO_CONDITIONS = `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
    WHERE contype = 'c' AND conrelid <> 0 AND connamespace = current_schema::regnamespace
  LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', one.of_table, one.conname); END LOOP;
END $$`;

describe('PostgreSQL', () => {
  const TABLES = [
    ...['tokens', 'families', 'budgets', 'approval_requests', 'approvals', 'grants', 'freezes'],
    ...['intents', 'debts', 'declarations'],
  ];

  test('checkStore() names every row that is not what the log says', async () => {
    const { url } = await freshDatabase();
    const store = closedAtEnd(await openPostgres(url));
    const raw = await connectedTo(url);
    const ledger = await fillLedger(store);
    assert.deepEqual((await checkStore(store)).findings, []);
    // Whoever owns the database is stopped by no reference.
    await raw.query('SET session_replication_role = replica');
    await raw.query(NO_CONDITIONS);
    await raw.query(
      "CREATE TEMP TABLE freezes_later AS SELECT timestamptz '2100-01-01' AS expires_at",
    );
    for (const table of TABLES)
      await raw.query(`CREATE TEMP TABLE kept_${table} AS TABLE ${table}`);
    const putBack = TABLES.map(
      (table) => `DELETE FROM ${table}; INSERT INTO ${table} TABLE kept_${table}`,
    );

    for (const tampering of tamperings(ledger, POSTGRES)) {
      await raw.query(tampering.sql);
      assertNamed(await checkStore(store), tampering);
      await raw.query(putBack.join('; '));
    }

    assert.deepEqual((await checkStore(store)).findings, [], 'all was put back');
  }, 120_000);
});
