import assert from 'node:assert/strict';
import { test } from 'vitest';
import { editEntry, withField } from '../../../test/log/raw-segments.ts';
import { detailsOf, inSql, tamperedFiles, whats } from '../../../test/log/tampered-file.ts';

const { checkAfter } = tamperedFiles();

/** Segments that do not have the form of one: two entries each, from the third on. */
const DAMAGED: readonly [name: string, statement: string][] = [
  ['cut in the middle of a line', 'leaves = substr(leaves, 1, length(leaves) - 9)'],
  ['without its last line', "leaves = substr(leaves, 1, instr(leaves, x'0a'))"],
  ['with a line more', "leaves = CAST(leaves || '{}' || x'0a' AS BLOB)"],
  ['without leaves', "leaves = x''"],
  ['without personal fields and their lines', "personal = x''"],
  ['cut in its personal fields', 'personal = substr(personal, 1, length(personal) - 1)'],
  ['with a hash less', 'hashes = substr(hashes, 33)'],
  ['with a byte of a hash less', 'hashes = substr(hashes, 2)'],
];

for (const [name, change] of DAMAGED) {
  test(`checkStore() names the entries of a segment ${name}, and reads those behind it`, async () => {
    const report = await checkAfter((raw) => {
      raw.exec(`UPDATE segments SET ${change} WHERE first = 3`);
      editEntry(raw, 6, ({ leaf }) => ({ leaf: withField(leaf, 'state', 'refused') }));
    });

    const [damaged, ...others] = report.findings.filter(({ what }) => what === 'entry');
    assert.equal(damaged?.where, '3 to 4');
    assert.match(`${damaged?.detail}`, /^Cannot read entries 3 to 4: the segment is damaged: it /);
    assert.ok(others.some(({ where, detail }) => where === '6' && /its bytes give/.test(detail)));
    assert.equal(whats(report).includes('head'), true);
  });
}

for (const count of [-1_000, -1, 0, 1, 3, 4, 1_000_000_000_000, 9_007_199_254_740_991]) {
  test(`checkStore() finds a segment of two entries whose number of entries is ${count}`, async () => {
    const deed = inSql(`UPDATE segments SET count = ${count} WHERE first = 3`);
    const report = await checkAfter(deed);

    assert.deepEqual(whats(report).includes('entry'), true);
    assert.deepEqual(whats(report).includes('head'), true);
    assert.match(detailsOf(report), /CHECK constraint failed in segments/);
  });
}

test('checkStore() ends where the first segment has a number of entries below zero', async () => {
  const report = await checkAfter((raw) => {
    raw.exec(
      'DELETE FROM segments WHERE first = 0; UPDATE segments SET count = -9 WHERE first = 3',
    );
  });

  assert.match(detailsOf(report), /^entry 3: Cannot read entry 3: the segment is damaged/m);
  assert.match(detailsOf(report), /CHECK constraint failed in segments/);
});

for (const [name, where, sql] of [
  ['the first segment', '0 to 2', "UPDATE segments SET leaves = x'' WHERE first = 0"],
  ['a segment beyond the head', '9', "INSERT INTO segments VALUES (9, 1, x'00', x'00', x'00')"],
] as const) {
  test(`checkStore() names ${name} where it is damaged`, async () => {
    const { findings } = await checkAfter(inSql(sql));

    assert.equal(findings[0]?.what, 'entry');
    assert.equal(findings[0]?.where, where);
  });
}
