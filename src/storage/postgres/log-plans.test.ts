import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { run } from '../../steps.ts';
import { BUCKETS_BY_ID, HEADS } from '../log/block-index.ts';
import { scanEntries, TAIL } from '../log/search.ts';
import { ENTRIES, HASHES, PLACES, RANGE, WHOLE } from '../log/segments.ts';
import { TILES_BY_ID } from '../log/tree.ts';
import { openDatabase, type Statement } from './connection.ts';
import { SHAPES } from './log/columns.ts';
import { PICK, PLACE } from './log/sequencer.ts';
import { settingsOf } from './options.ts';
import { postgresStatement, readerOn } from './sql.ts';
import { openPostgres } from './store.ts';

/** In entries, each in a segment of its own. */
const SIZE = 1_200;

const server = await freshDatabase();
const store = closedAtEnd(await openPostgres(server.url, { poolSize: 2 }));
const database = closedAtEnd(openDatabase(server.url, settingsOf({}), 1));
for (let round = 0; round < SIZE / 300; round++) {
  for (let at = 0; at < 300; at += 100) {
    await Promise.all(Array.from({ length: 100 }, () => store.append([entry()])));
    await store.sequence();
  }
}
for (const table of ['segments', 'tiles', 'blocks', 'buckets', 'queue']) {
  await database.read({ name: '', text: `ANALYZE ${table}` });
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Without a name it goes as it is, with its parameters open. */
async function planOf(text: string, values: readonly unknown[]): Promise<Plan> {
  const rows = await database.read<{ 'QUERY PLAN': [{ Plan: Plan }] }>({ name: '', text }, values);
  return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan;
}

function nodesIn(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesIn)];
}

const READS: readonly Statement[] = [
  ...[RANGE, SHAPES, WHOLE, ENTRIES, PLACES, HASHES].map(postgresStatement),
  ...[TILES_BY_ID, HEADS, BUCKETS_BY_ID, TAIL].map(postgresStatement),
  ...[PICK, PLACE],
];

for (const { name, text } of READS) {
  test(`the statement ${name} reads no table but by an index`, async () => {
    const nodes = nodesIn(await planOf(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`, []));

    const tables = nodes.filter((node) => node['Relation Name'] !== undefined);
    const whole = tables.filter((node) => node['Node Type'] === 'Seq Scan');
    // The head is one row.
    const found = whole.map((node) => node['Relation Name']).filter((table) => table !== 'head');
    assert.deepEqual(found, []);
    assert.ok(tables.length > 0);
  });
}

const FEW: readonly [Statement, values: readonly unknown[], rows: number][] = [
  [postgresStatement(ENTRIES), [[3, 700, 701]], 3],
  [postgresStatement(WHOLE), [[3, 700]], 2],
  [postgresStatement(HASHES), [[3], [4]], 1],
  [postgresStatement(PLACES), [1_000, 1_010, 5], 11],
];

for (const [{ name, text }, values, most] of FEW) {
  test(`the statement ${name} reads the rows of the places it is asked for`, async () => {
    const nodes = nodesIn(await planOf(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values));

    const read = nodes
      .filter((node) => node['Relation Name'] === 'segments')
      .map((node) => {
        const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
        return Math.round(rows * (node['Actual Loops'] ?? 1));
      });
    assert.ok(Math.max(...read) <= most, `${name} read ${read.join(', ')}`);
  });
}

test('scanEntries() reads about what it returns', async () => {
  let read = 0;
  const sql = readerOn(async <Row extends object>(sent: Statement, values?: readonly unknown[]) => {
    const rows = await database.read<Row>(sent, values);
    for (const { leaves } of rows as unknown as { leaves: Uint8Array }[]) read += leaves.length;
    return rows;
  });
  const all = await run(scanEntries(sql, 0, SIZE));
  const whole = read;

  read = 0;
  const few = await run(scanEntries(sql, 100, 10));

  assert.deepEqual([all.length, few.length], [SIZE, 10]);
  assert.ok(read < whole / 5, `${read} bytes of ${whole}`);
});
