import assert from 'node:assert/strict';
import { test } from 'vitest';
import { contextCost } from './context.ts';
import { CALL_TOOL, SEARCH_TOOL } from './search-tools.ts';

/** A tool whose JSON has this many bytes. */
function toolOfBytes(bytes: number) {
  const empty = { name: 'x', description: '', inputSchema: { type: 'object' } };
  return { ...empty, description: 'd'.repeat(bytes - JSON.stringify(empty).length) };
}

const SIZES: [bytes: number, tokens: number][] = [
  [100, 25],
  [101, 26],
  [396, 99],
  [397, 100],
  [401, 110],
  [40_000, 10_000],
  [40_001, 11_000],
];
for (const [bytes, tokens] of SIZES) {
  test(`contextCost() estimates ${tokens} tokens for ${bytes} bytes`, () => {
    assert.deepEqual(contextCost([toolOfBytes(bytes)]), { tools: 1, tokens });
  });
}

test('contextCost() of no tools is nothing, and counts bytes, not characters', () => {
  const [plain, wide] = ['e'.repeat(400), '€'.repeat(400)].map((description) =>
    contextCost([{ name: 'x', description, inputSchema: {} }]),
  );

  assert.deepEqual(contextCost([]), { tools: 0, tokens: 0 });
  assert.deepEqual([plain?.tokens, wide?.tokens], [120, 320]);
});

test('contextCost() of the pair of tools for search is below 500 tokens', () => {
  const { tools, tokens } = contextCost([SEARCH_TOOL, CALL_TOOL]);

  assert.equal(tools, 2);
  assert.ok(tokens < 500, String(tokens));
});
