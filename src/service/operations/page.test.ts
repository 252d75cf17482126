import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createPage, PAGE_BYTES_MAX } from './page.ts';

test('add() takes items up to the limit', () => {
  const page = createPage<{ n: number }>('items', 2);

  assert.deepEqual(
    [1, 2, 3].map((n) => page.add({ n })),
    [true, true, false],
  );
  assert.deepEqual(page.answer().body, { items: [{ n: 1 }, { n: 2 }] });
  assert.equal(page.count, 2);
  assert.deepEqual(page.last, { n: 2 });
});

test('add() stops at the byte bound of a page, counted in UTF-8', () => {
  for (const letter of ['x', 'é', '語', '\u0001']) {
    const page = createPage<{ text: string }>('items', 1_000_000);
    while (page.add({ text: letter.repeat(9_000) }));

    const { bytes } = page.answer({
      count: page.count,
      next_cursor: '9'.repeat(256),
    });

    const { length = 0 } = bytes ?? [];
    assert.ok(length <= PAGE_BYTES_MAX, `${length} bytes`);
    assert.ok(length > PAGE_BYTES_MAX - 60_000, `${length} bytes`);
  }
});

test('add() always takes the first item', () => {
  const page = createPage<{ text: string }>('items', 10);

  assert.equal(page.add({ text: 'x'.repeat(2 * PAGE_BYTES_MAX) }), true);
  assert.equal(page.add({ text: 'x' }), false);
});

test('answer() has the same fields as bytes and as a body', () => {
  for (const count of [0, 1, 3]) {
    const page = createPage<{ n: number }>('items', 10);
    for (let n = 0; n < count; n++) page.add({ n });

    const items = Array.from({ length: count }, (_, n) => ({ n }));

    const { bytes, body } = page.answer({ count, next_cursor: null });

    assert.equal(String(bytes), JSON.stringify({ items, count, next_cursor: null }));
    assert.deepEqual(body, { items, count, next_cursor: null });
  }
});
