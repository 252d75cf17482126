import assert from 'node:assert/strict';
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../../test/ends.ts';
import { writeOlder } from '../../../../test/log/older-file.ts';
import { attackFile } from '../../../../test/log/raw-segments.ts';
import { sealLog } from '../../../../test/log/small-log.ts';
import { rootText } from '../../../domain/log/checkpoint.ts';
import { foldPeaks, peaksOf } from '../../../domain/log/merkle.ts';
import {
  admission,
  at,
  binding,
  entry,
  insert,
  rootToken,
  settlement,
} from '../../../testing/fixtures.ts';
import { foundIn } from '../../../testing/store/observe.ts';
import { checkStore } from '../../fsck/fsck.ts';
import { entriesOf } from '../../log/segment.ts';
import type { EntryQuery, Store } from '../../port/store.ts';
import { openConnection } from '../connection.ts';
import { segmentsFrom } from '../log/segments.ts';
import { openSqlite } from '../store.ts';
import { MIGRATIONS, SEGMENTED } from './migrations.ts';
import { moveLog } from './segments.ts';

const folder = temporaryFolder();
let files = 0;

/** After all times of the log. */
const clock = () => at(1_000_000_000);

const newFile = () => join(folder, `${files++}.db`);

/** Entries of several kinds, by their number. */
function kindOf(n: number) {
  return entry({
    timestamp: at(n).toISOString(),
    invocation_id: `inv-${n.toString(16).padStart(12, '0')}`,
    root_principal: `human:${n % 5}`,
    entry_type: n % 4 === 0 ? 'operator' : 'invocation',
    event_class: n % 6 === 0 ? 'high_risk_success' : 'low_risk_success',
    ...(n % 3 !== 0 && { capability: `c${n % 4}` }),
    ...(n % 7 === 0 && { task_id: `t${n % 21}` }),
    ...(n % 50 === 0 && { client_reference_id: `ref ${n}` }),
    ...(n % 11 === 0 && { parent_invocation_id: `inv-${'0'.repeat(11)}1` }),
    ...(n % 13 === 0 && { retention: n % 2 === 0 ? 'PT1S' : 'P90D' }),
  });
}

/** In entries of the first log. The step moves the large one in three slices. */
const [SMALL, LARGE] = [1_500, 9_000];

/** A store of this version with all that a log can have, and the same store as the version before wrote it. */
async function bothFiles(size = SMALL): Promise<Files> {
  const files = made.get(size) ?? fill(size, { newer: newFile(), older: newFile() });
  made.set(size, files);
  const { newer, older } = await files;
  const copies = { newer: newFile(), older: newFile() };
  copyFileSync(newer, copies.newer);
  copyFileSync(older, copies.older);
  return copies;
}

interface Files {
  readonly newer: string;
  readonly older: string;
}

const made = new Map<number, Promise<Files>>();

async function fill(size: number, { newer, older }: Files): Promise<Files> {
  const store = await openSqlite(newer);
  for (let n = 0; n < size; n += 500) {
    await store.append(Array.from({ length: 500 }, (_, index) => kindOf(n + index)));
  }
  await sealLog(store);
  const until = at(2_000);
  await store.erase({ what: 'personal', until, limit: 800 });
  await store.erase({ what: 'contents', eventClass: 'high_risk_success', until, limit: 500 });
  await store.erase({ what: 'stated', until, limit: 20 });
  await beginNext(store);
  const token = await insert(store, rootToken());
  const call = admission(token, {});
  await store.admit(call);
  await store.settle(settlement(call, { bindings: [binding(token)] }));
  await store.append(Array.from({ length: 300 }, (_, index) => kindOf(size + index)));
  await sealLog(store);
  await store.close();
  writeOlder(newer, older);
  return { newer, older };
}

/** As an operator who accepts a loss: the first entry names the head before it. */
async function beginNext(store: Store): Promise<void> {
  const head = await store.treeHead();
  const surviving = { entry_count: head.size, merkle_root: rootText(foldPeaks(head.peaks)) };
  const first = entry({ entry_type: 'operator', detail: { verb: 'recover', surviving } });
  assert.ok(await store.beginOrigin(head, '6b1c7e0a-0000-4000-8000-000000000000', first));
}

const QUERIES: readonly Omit<EntryQuery, 'limit'>[] = [
  {},
  { rootPrincipal: 'human:4' },
  { entryType: 'operator' },
  { capability: 'c2', entryType: 'invocation' },
  { rootPrincipal: 'human:1', capability: 'c1', entryType: 'invocation' },
  { taskId: 't14' },
  { clientReferenceId: 'ref 150', rootPrincipal: 'human:0' },
  { parentInvocationId: `inv-${'0'.repeat(11)}1` },
  { invocationId: 'inv-000000000800' },
  { rootPrincipal: 'human:4', since: at(5_000) },
  { rootPrincipal: 'human:4', before: 1_500 },
];

