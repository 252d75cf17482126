import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  dropGuards,
  editEntry,
  editSegment,
  openRaw,
  type RawEntry,
  stubOf,
  withField,
} from '../../../test/log/raw-segments.ts';
import { smallEntry, smallKeyring } from '../../../test/log/small-log.ts';
import { type Deed, inSql, tamperedFiles, whats } from '../../../test/log/tampered-file.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import type { StoredEntry } from '../../domain/log/entry.ts';
import { hashLeaf } from '../../domain/log/merkle.ts';
import { createCheckpointCheck } from '../../keyring/checkpoint-check.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore } from './fsck.ts';

const { smallFile, checkAfter } = tamperedFiles();

const checkSignatures = createCheckpointCheck(smallKeyring.jwks().keys, smallKeyring.noteKeys);

type Value = number | string | Uint8Array | null;
type Key = Record<string, number>;

function whereOf(key: Key): string {
  return Object.entries(key)
    .map(([column, value]) => `"${column}" = ${value}`)
    .join(' AND ');
}

/** The value with one bit of one byte changed, for every byte; for a number, others near and far. */
function neighboursOf(value: Value): Value[] {
  if (value === null) return [0, 256];
  if (typeof value === 'number') return [value + 10, value + 256, value + 65_536];
  if (typeof value === 'string') {
    return [...value].map((letter, i) => {
      const other = String.fromCharCode(letter.charCodeAt(0) ^ 1);
      return value.slice(0, i) + other + value.slice(i + 1);
    });
  }
  return Array.from(value, (_, i) => value.map((byte, place) => (place === i ? byte ^ 1 : byte)));
}

/** Each field of a leaf and of the personal fields, with another value of the same form. */
const CHANGES: readonly [line: 'leaf' | 'personal', field: string, value: unknown][] = [
  ['leaf', 'entry_id', 'ent_00000000000000000000000000000000'],
  ['leaf', 'entry_type', 'replay'],
  ['leaf', 'capability', 'cancel_flight'],
  ['leaf', 'capability', undefined],
  ['leaf', 'invocation_id', 'inv-000000000000'],
  ['leaf', 'parent_invocation_id', 'inv-000000000000'],
  ['leaf', 'event_class', 'high_risk_success'],
  ['leaf', 'state', 'refused'],
  ['leaf', 'timestamp', '2030-01-01T00:00:00.005Z'],
  ['leaf', 'retention', 'PT1H'],
  ['leaf', 'erased', true],
  ['personal', 'root_principal', 'human:thief@example.com'],
  ['personal', 'actor_key', 'agent:thief'],
  ['personal', 'client_reference_id', 'ref'],
  ['personal', 'task_id', ''],
];

/** Values of another form. */
const ODD_VALUES: readonly [field: string, value: unknown][] = [
  ['retention', 'for ever'],
  ['retention', 5],
  ['retention', null],
  ['timestamp', 'now'],
  ['timestamp', null],
  ['timestamp', { toString: 1 }],
  ['capability', null],
  ['entry_id', ['ent_']],
  ['event_class', {}],
];

const LINES: readonly [name: string, change: (entry: RawEntry) => Partial<RawEntry>][] = [
  ...CHANGES.map(([line, field, value]): (typeof LINES)[number] => [
    `${field} of an entry changed to ${JSON.stringify(value)}`,
    (entry) => ({ [line]: withField(entry[line], field, value) }),
  ]),
  ...ODD_VALUES.map(([field, value]): (typeof LINES)[number] => [
    `${field} of an entry changed to ${JSON.stringify(value)}, and its hash`,
    (entry) => {
      const leaf = withField(entry.leaf, field, value);
      return { leaf, hash: hashLeaf(leaf) };
    },
  ]),
  [
    'a stub that is kept until no time',
    ({ leaf }) => ({ leaf: withField(stubOf(leaf), 'retain_until', 'later'), personal: '' }),
  ],
  ['a leaf that is no JSON', () => ({ leaf: '\0' })],
  ['a leaf that is JSON but no object', () => ({ leaf: '7' })],
  ['an empty leaf', () => ({ leaf: '' })],
  ['the stub of an erased entry without an erasure', ({ leaf }) => ({ leaf: stubOf(leaf) })],
  ['a stub without personal fields', ({ leaf }) => ({ leaf: stubOf(leaf), personal: '' })],
  ['personal fields that are gone', () => ({ personal: '' })],
  ['personal fields that are no JSON', () => ({ personal: '{' })],
  ['a leaf hash of zeros', () => ({ hash: new Uint8Array(32) })],
];

