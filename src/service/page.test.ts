import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createPage, PAGE_BYTES_MAX } from './page.ts';

test('add() takes as many items as asked for', () => {
  const page = createPage<{ n: number }>(2);

  assert.deepEqual(
    [1, 2, 3].map((n) => page.add({ n })),
    [true, true, false],
  );
  assert.deepEqual(page.items, [{ n: 1 }, { n: 2 }]);
});

test('add() takes no more than fits into the bytes of a page, whatever the letters', () => {
  for (const letter of ['x', 'é', '語', '\u0001']) {
    const page = createPage<{ text: string }>(1_000_000);
    while (page.add({ text: letter.repeat(9_000) }));

    const { text = '' } = page.answer('items', {
      count: page.items.length,
      next_cursor: '9'.repeat(256),
    });

    const bytes = Buffer.byteLength(text);
    assert.ok(bytes <= PAGE_BYTES_MAX, `${bytes} bytes`);
    assert.ok(bytes > PAGE_BYTES_MAX - 60_000, `${bytes} bytes`);
  }
});

test('add() always takes the first item', () => {
  const page = createPage<{ text: string }>(10);

  assert.equal(page.add({ text: 'x'.repeat(2 * PAGE_BYTES_MAX) }), true);
  assert.equal(page.add({ text: 'x' }), false);
});

test('answer() has the same fields as text and as a body', () => {
  for (const count of [0, 1, 3]) {
    const page = createPage<{ n: number }>(10);
    for (let n = 0; n < count; n++) page.add({ n });

    const { text = '', body } = page.answer('items', { count, next_cursor: null });

    assert.equal(text, JSON.stringify(body));
    assert.equal(page.answer('items').text, JSON.stringify(page.answer('items').body));
  }
});