/** All that the port shows of a log. */
async function shownOf(store: Store) {
  const found = [];
  for (const query of QUERIES) found.push(await foundIn(store, { ...query, limit: 1_000 }));
  const { first, size, peaks } = await store.treeHead();
  return {
    entries: await store.scanEntries(0, 20_000),
    found,
    ...{ first, size, peaks },
    checkpoints: await store.listCheckpoints(10),
    erasures: await store.erasures(),
    origins: await store.origins(),
    nodes: await store.nodes([...peaksOf(SMALL), { level: 3, index: 7 }, { level: 9, index: 1 }]),
  };
}

test('a store of the version before shows the same log after it was moved', async () => {
  const { older, newer } = await bothFiles();
  const expected = closedAtEnd(await openSqlite(newer));

  const migrated = closedAtEnd(await openSqlite(older, { clock }));

  assert.deepEqual(await shownOf(migrated), await shownOf(expected));
  assert.deepEqual((await checkStore(migrated)).findings, []);
});

test('a moved log goes on: entries, retention, checkpoints', async () => {
  const { older } = await bothFiles();
  const store = closedAtEnd(await openSqlite(older, { clock }));
  const before = await store.listCheckpoints(1);

  await store.append(Array.from({ length: 2_000 }, (_, n) => kindOf(SMALL + 300 + n)));
  await store.erase({ what: 'stated', until: at(SMALL), limit: 5_000 });
  await sealLog(store);

  assert.equal((await store.listCheckpoints(1))[0]?.sequence, Number(before[0]?.sequence) + 1);
  assert.equal((await store.treeHead()).size, 2_303);
  assert.deepEqual((await checkStore(store)).findings, []);
});

test('openSqlite() reports how far the move of a log has come, and its end', async () => {
  const { older } = await bothFiles(LARGE);
  const steps: object[] = [];
  // Each look at the clock is a second later.
  let now = 0;
  const platform = { ...openConnection(':memory:').platform, now: () => (now += 1_000) };

  const store = await openSqlite(older, { platform, onStep: (step) => steps.push(step) });
  await store.close();

  const entries = LARGE + 303;
  const of = MIGRATIONS.length;
  const parts = steps.map((step) => ({ ...step, milliseconds: 0 }));
  assert.deepEqual(parts, [
    { version: SEGMENTED - 1, of, milliseconds: 0, moved: 4_096, entries },
    { version: SEGMENTED - 1, of, milliseconds: 0, moved: 8_192, entries },
    { version: SEGMENTED, of, milliseconds: 0 },
    { version: SEGMENTED + 1, of, milliseconds: 0 },
  ]);
});

/** Takes slices of the step, each in its own transaction, as the runner does. The last one is undone. */
function interrupt(file: string, slices: number): void {
  const connection = openConnection(file);
  for (let slice = 0; slice < slices; slice++) {
    connection.script('BEGIN IMMEDIATE');
    moveLog(connection);
    connection.script('COMMIT');
  }
  connection.script('BEGIN IMMEDIATE');
  moveLog(connection);
  connection.script('ROLLBACK');
  connection.close();
}

for (const slices of [0, 2]) {
  test(`a move that ends after ${slices} slices, in the middle of the next, continues`, async () => {
    const { older, newer } = await bothFiles(LARGE);
    interrupt(older, slices);

    await (await openSqlite(older)).close();

    assert.deepEqual(derivedIn(older), derivedIn(newer));
    const store = closedAtEnd(await openSqlite(older));
    assert.deepEqual(await store.inspect(), []);
  });
}

/** The hashes of the log, its head and what is computed from the entries; segments have other sizes. */
function derivedIn(file: string) {
  const connection = openConnection(file);
  const entries = [...segmentsFrom(connection, 0)].flatMap(entriesOf);
  const rows = ['head', 'tiles', 'blocks', 'retentions'].map((table) =>
    connection.all<object>(`SELECT * FROM ${table}`),
  );
  connection.close();
  const places = entries.map(({ sequence }) => sequence);
  return { places, hashes: Buffer.concat(entries.map(({ leaf_hash }) => leaf_hash)), rows };
}

test('a program of the version before still reads a log that is moved in part', async () => {
  const { older } = await bothFiles(LARGE);
  const before = rowsOf(older);

  interrupt(older, 1);

  assert.deepEqual(rowsOf(older), before);
});