for (const [name, change] of LINES) {
  test(`checkStore() finds at its place ${name}`, async () => {
    const report = await checkAfter((raw) => editEntry(raw, 4, change));

    const found = report.findings.filter(({ what }) => what === 'entry');
    assert.deepEqual([...new Set(found.map(({ where }) => where))], ['4']);
  });
}

const FORGED: RawEntry = (() => {
  const { leaf, personal, leaf_hash } = smallEntry(7);
  return { leaf: `${Buffer.from(leaf)}`, personal: `${Buffer.from(personal)}`, hash: leaf_hash };
})();
const addForged: Deed = (raw) => editSegment(raw, 6, (entries) => [...entries, FORGED]);

/** Other ways to change history, and where each must show. */
const FORGERIES: readonly [name: string, where: string[], deed: Deed][] = [
  [
    'an entry removed from its segment',
    ['checkpoint', 'entry', 'head'],
    (raw) => editSegment(raw, 3, ([, ...others]) => others),
  ],
  [
    'a segment removed',
    ['checkpoint', 'entry', 'head'],
    inSql('DELETE FROM segments WHERE first = 3'),
  ],
  ['the first segment removed', ['entry', 'head'], inSql('DELETE FROM segments WHERE first = 0')],
  [
    'the last entry removed',
    ['checkpoint', 'head'],
    (raw) => editSegment(raw, 6, ([kept]) => [kept as RawEntry]),
  ],
  [
    'the last segment removed',
    ['checkpoint', 'head'],
    inSql('DELETE FROM segments WHERE first = 5'),
  ],
  ['all segments removed', ['checkpoint', 'head'], inSql('DELETE FROM segments')],
  ['an entry added behind the head', ['entry'], addForged],
  [
    'an entry added, and the head’s size with it',
    ['head'],
    (raw) => {
      addForged(raw);
      raw.exec('UPDATE head SET size = 8');
    },
  ],
  [
    'a leaf and its hash changed together',
    ['checkpoint', 'head'],
    (raw) =>
      editEntry(raw, 4, (entry) => {
        const leaf = withField(entry.leaf, 'state', 'refused');
        return { leaf, hash: hashLeaf(leaf) };
      }),
  ],
  [
    'two entries of a segment exchanged',
    ['checkpoint', 'head'],
    (raw) => editSegment(raw, 3, (entries) => entries.reverse()),
  ],
  [
    'two segments exchanged',
    ['checkpoint', 'head'],
    inSql(
      'UPDATE segments SET first = 99 WHERE first = 3',
      'UPDATE segments SET first = 3 WHERE first = 5',
      'UPDATE segments SET first = 5 WHERE first = 99',
    ),
  ],
  [
    'an entry repeated',
    ['entry', 'head'],
    (raw) => editSegment(raw, 3, ([one]) => [one as RawEntry, one as RawEntry]),
  ],
  [
    'a place left out',
    ['entry'],
    inSql('UPDATE segments SET first = 8 WHERE first = 5', 'UPDATE head SET size = 10'),
  ],
  [
    'a segment that has places of the one before',
    ['entry'],
    inSql('UPDATE segments SET first = 4 WHERE first = 5'),
  ],
  ['the head shrunk', ['checkpoint', 'entry', 'head'], inSql('UPDATE head SET size = 6')],
  ['the head grown', ['head'], inSql('UPDATE head SET size = 8')],
  [
    'a peak changed',
    ['head'],
    inSql('UPDATE head SET peaks = CAST(zeroblob(32) || substr(peaks, 33) AS BLOB)'),
  ],
  ['a peak removed', ['head'], inSql('UPDATE head SET peaks = substr(peaks, 33)')],
  ['a peak added', ['head'], inSql('UPDATE head SET peaks = CAST(peaks || zeroblob(32) AS BLOB)')],
  [
    'a root changed',
    ['checkpoint'],
    inSql('UPDATE checkpoints SET root = zeroblob(32) WHERE sequence = 1'),
  ],
  [
    'a checkpoint’s size changed',
    ['checkpoint'],
    inSql('UPDATE checkpoints SET size = 4 WHERE sequence = 1'),
  ],
  [
    'a checkpoint too large',
    ['checkpoint'],
    inSql('UPDATE checkpoints SET size = 8 WHERE sequence = 2'),
  ],
  [
    'the note of another checkpoint',
    ['checkpoint'],
    inSql('UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE sequence = 2)'),
  ],
  ['a note that is none', ['checkpoint'], inSql("UPDATE checkpoints SET note = 'note'")],
  [
    'a line added to a note',
    ['checkpoint'],
    inSql("UPDATE checkpoints SET note = replace(note, x'0a0a', x'0a' || 'more' || x'0a0a')"),
  ],
  ['a checkpoint removed', ['checkpoint'], inSql('DELETE FROM checkpoints WHERE sequence = 1')],
  [
    'a checkpoint renumbered',
    ['checkpoint'],
    inSql('UPDATE checkpoints SET sequence = 5 WHERE sequence = 2'),
  ],
];

