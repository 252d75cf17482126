/**
 * A standby of a PostgreSQL server: it streams from the server, falls behind when asked, and takes its place.
 *
 * Made from a copy of the data with the server's own functions of backup, since the installed binaries have no program
 * for it.
 *
 * @module
 */

import { cpSync, lchownSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { commandLine, run, untilReady } from '../faults/server.ts';
import { atEnd } from '../support/ends.ts';
import { freePort } from '../support/free-ports.ts';
import { runSql, startGuard, stopGuard } from '../support/postgres.ts';

/** In milliseconds. */
const POLL_MS = 25;

export interface Standby {
  /** The address of the same database here. */
  urlOf(url: string): string;
  /** Resolves when everything that the server has committed is here. */
  caughtUp(): Promise<void>;
  /** Nothing more arrives from the server: from now on this one falls behind. */
  cutOff(): Promise<void>;
  /** Becomes a server of its own, with what it has. */
  promote(): Promise<void>;
}

/** Not of a copy: what runs, what is written anew, and what is streamed. */
const LEFT_OUT = /^(?:postmaster\.(?:pid|opts)|pg_(?:wal|replslot|dynshmem|notify|stat_tmp)\/.+)$/;

export async function startStandby(serverUrl: string): Promise<Standby> {
  const from = await firstValue(serverUrl, 'SHOW data_directory');
  const data = mkdtempSync(join(dirname(from), 'writ-test-standby-'));
  const guard = startGuard(data, data);
  atEnd(() => stopGuard(guard));
  await copyData(serverUrl, from, data);
  const { port: primary, username } = new URL(serverUrl);
  const conninfo = `host=127.0.0.1 port=${primary} user=${username} application_name=standby`;
  const settings = `primary_conninfo = '${conninfo}'\nhot_standby = on\n`;
  writeFileSync(join(data, 'postgresql.auto.conf'), settings);
  writeFileSync(join(data, 'standby.signal'), '');
  giveToOwner(data, from);

  const port = await freePort();
  const url = new URL(serverUrl);
  url.port = `${port}`;
  run(commandOf(from, data, port), data);
  await untilReady(url.href);
  const ask = (sql: string) => firstValue(url.href, sql);
  return {
    urlOf(address) {
      const same = new URL(address);
      same.port = `${port}`;
      return same.href;
    },
    async caughtUp() {
      const wanted = await firstValue(serverUrl, 'SELECT pg_current_wal_flush_lsn()');
      const sql = `SELECT coalesce(pg_last_wal_replay_lsn() >= '${wanted}', false)`;
      while ((await ask(sql)) !== 'true') await sleep(POLL_MS);
    },
    async cutOff() {
      await ask("ALTER SYSTEM SET primary_conninfo = ''");
      await ask('SELECT pg_reload_conf()');
      while ((await ask('SELECT count(*) FROM pg_stat_wal_receiver')) !== '0') await sleep(POLL_MS);
    },
    async promote() {
      await ask('SELECT pg_promote(true, 60)');
      while ((await ask('SELECT pg_is_in_recovery()')) !== 'false') await sleep(POLL_MS);
    },
  };
}

/** The backup lasts as long as its session. */
async function copyData(serverUrl: string, from: string, to: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('standby', true)");
    const filter = (path: string) => !LEFT_OUT.test(relative(from, path).split(sep).join('/'));
    // A file that the server removes meanwhile is not needed: its log says so.
    cpSync(from, to, { recursive: true, filter, force: true });
    const { rows } = await client.query<{ labelfile: string }>(
      'SELECT labelfile FROM pg_backup_stop(false)',
    );
    writeFileSync(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await client.end();
  }
}

function giveToOwner(folder: string, like: string): void {
  const { uid, gid } = statSync(like);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    lchownSync(join(folder, name), uid, gid);
  }
  lchownSync(folder, uid, gid);
}

/** The command of the other server, with these data at this port. */
function commandOf(from: string, data: string, port: number): string[] {
  return commandLine(from).map((word) => {
    if (word === from) return data;
    return word.startsWith('port=') ? `port=${port}` : word;
  });
}

/** The first value that a statement yields, as text. */
async function firstValue(url: string, sql: string): Promise<string> {
  const [row = {}] = await runSql(url, sql);
  return String(Object.values(row)[0] ?? '');
}