function rowsOf(file: string): object[] {
  const connection = openConnection(file);
  const rows = ['log', 'nodes', 'head', 'marks'].flatMap((table) =>
    connection.all<object>(`SELECT * FROM ${table} ORDER BY 1, 2`),
  );
  connection.close();
  return rows;
}

/** Damages of the old log, and what is said. */
const DAMAGES: readonly [name: string, sql: string, said: RegExp][] = [
  ['an entry less', 'DELETE FROM log WHERE sequence = 700', /entry 700 is missing/],
  ['its first entry gone', 'DELETE FROM log WHERE sequence = 0', /entry 0 is missing/],
  [
    'its last entry gone',
    'DELETE FROM log WHERE sequence = (SELECT max(sequence) FROM log)',
    /its entries end at \d+ and are not the tree of its head, which ends at \d+/,
  ],
  [
    'no entry of its second log',
    'DELETE FROM log WHERE sequence > 20000',
    /its entries end at \d+ and are not the tree of its head/,
  ],
  ['no entries', 'DELETE FROM log', /its entries end at 0 and are not the tree of its head/],
  [
    'another head',
    'UPDATE head SET peaks = zeroblob(length(peaks))',
    /are not the tree of its head/,
  ],
  ['a longer head', 'UPDATE head SET size = size + 1', /are not the tree of its head/],
  [
    'another leaf hash in its last log',
    `UPDATE log SET leaf = NULL, personal = NULL, root_principal = '', actor_key = '',
       capability = NULL, invocation_id = NULL, client_reference_id = NULL, task_id = NULL,
       parent_invocation_id = NULL, leaf_hash = zeroblob(32) WHERE sequence > 20000`,
    /are not the tree of its head/,
  ],
  [
    'another leaf hash in its first log',
    'UPDATE log SET leaf_hash = zeroblob(32) WHERE sequence = 950',
    /entry 950: its leaf hash is 0+, its bytes give /,
  ],
  [
    'a leaf that was edited',
    `UPDATE log SET leaf = CAST(replace(leaf, 'completed', 'refused') AS BLOB) WHERE sequence = 950`,
    /entry 950: its leaf hash is .*, its bytes give /,
  ],
  [
    'a leaf with the end of a line in it',
    `UPDATE log SET leaf = CAST(leaf || x'0a' AS BLOB) WHERE sequence = 950`,
    /entry 950: its leaf hash is .*, its bytes give /,
  ],
  [
    'personal fields that were edited',
    `UPDATE log SET personal = CAST(personal || x'0a' AS BLOB) WHERE sequence = 950`,
    /entry 950: its personal fields are not those whose digest the leaf has/,
  ],
  [
    'a column that was edited',
    `UPDATE log SET root_principal = 'human:thief' WHERE sequence = 950`,
    /entry 950: column root_principal is "human:thief", the leaf says "human:/,
  ],
  [
    'a column left of an erased entry',
    `UPDATE log SET root_principal = 'human:thief' WHERE sequence = 0`,
    /entry 0: column root_principal is "human:thief", the leaf was erased/,
  ],
];

for (const [name, sql, said] of DAMAGES) {
  test(`openSqlite() refuses a log of the version before with ${name}, and leaves its tables`, async () => {
    const { older } = await bothFiles();
    attackFile(older, (raw) => raw.exec(sql));
    const before = rowsOf(older);

    await assert.rejects(openSqlite(older), said);

    assert.deepEqual(rowsOf(older), before);
    const connection = openConnection(older);
    assert.equal(
      connection.get<{ user_version: bigint }>('PRAGMA user_version')?.user_version,
      BigInt(SEGMENTED - 1),
    );
    connection.close();
  });
}

test('openSqlite() refuses damage behind entries that were moved before, each time', async () => {
  const { older } = await bothFiles(LARGE);
  attackFile(older, (raw) => raw.exec("UPDATE log SET state = 'refused' WHERE sequence = 8500"));
  const before = rowsOf(older);

  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(
      openSqlite(older),
      /entry 8500: column state is "refused", the leaf says "completed"; run "writ fsck" of the/,
    );
  }

  assert.deepEqual(rowsOf(older), before);
});

test('a moved log takes less room in the file than the old tables took', async () => {
  const { older } = await bothFiles(LARGE);
  const before = statSync(older).size;

  await (await openSqlite(older)).close();

  const connection = openConnection(older);
  const { free } = connection.get<{ free: bigint }>(
    'SELECT freelist_count * page_size AS free FROM pragma_freelist_count, pragma_page_size',
  ) as { free: bigint };
  connection.close();
  const used = statSync(older).size - Number(free);
  assert.ok(used < before, `${before} bytes before, ${used} used after`);
});
