import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test } from 'vitest';
import { attackFile, editEntry, withField } from '../../../test/log/raw-segments.ts';
import { fillLedger } from '../../../test/log/small-ledger.ts';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import { openKeyring } from '../../keyring/keyring.ts';
import { createLog } from '../../log.ts';
import { system } from '../../platform.ts';
import { sealNext } from '../../service/log/seal.ts';
import { openMark } from '../../storage/open.ts';
import type { CheckpointRecord } from '../../storage/port/records.ts';
import { openSqlite } from '../../storage/sqlite/store.ts';
import { main } from '../main.ts';

const folder = temporaryFolder();

/** Runs the command line, and gives what it wrote and ended with. */
async function writ(args: string[], env: Record<string, string> = {}) {
  let out = '';
  let err = '';
  const status = await main(args, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env,
  });
  return { status, out, err };
}

async function logOf(name: string, size: number): Promise<string> {
  const file = join(folder, `${name}.db`);
  const store = await openSqlite(file);
  await store.append(Array.from({ length: size }, () => entry()));
  await store.close();
  return file;
}

test('writ fsck ends with 0 on a whole log, and says what it checked', async () => {
  const file = await logOf('whole', 5);

  const { status, out, err } = await writ(['fsck', '--store', `sqlite:${file}`]);

  assert.equal(status, 0);
  assert.equal(err, '');
  assert.match(out, /^entries {6}5$/m);
  assert.match(out, /^tree nodes {3}8$/m);
  assert.match(out, /^checkpoints {2}0 /m);
  assert.match(out, /^root {9}[0-9a-f]{64}$/m);
  assert.match(out, /All is well\n$/);
});

test('writ fsck --json prints one document: what it checked, and each finding', async () => {
  const whole = await logOf('whole-json', 5);
  const damaged = await logOf('damaged-json', 5);
  attackFile(damaged, (raw) => {
    editEntry(raw, 2, ({ leaf }) => ({ leaf: withField(leaf, 'entry_type', 'replay') }));
  });

  const good = await writ(['fsck', '--store', `sqlite:${whole}`, '--json']);
  const bad = await writ(['fsck', '--store', `sqlite:${damaged}`, '--json']);

  const { entries, tree_nodes, mark, macs, findings, rows } = JSON.parse(good.out);
  assert.deepEqual(
    [good.status, entries, tree_nodes, mark, macs, findings],
    [0, 5, 8, null, null, []],
  );
  assert.equal(rows.open_calls, 0);
  const report = JSON.parse(bad.out);
  assert.equal(bad.status, 1);
  assert.equal(report.findings_count, report.findings.length);
  assert.deepEqual([report.findings[0].what, report.findings[0].where], ['entry', '2']);
});

