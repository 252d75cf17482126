/**
 * A backup or a restore that is killed: no file appears under the name, and the restore can be run again.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'vitest';
import { openStore } from '../../src/storage/open.ts';
import { temporaryFolder } from '../support/ends.ts';
import { entry } from '../support/fixtures.ts';
import { type Launched, launch } from '../support/launch.ts';
import { freshDatabase, runSql } from '../support/postgres.ts';

const BIN = join(process.cwd(), 'dist/src/cli/bin.js');

/** In milliseconds: several processes, one after the other, on a busy machine. */
const SLOW = 180_000;

/** Entries enough that a process can be seen at work. */
const ENTRIES = 8_000;

const folder = temporaryFolder();
const url = `sqlite:${join(folder, 'writ.db')}`;
const store = await openStore(url);
for (let kept = 0; kept < ENTRIES; kept += 2_000) {
  await store.append(Array.from({ length: 2_000 }, () => entry()));
}
await store.close();
await done(writ(['backup', '--out', 'whole.gz'], url));

function writ(args: readonly string[], url: string): Launched {
  return launch([BIN, ...args], folder, { WRIT_STORE: url, WRIT_MARK: 'none' });
}

async function done(program: Launched): Promise<string> {
  assert.equal(await program.ended, 0, program.output.err);
  return program.output.out;
}

/** Waits until a file of the folder matches and has bytes. */
async function untilWritten(place: string, pattern: RegExp, program: Launched): Promise<void> {
  for (;;) {
    const found = existsSync(place)
      ? readdirSync(place).find((name) => pattern.test(name))
      : undefined;
    if (found && statSync(join(place, found)).size > 0) return;
    assert.equal(program.child.exitCode, null, 'the process ended before it was seen at work');
    await pause(2);
  }
}

test('a killed backup leaves no file under its name', { timeout: SLOW }, async () => {
  const killed = writ(['backup', '--out', 'out.gz'], url);
  await untilWritten(folder, /^out\.gz\..*\.part$/, killed);
  killed.child.kill('SIGKILL');
  await killed.ended;

  assert.equal(existsSync(join(folder, 'out.gz')), false);
  await done(writ(['backup', '--out', 'out.gz'], url));
  assert.ok(existsSync(join(folder, 'out.gz')));
});

test('a killed restore into SQLite leaves no store, and can be run again', {
  timeout: SLOW,
}, async () => {
  const target = `sqlite:${join(folder, 'new/writ.db')}`;

  const killed = writ(['restore', 'whole.gz'], target);
  await untilWritten(join(folder, 'new'), /^writ\.db-wal$/, killed);
  await restoreAfterKill(killed, target);
});

test('a killed restore into PostgreSQL leaves no store, and can be run again', {
  timeout: SLOW,
}, async () => {
  const { url: target } = await freshDatabase();

  const killed = writ(['restore', 'whole.gz'], target);
  await untilWriting(target, killed);
  await restoreAfterKill(killed, target);
});

async function restoreAfterKill(killed: Launched, target: string): Promise<void> {
  killed.child.kill('SIGKILL');
  await killed.ended;

  await assert.rejects(openStore(target, { create: false }), /there is no store/);
  await done(writ(['restore', 'whole.gz'], target));
  assert.match(await done(writ(['fsck'], target)), new RegExp(`^entries {6}${ENTRIES}$`, 'm'));
}

/** Waits until the server runs an insert of the restore. */
async function untilWriting(url: string, program: Launched): Promise<void> {
  for (;;) {
    const rows = await runSql(
      url,
      "SELECT FROM pg_stat_activity WHERE query LIKE 'INSERT INTO segments%' AND datname = current_database()",
    );
    if (rows.length > 0) return;
    assert.equal(program.child.exitCode, null, 'the process ended before it was seen at work');
    await pause(2);
  }
}
