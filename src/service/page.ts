/**
 * Pages: how much of a list one answer holds, counted in items and in bytes.
 *
 * The answer is written item by item while the page fills, so that its text is made in slices too.
 *
 * @module
 */

import type { Answer } from './operations.ts';
import type { Slices } from './slices.ts';

/** In bytes. Decision 0033: an answer that is longer goes on in the next page. */
export const PAGE_BYTES_MAX = 1_048_576;

/** In bytes: what stands around the items. */
const FRAME_BYTES = 512;

export interface Page<Item extends object> {
  /** False, and nothing added, when the page is full. A page always takes its first item. */
  add(item: Item): boolean;
  readonly items: readonly Item[];
  /** The answer that has the items under `name`, and then the other fields. */
  answer(name: string, others?: object): Answer;
}

export function createPage<Item extends object>(limit: number): Page<Item> {
  const items: Item[] = [];
  const texts: string[] = [];
  let left = PAGE_BYTES_MAX - FRAME_BYTES;
  return {
    items,
    add(item) {
      if (items.length === limit) return false;
      const text = JSON.stringify(item);
      left -= Buffer.byteLength(text) + 1;
      if (left < 0 && items.length > 0) return false;
      items.push(item);
      texts.push(text);
      return true;
    },
    answer(name, others = {}) {
      const fields = [
        `${JSON.stringify(name)}:[${texts.join(',')}]`,
        ...Object.entries(others).map(([field, value]) => {
          return `${JSON.stringify(field)}:${JSON.stringify(value)}`;
        }),
      ];
      return { body: { [name]: items, ...others }, text: `{${fields.join(',')}}` };
    },
  };
}

export interface Listing<Kept, Item extends object> {
  /** Items of one answer. What is left out stays for later: these lists are worked through. */
  readonly limit: number;
  /** Records in one read of the store: a few milliseconds of an embedded one. */
  readonly readMax: number;
  /** The records that follow `last`, or the first ones. */
  read(limit: number, last: Kept | undefined): Promise<readonly Kept[]>;
  view(record: Kept): Item;
}

/** A list without a cursor: its first items, as many as asked for and as fit. */
export async function listed<Kept, Item extends object>(
  slices: Slices,
  { limit, readMax, read, view }: Listing<Kept, Item>,
): Promise<Page<Item>> {
  const page = createPage<Item>(limit);
  let last: Kept | undefined;
  for (let isFull = false; !isFull; ) {
    await slices.turn();
    const records = await read(readMax, last);
    await slices.each(records, (record) => {
      isFull = !page.add(view(record));
      return !isFull;
    });
    last = records.at(-1);
    isFull ||= records.length < readMax;
  }
  return page;
}