for (const [name, where, deed] of FORGERIES) {
  test(`checkStore() finds ${name}`, async () => {
    const report = await checkAfter(deed);

    for (const what of where) assert.equal(whats(report).includes(what), true, `in the ${what}`);
  });
}

const CHECKPOINT_COLUMNS = [
  ...['sequence', 'checkpoint_id', 'size', 'root', 'created_at', 'signature', 'note'],
];

/** Rows of which every byte counts, by their keys; those of a checkpoint with the signer's keys. */
const ROWS: [table: string, key: Key, columns: string[]][] = [
  ['segments', { first: 3 }, ['first', 'count', 'hashes', 'leaves', 'personal']],
  ['head', { id: 1 }, ['size', 'peaks']],
  ['checkpoints', { sequence: 1 }, CHECKPOINT_COLUMNS],
  ['checkpoints', { sequence: 2 }, CHECKPOINT_COLUMNS],
];

const findingsOf = async (...parts: Parameters<typeof checkStore>) =>
  (await checkStore(...parts)).findings;

for (const [table, key, columns] of ROWS) {
  test(`checkStore() finds every single byte changed in ${table} ${JSON.stringify(key)}`, async () => {
    const file = await smallFile();
    const raw = closedAtEnd(openRaw(file));
    const store = closedAtEnd(await openSqlite(file));
    const check = table === 'checkpoints' ? checkSignatures : undefined;
    // Once for all bytes: each change of the schema costs the store all of its statements. That they
    // are gone is found too, so a changed byte must show as another finding.
    const guard = dropGuards(raw);
    const known = new Set((await findingsOf(store, check)).map((each) => JSON.stringify(each)));
    for (const column of columns) {
      const [{ value }] = raw
        .prepare(`SELECT "${column}" AS value FROM ${table} WHERE ${whereOf(key)}`)
        .all() as [{ value: Value }];
      const put = (from: Key, to: Value) =>
        raw.prepare(`UPDATE ${table} SET "${column}" = ? WHERE ${whereOf(from)}`).run(to);

      for (const changed of neighboursOf(value)) {
        put(key, changed);
        const findings = await findingsOf(store, check);
        const isFound = findings.some((each) => !known.has(JSON.stringify(each)));
        assert.equal(isFound, true, `${column} became ${String(changed)}`);
        put(column in key ? { ...key, [column]: Number(changed) } : key, value);
      }
    }
    guard();
    assert.deepEqual(await findingsOf(store, checkSignatures), [], 'all was put back');
  }, 120_000);
}

test('checkStore() counts contents that retention erased, whose proofs still hold', async () => {
  const store = closedAtEnd(await openSqlite(await smallFile()));
  const { sequence, timestamp: until } = (await store.scanEntries(3, 1))[0] as StoredEntry;
  await store.erase({ what: 'contents', eventClass: 'low_risk_success', until, limit: 100 });

  const report = await checkStore(store, checkSignatures);

  assert.deepEqual(report.findings, []);
  assert.equal(report.erased, sequence + 1);
});

test('checkStore() folds the remaining fields of an entry without its personal fields', async () => {
  const store = closedAtEnd(await openSqlite(await smallFile()));
  const until = new Date(8_640_000_000_000_000);
  await store.erase({ what: 'personal', until, limit: 100 });

  const report = await checkStore(store, checkSignatures);

  assert.deepEqual(report.findings, []);
  assert.equal(report.erased, 0);
});

test('checkStore() finds what was put into an erased entry', async () => {
  const { findings } = await checkAfter((raw) => {
    editEntry(raw, 4, ({ leaf }) => ({ leaf: stubOf(leaf) }));
    raw.exec("INSERT INTO erasures VALUES ('low_risk_success', 5)");
  });

  assert.match(`${findings[0]?.detail}`, /root_principal is .*, the leaf was erased/);
});

test('checkStore() finds an altered hash of an erased entry', async () => {
  const report = await checkAfter((raw) => {
    editEntry(raw, 4, ({ leaf }) => {
      return { leaf: stubOf(leaf), personal: '', hash: new Uint8Array(32) };
    });
    raw.exec("INSERT INTO erasures VALUES ('low_risk_success', 5)");
  });

  assert.deepEqual(whats(report), ['checkpoint', 'head']);
});
