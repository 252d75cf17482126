import assert from 'node:assert/strict';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { at, entry, variedEntry } from '../../../test/support/fixtures.ts';
import type { StoredEntry } from '../../domain/log/entry.ts';
import { mergeBlocks } from '../log/block-index.ts';
import { BLOCK_ENTRIES, MERGED_BLOCKS } from '../log/blocks.ts';
import { treeHead } from '../log/tree.ts';
import type { EntryQuery, Store } from '../port/store.ts';
import { openConnection } from './connection.ts';
import { atOnce, rowsOn } from './sql.ts';
import { createSqliteStore } from './store.ts';

type Query = Omit<EntryQuery, 'limit'>;

/** Different entries. The log repeats them, because it takes long to make many. */
const KINDS = Array.from({ length: 2_048 }, (_, n) =>
  // Times rise and fall, also within a block.
  variedEntry(n, at(n % 100 === 7 ? 5_000 - n : n)),
);

/** Most filters are absent, so that many queries have several pages. */
const rare = <Value>(value: fc.Arbitrary<Value>, weight = 5): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const numbered = (prefix: string, max: number) =>
  fc.nat({ max }).map((number) => `${prefix}${number}`);

/** Values that occur, and some that do not. */
const filters: fc.Arbitrary<Query> = fc.record({
  rootPrincipal: rare(numbered('human:', 9), 2),
  entryType: rare(fc.constantFrom('operator', 'invocation', 'replay')),
  capability: rare(numbered('c', 5)),
  invocationId: rare(
    fc.nat({ max: 2_100 }).map((n) => `inv-${n.toString(16).padStart(12, '0')}`),
    10,
  ),
  taskId: rare(numbered('t', 21)),
  clientReferenceId: rare(fc.constantFrom('ref 0', 'ref 150')),
  parentInvocationId: rare(numbered(`inv-${'0'.repeat(11)}`, 3)),
  since: rare(fc.integer({ min: -1, max: 5_000 }).map(at)),
});

/** A walk over pages: where it begins, how long they are, and what happens between them. */
const walks = fc.record({
  filters,
  /** Below the end of the log. */
  skipped: rare(fc.nat({ max: 40_000 }), 2),
  limits: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
  appended: fc.array(fc.nat({ max: 900 }), { minLength: 1, maxLength: 5 }),
  isMerged: fc.boolean(),
  isOther: fc.boolean(),
});

/** Completes the large block after the first page, and merges it in the middle of the walk. */
const MERGING = {
  filters: { rootPrincipal: 'human:3' },
  ...{ skipped: undefined, limits: [50], appended: [900, 0], isMerged: true, isOther: true },
};

/** What a walk over all entries finds, newest first. */
function expectedOf(entries: readonly StoredEntry[], query: Query): number[] {
  const { before = Number.POSITIVE_INFINITY, since } = query;
  const isFound = (each: StoredEntry) =>
    each.sequence < before &&
    (since === undefined || each.timestamp > since) &&
    (query.rootPrincipal ?? each.root_principal) === each.root_principal &&
    (query.entryType ?? each.entry_type) === each.entry_type &&
    (query.capability ?? each.capability) === each.capability &&
    (query.taskId ?? each.task_id) === each.task_id &&
    (query.clientReferenceId ?? each.client_reference_id) === each.client_reference_id &&
    (query.parentInvocationId ?? each.parent_invocation_id) === each.parent_invocation_id &&
    (query.invocationId ?? each.invocation_id) === each.invocation_id;
  return entries
    .filter(isFound)
    .map(({ sequence }) => sequence)
    .reverse();
}

/** A file that two processes use: two logs, the second with almost as many entries as a large block has. */
async function openLog() {
  const file = join(temporaryFolder(), 'writ.db');
  const connection = openConnection(file);
  connection.script('PRAGMA synchronous = OFF');
  const writer = closedAtEnd(createSqliteStore(connection));
  const reader = closedAtEnd(createSqliteStore(openConnection(file)));
  const entries: StoredEntry[] = [];
  let made = 0;

  const keepNew = async () => {
    const from = (entries.at(-1)?.sequence ?? -1) + 1;
    entries.push(...(await writer.scanEntries(from, 50_000)));
  };
  const append = async (count: number) => {
    const fresh = Array.from({ length: count }, () => KINDS[made++ % KINDS.length]);
    await writer.append(fresh as (typeof KINDS)[number][]);
    await keepNew();
  };

  await append(1_500);
  await writer.beginOrigin(await writer.treeHead(), 'the-next-log', entry());
  await keepNew();
  for (let size = 0; size < BLOCK_ENTRIES * MERGED_BLOCKS - 1_500; size += 4_000)
    await append(4_000);
  const merge = () => {
    connection.script('BEGIN IMMEDIATE');
    const sql = rowsOn(connection);
    atOnce(mergeBlocks(sql, atOnce(treeHead(sql))));
    connection.script('COMMIT');
  };
  return { connection, writer, reader, entries, append, merge };
}

/** A walk over all pages of a large log takes long. */
const PAGES_MAX = 15;

/** What pages from the newest entry on give, and where they end, while `between` happens. */
async function walked(
  store: Store,
  query: Query,
  limits: readonly number[],
  between: (page: number) => Promise<void>,
): Promise<{ found: number[]; end: number }> {
  const found: number[] = [];
  let before = query.before;
  for (let page = 0; page < PAGES_MAX; page++) {
    const limit = limits[page % limits.length] as number;
    const { entries, next } = await store.queryEntries({ ...query, before, limit });
    assert.ok(entries.length <= limit);
    found.push(...entries.map(({ sequence }) => sequence));
    if (next === undefined) return { found, end: 0 };
    assert.ok(before === undefined || next < before, 'a walk goes down');
    before = next;
    await between(page);
  }
  return { found, end: before as number };
}

test('pages have every entry once, as a walk over the log finds them, while it grows and blocks merge', async () => {
  const log = await openLog();
  const walk = fc.asyncProperty(walks, async (drawn) => {
    const end = (log.entries.at(-1)?.sequence as number) + 1;
    const query = {
      ...drawn.filters,
      before: drawn.skipped === undefined ? undefined : end - drawn.skipped,
    };
    const expected = expectedOf(log.entries, query);
    const between = async (page: number) => {
      if (page < drawn.appended.length) await log.append(drawn.appended[page] as number);
      if (drawn.isMerged) log.merge();
    };

    const store = drawn.isOther ? log.reader : log.writer;
    const { found, end: reached } = await walked(store, query, drawn.limits, between);

    const due = expected.filter((place) => place >= reached);
    assert.deepEqual(found, due);
  });

  await fc.assert(walk, { numRuns: 30, endOnFailure: true, examples: [[MERGING]] });

  const large = log.connection.get<{ count: bigint }>('SELECT max(count) AS count FROM blocks');
  assert.equal(Number(large?.count), BLOCK_ENTRIES * MERGED_BLOCKS);
  assert.deepEqual(await log.reader.inspect(), []);
}, 60_000);
