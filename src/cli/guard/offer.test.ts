import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { UpstreamTool } from '../../guard/upstream.ts';
import { askOffer, guessed, offeredBy, printableLine, toolTable } from './offer.ts';

function tool(name: string, readOnlyHint: boolean): UpstreamTool {
  const inputSchema = { type: 'object' };
  return { name, description: `Does ${name}`, inputSchema, annotations: { readOnlyHint } };
}

const TOOLS = guessed([tool('look', true), tool('change', false), tool('all', false)]);

const ANSWERS: [answer: string, names: string[]][] = [
  ['1', ['look']],
  ['look, 2', ['look', 'change']],
  ['reads', ['look']],
  ['none', []],
  ['all', ['all']],
  ['reads,change', ['look', 'change']],
];
for (const [answer, names] of ANSWERS) {
  test(`offeredBy() reads "${answer}"`, () => {
    assert.deepEqual(offeredBy(answer, TOOLS), new Set(names));
  });
}

for (const answer of ['', ',', '0', '4', '1e1', 'look change', 'LOOK', '__proto__']) {
  test(`offeredBy() finds no tools in "${answer}"`, () => {
    assert.ok('fault' in offeredBy(answer, TOOLS));
  });
}

test('offeredBy() offers all where no tool has that name', () => {
  assert.equal((offeredBy('all', TOOLS.slice(0, 2)) as Set<string>).size, 2);
});

const io = { out: () => {}, err: () => {}, env: {} };

test('askOffer() takes an empty answer as the default, where there is one', async () => {
  const ask = async () => '';

  assert.deepEqual(
    await askOffer(TOOLS, { otherwise: 'reads' }, { ...io, ask }),
    new Set(['look']),
  );
  await assert.rejects(askOffer(TOOLS, { otherwise: undefined }, { ...io, ask }), /no tools/);
});

test('askOffer() says what to pass where no person can be asked and nothing is usual', async () => {
  await assert.rejects(askOffer(TOOLS, { otherwise: undefined }, io), /--offer look/);
});

test('printableLine() is one line of bounded length without hidden characters', () => {
  assert.equal(printableLine('a\nb\u0007\u202e', 80), 'a b\\u{7}\\u{202e}');
  assert.equal(printableLine('x'.repeat(1_000_000), 80).length, 80);
});

test('toolTable() has one line for each tool, whatever its text', () => {
  const odd = guessed([{ ...tool('a\nb', true), description: 'one\ntwo\r\nthree\u2028four' }]);

  assert.equal(toolTable(odd).trimEnd().split('\n').length, 2);
});
