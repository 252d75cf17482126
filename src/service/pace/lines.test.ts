import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { createLineCutter, type Line } from './lines.ts';

const LINE_MAX = 8;

/** The lines of a text that arrives in pieces of these sizes, used in turn. */
function linesOf(text: string, sizes: readonly number[], bytesMax = LINE_MAX): (string | null)[] {
  const cutter = createLineCutter(bytesMax);
  const bytes = Buffer.from(text);
  const lines: Line[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    lines.push(...cutter.cut(bytes.subarray(at, at + size)));
    at += size;
  }
  const rest = cutter.rest();
  if (rest) lines.push(rest);
  return lines.map((line) => ('bytes' in line ? Buffer.from(line.bytes).toString() : null));
}

test('cut() gives the same lines however the bytes are split', () => {
  const text = fc.array(fc.string({ unit: fc.constantFrom('a', 'é', ' '), maxLength: 12 }));
  const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(text, sizes, (lines, pieces) => {
      const expected = lines.map((line) => (Buffer.byteLength(line) > LINE_MAX ? null : line));
      assert.deepEqual(linesOf(lines.map((line) => `${line}\n`).join(''), pieces), expected);
    }),
  );
});

const table: { name: string; text: string; expected: (string | null)[] }[] = [
  { name: 'keeps a line of exactly the bound', text: '12345678\n', expected: ['12345678'] },
  { name: 'drops a line one byte longer', text: '123456789\n', expected: [null] },
  {
    name: 'reads the line after a dropped one',
    text: '123456789\nab\n',
    expected: [null, 'ab'],
  },
  { name: 'gives the bytes after the last line feed', text: 'a\nb', expected: ['a', 'b'] },
  { name: 'reports a long line that never ends', text: '123456789', expected: [null] },
  { name: 'gives empty lines', text: '\n\n', expected: ['', ''] },
];
for (const { name, text, expected } of table) {
  test(`cut() ${name}`, () => {
    assert.deepEqual(linesOf(text, [3]), expected);
  });
}
