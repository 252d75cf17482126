import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { checkpoint } from '../../../test/store/cases/tree.ts';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { openMark } from '../open.ts';
import { openSqlite } from '../sqlite/store.ts';
import { type MarkStore, markIn } from './mark.ts';

const PLACES: Record<string, () => Promise<string>> = {
  'a file': async () => `sqlite:${join(temporaryFolder(), 'new', 'mark.db')}`,
  'a second database': async () => (await freshDatabase()).url,
};

/** Two processes would each open the place for themselves. */
async function openBoth(
  open: (typeof PLACES)[string],
): Promise<[one: MarkStore, other: MarkStore, url: string]> {
  const url = await open();
  return [closedAtEnd(await openMark(url)), closedAtEnd(await openMark(url)), url];
}

for (const [place, open] of Object.entries(PLACES)) {
  test(`advance() in ${place} keeps the whole checkpoint for every process, also later ones`, async () => {
    const [one, other, url] = await openBoth(open);
    const [first, second] = [checkpoint(1, 3), checkpoint(2, 9)];
    assert.equal(await one.read('log'), undefined);

    assert.equal(await one.advance('log', undefined, first), true);
    assert.deepEqual(await other.read('log'), first);
    assert.equal(await other.advance('log', first, second), true);

    assert.deepEqual(await one.read('log'), second);
    const later = await openMark(url);
    assert.deepEqual(await later.read('log'), second);
    await later.close();
  });

  test(`advance() in ${place} changes nothing when the mark is not the one that was read`, async () => {
    const [one, other] = await openBoth(open);
    const [first, second, third] = [checkpoint(1, 3), checkpoint(2, 9), checkpoint(2, 9)];
    await one.advance('log', undefined, first);

    assert.equal(await other.advance('log', undefined, second), false);
    assert.equal(await one.advance('log', first, second), true);
    assert.equal(await other.advance('log', first, third), false);
    assert.equal(await other.advance('another log', first, third), false);

    assert.deepEqual(await other.read('log'), second);
  });

  test(`advance() in ${place} lets one of many that come at once succeed`, async () => {
    const [one, other] = await openBoth(open);
    const rivals = Array.from({ length: 20 }, (_, place) => ({
      mark: place % 2 === 0 ? one : other,
      next: checkpoint(1, place),
    }));

    const results = await Promise.all(
      rivals.map(({ mark, next }) => mark.advance('log', undefined, next)),
    );

    assert.equal(results.filter(Boolean).length, 1);
    assert.deepEqual(await one.read('log'), rivals[results.indexOf(true)]?.next);
  });

  test(`signsWith() in ${place} keeps the last log of each place under a key`, async () => {
    const [one, other] = await openBoth(open);
    await one.signsWith('key', 'desk', 'a');
    await Promise.all([one.signsWith('key', 'desk', 'b'), other.signsWith('key', 'shop', 'c')]);
    await one.signsWith('key', 'desk', 'b');

    assert.deepEqual([...(await other.logsOf('key'))].sort(), [
      ['desk', 'b'],
      ['shop', 'c'],
    ]);
    assert.equal((await one.logsOf('another')).size, 0);
  });

  test(`read() in ${place} keeps logs apart`, async () => {
    const [one] = await openBoth(open);
    const [first, second] = [checkpoint(1, 3), checkpoint(1, 4)];
    await one.advance('a', undefined, first);
    await one.advance('b', undefined, second);

    assert.deepEqual(await one.read('a'), first);
    assert.deepEqual(await one.read('b'), second);
  });
}

test('openMark() refuses the file of a store, which would be restored with it', async () => {
  const file = join(temporaryFolder(), 'store.db');
  await (await openSqlite(file)).close();

  await assert.rejects(openMark(`sqlite:${file}`), /contains other tables than marks/);
});

for (const text of ['', '{}', '{"root":"00"}', 'null']) {
  test(`read() says that a mark is damaged when it is ${JSON.stringify(text)}`, async () => {
    const mark = markIn({
      read: async () => text,
      replace: async () => false,
      close: async () => undefined,
    });

    await assert.rejects(mark.read('log'), /^MarkDamaged: Cannot read the mark: it is damaged;/);
  });
}