test('writ fsck ends with 1 when a row is not what the log says, and tells both', async () => {
  const file = join(folder, 'ledger.db');
  const store = await openSqlite(file);
  const { root, child, revoked } = await fillLedger(store);
  await store.close();
  const raw = new DatabaseSync(file);
  raw.exec(`UPDATE tokens SET scope = '["operator:*"]' WHERE token_id = '${root}';
    UPDATE tokens SET revoked_at = NULL;
    UPDATE budgets SET consumed = 0`);
  raw.close();

  const { status, out } = await writ(['fsck', '--store', `sqlite:${file}`]);

  assert.equal(status, 1);
  assert.match(out, /^rows {9}4 tokens, 2 budgets, 3 approval requests, 1 grants, 1 freezes \(1 /m);
  assert.match(
    out,
    new RegExp(`^token ${root}: its scope is .*"operator:\\*".*"travel.book"`, 'm'),
  );
  assert.match(out, new RegExp(`^token ${revoked}: it is not revoked`, 'm'));
  assert.match(out, new RegExp(`^budget ${child}: it says that 0.00 USD are spent`, 'm'));
  assert.match(
    out,
    new RegExp(`^token ${child}: it allows more than its parent ${root}: scope$`, 'm'),
  );
  assert.match(out, /^Found: 5\n$/m);
});

test('writ fsck ends with 1 when entries were erased and no such retention is configured', async () => {
  const file = await logOf('erased', 3);
  const store = await openSqlite(file);
  await store.erase({ what: 'personal', until: new Date('2040-01-01'), limit: 100 });
  await store.close();
  const asked = (retention: object) => {
    const config = join(folder, `retention-${Object.keys(retention).length}.json`);
    writeFileSync(config, JSON.stringify({ retention }));
    return writ(['fsck', '--store', `sqlite:${file}`], { WRIT_CONFIG: config });
  };
  const said = (policies: string) =>
    writ(['fsck', '--store', `sqlite:${file}`, '--retention', policies]);
  const finding =
    /^store .*: entries below 3 were erased by retention of "personal", which is not/m;

  for (const { status, out } of [
    await asked({}),
    await said('none'),
    await said('high_risk_success'),
  ]) {
    assert.equal(status, 1, out);
    assert.match(out, finding);
  }
  for (const { status, out } of [await asked({ personal: 'P1D' }), await said('personal')]) {
    assert.equal(status, 0, out);
    assert.doesNotMatch(out, finding);
  }
  assert.equal((await writ(['fsck', '--store', `sqlite:${file}`])).status, 0);
  assert.match((await said('all')).err, /"all" is not a policy of retention/);
});

test('writ fsck ends with 1 when the store and its list of logs name different first logs', async () => {
  const file = await logOf('origin', 3);
  const raw = new DatabaseSync(file);
  raw.exec("UPDATE store SET log_id = 'another'");
  raw.close();

  const { status, out } = await writ(['fsck', '--store', `sqlite:${file}`]);

  assert.equal(status, 1);
  assert.match(
    out,
    /^store another: its own log is "another", the first in its list of logs is "/m,
  );
});

test('writ fsck ends with 1 on a log that was changed, and names the place', async () => {
  const file = await logOf('changed', 5);
  attackFile(file, (raw) => {
    editEntry(raw, 2, ({ personal }) => {
      return { personal: withField(personal, 'actor_key', 'agent:thief') };
    });
  });

  const { status, out } = await writ(['fsck', '--store', `sqlite:${file}`]);

  assert.equal(status, 1);
  assert.match(out, /^entry 2: its personal fields are not those whose digest the leaf has$/m);
  assert.match(out, /Found: 1\n$/);
});

test('writ fsck names the entries of a damaged segment, and checks those behind it', async () => {
  const file = await logOf('damaged', 10);
  const store = await openSqlite(file);
  await store.append(Array.from({ length: 10 }, () => entry()));
  await store.append(Array.from({ length: 10 }, () => entry()));
  await store.close();
  attackFile(file, (raw) => {
    raw.exec('UPDATE segments SET leaves = substr(leaves, 1, 700) WHERE first = 10');
    editEntry(raw, 25, ({ leaf }) => ({ leaf: withField(leaf, 'state', 'refused') }));
  });

  const { status, out } = await writ(['fsck', '--store', `sqlite:${file}`]);

  assert.equal(status, 1);
  assert.match(out, /^entries {6}20$/m);
  assert.match(out, /^entry 10 to 19: Cannot read entries 10 to 19: the segment is damaged: it /m);
  assert.match(out, /^entry 25: its leaf hash is [0-9a-f]{64}, its bytes give /m);
});

test('writ fsck reads the store from the environment when no option names one', async () => {
  const file = await logOf('environment', 3);
  const env = { WRIT_STORE: `sqlite:${file}` };

  assert.match((await writ(['fsck'], env)).out, /^entries {6}3$/m);
  assert.match((await writ(['fsck', '--store', 'memory:'], env)).out, /^entries {6}0$/m);
});

test('writ fsck ends with 2 on a file that is not there, and does not make it', async () => {
  const file = join(folder, 'absent.db');

  const { status, out, err } = await writ(['fsck', `--store=sqlite:${file}`]);

  assert.equal(status, 2);
  assert.equal(out, '');
  assert.match(err, /^Cannot open the store: there is no store in ".*absent\.db"\n$/);
  assert.equal(existsSync(file), false);
});

test('writ fsck ends with 2 on an empty file, and leaves it empty', async () => {
  const file = join(folder, 'empty.db');
  writeFileSync(file, '');

  const { status, out, err } = await writ(['fsck', `--store=sqlite:${file}`]);

  assert.equal(status, 2);
  assert.equal(out, '');
  assert.match(err, /there is no store in ".*empty\.db"\n$/);
  assert.equal(readFileSync(file).length, 0);
});

test('writ fsck ends with 1 on a store without one of its guards, and names it', async () => {
  const file = await logOf('unguarded', 3);
  const raw = new DatabaseSync(file);
  raw.exec('DROP TRIGGER tiles_are_kept');
  raw.close();

  const { status, out } = await writ(['fsck', '--store', `sqlite:${file}`]);

  assert.equal(status, 1);
  assert.match(out, /^store \S+: the guard "tiles_are_kept" is missing$/m);
});

test('writ fsck ends with 2 on a file that is no store', async () => {
  const file = join(folder, 'text.db');
  writeFileSync(file, 'This is not a database, and never was one. '.repeat(200));

  const { status, err } = await writ(['fsck', '--store', `sqlite:${file}`]);

  assert.equal(status, 2);
  assert.match(err, /^Cannot (?:check|open|use|run) .*: .*\n$/);
});

for (const args of [
  ['--store', 'mysql://a:secret@b/c'],
  ['--strore', 'memory:'],
  ['--store'],
  ['extra'],
]) {
  test(`writ fsck ends with 2 on "${args.join(' ')}"`, async () => {
    const { status, out, err } = await writ(['fsck', ...args]);

    assert.equal(status, 2);
    assert.equal(out, '');
    assert.match(err, /^Cannot (?:check|open|use|run) .*: .*\n$/);
    assert.doesNotMatch(err, /secret/);
  });
}

test('writ fsck ends with 2 on a server that does not answer, and shows no password', async () => {
  const url = 'postgres://writ:secret@127.0.0.1:1/writ';

  const { status, err } = await writ(['fsck', '--store', url]);

  assert.equal(status, 2);
  assert.match(err, /^Cannot (?:check|open|use|run) .*: .*\n$/);
  assert.doesNotMatch(err, /secret/);
});

test('writ fsck --help says how it ends', async () => {
  const { status, out } = await writ(['fsck', '--help']);

  assert.equal(status, 0);
  assert.match(out, /Usage: writ fsck/);
  assert.match(out, /Exit status:\n {2}0 .*\n {2}1 .*\n {2}2 /);
});

test('writ names its commands when asked, and when none is given', async () => {
  const asked = await writ(['--help']);
  const lost = await writ([]);

  assert.equal(asked.status, 0);
  assert.match(asked.out, /^ {2}fsck {2}/m);
  assert.equal(lost.status, 2);
  assert.match(lost.err, /^ {2}fsck {2}/m);
});

for (const name of ['fcsk', 'constructor', '__proto__', '']) {
  test(`writ ends with 2 on the unknown command "${name}"`, async () => {
    const { status, err } = await writ([name]);

    assert.equal(status, 2);
    assert.match(err, /Cannot run/);
  });
}

test('writ fsck verifies the signatures of checkpoints by the keys of the folder', async () => {
  const [file, keys] = [join(folder, 'sealed.db'), join(folder, 'keys')];
  const keyring = openKeyring({ folder: keys }, { now: () => new Date(), onWarning: () => {} });
  const store = await openSqlite(file);
  await sealNext({
    serviceId: 'https://desk.example',
    store,
    keyring,
    log: createLog('silent'),
    platform: system,
  });
  await store.close();
  keyring.close();
  const args = ['fsck', '--store', `sqlite:${file}`];

  const known = await writ([...args, '--keys', keys]);
  // Named as none: the checkout may have keys in the default folder.
  const unknown = await writ([...args, '--keys', '']);
  const other = join(folder, 'other-keys');
  openKeyring({ folder: other }, { now: () => new Date(), onWarning: () => {} }).close();
  const foreign = await writ(args, { WRIT_KEYS: other });
  const absent = await writ([...args, '--keys', join(folder, 'nowhere')]);

  assert.equal(known.status, 0);
  assert.match(known.out, /^checkpoints {2}1 \(roots and notes; signatures by the keys in /m);
  assert.equal(unknown.status, 0);
  assert.match(unknown.out, /signatures need the keys/);
  assert.equal(foreign.status, 1);
  assert.match(foreign.out, /^checkpoint 1: its signature does not verify$/m);
  assert.equal(absent.status, 2);
});

test('writ fsck ends with 1 on a log that does not extend its mark, or has none where one is named', async () => {
  const [file, keys] = [join(folder, 'marked.db'), join(folder, 'marked-keys')];
  const keyring = openKeyring({ folder: keys }, { now: () => new Date(), onWarning: () => {} });
  const store = await openSqlite(file);
  const mark = await openMark(`sqlite:${join(keys, 'mark.db')}`);
  const log = createLog('silent');
  const seal = () =>
    sealNext({ serviceId: 'https://desk.example', store, keyring, mark, log, platform: system });
  await seal();
  await store.append([entry()]);
  await seal();
  const bare = ['fsck', '--store', `sqlite:${file}`, '--keys', keys];
  const args = [...bare, '--mark', join(keys, 'mark.db')];
  const unmarked = await writ(bare);
  await (await openMark(`sqlite:${join(folder, 'other.db')}`)).close();
  const missing = await writ([...bare, '--mark', join(folder, 'other.db')]);

  const whole = await writ(args);
  const kept = (await mark.read(store.logId)) as CheckpointRecord;
  await mark.advance(store.logId, kept, { ...kept, size: 9, sequence: 5 });
  const shorter = await writ(args);
  await mark.setStatus(store.logId, 'ended');
  const ended = await writ(args);
  await mark.advance(
    store.logId,
    { ...kept, size: 9, sequence: 5 },
    { ...kept, root: new Uint8Array(32) },
  );
  const other = await writ(args);
  const absent = await writ([...args, '--mark', join(folder, 'absent.db')]);
  await mark.close();
  await store.close();
  keyring.close();

  assert.equal(whole.status, 0, whole.out);
  assert.match(whole.out, /^mark {9}checkpoint 2, 1 entry$/m);
  assert.match(whole.out, /^All is well$/m);
  assert.equal(unmarked.status, 0, unmarked.out);
  assert.match(unmarked.out, /without its mark, fsck cannot check whether it is the newest copy$/m);
  assert.equal(missing.status, 1);
  assert.match(missing.out, /^mark none: the log has 1 entry and no mark$/m);
  assert.equal(shorter.status, 1);
  assert.match(shorter.out, /^mark 5: it is 3 checkpoints ahead of the store$/m);
  assert.match(shorter.out, /^mark 5: it covers 9 entries, the log has 1$/m);
  assert.match(ended.out, /^mark 5: an operator has ended this log/m);
  assert.match(other.out, /^mark 2: its root is 0{64}, the log gives /m);
  assert.equal(absent.status, 2);
  assert.match(absent.err, /there is no mark in ".*absent\.db"\n$/);
  assert.equal(existsSync(join(folder, 'absent.db')), false);
});
