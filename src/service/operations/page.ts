/**
 * Pages: bounds one answer of a list in items and in bytes.
 *
 * The text is written item by item while the page fills, so making it is cut into slices too.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Slices } from '../pace/slices.ts';
import type { Answer } from './operations.ts';

/** In bytes. Decision 17: a longer list continues on the next page. */
export const PAGE_BYTES_MAX = 1_048_576;

/** In bytes: room for the text around the items. */
const FRAME_BYTES = 512;

/** The position in a list that a cursor names. Refuses a cursor that `read` does not know. */
export function cursorPosition<Position>(
  cursor: string | undefined,
  read: (cursor: string) => Position | undefined,
): Position | undefined {
  if (cursor === undefined) return undefined;
  const position = read(cursor);
  if (position !== undefined) return position;
  const detail = `Cannot continue from "${cursor}": expected a cursor from an earlier page`;
  throw new Refusal(failure('invalid_parameters', detail));
}

export interface Page<Item extends object> {
  /** False, and adds nothing, when the page is full. A page always takes its first item. */
  add(item: Item): boolean;
  readonly count: number;
  readonly last: Item | undefined;
  /** The answer: the items under the name of the list, then the other fields. */
  answer(others?: object): Answer;
}

export function createPage<Item extends object>(name: string, limit: number): Page<Item> {
  const written = createBytes(`{${JSON.stringify(name)}:[`);
  let count = 0;
  let last: Item | undefined;
  let left = PAGE_BYTES_MAX - FRAME_BYTES;
  return {
    get count() {
      return count;
    },
    get last() {
      return last;
    },
    add(item) {
      if (count === limit) return false;
      const text = JSON.stringify(item);
      const size = Buffer.byteLength(text);
      left -= size + 1;
      if (left < 0 && count > 0) return false;
      if (count > 0) written.add(',', 1);
      written.add(text, size);
      last = item;
      count += 1;
      return true;
    },
    answer(others = {}) {
      const fields = Object.entries(others).map(([field, value]) => {
        return `,${JSON.stringify(field)}:${JSON.stringify(value)}`;
      });
      const bytes = written.endWith(`]${fields.join('')}}`);
      return {
        bytes,
        get body() {
          return JSON.parse(bytes.toString());
        },
      };
    },
  };
}

/** In bytes: enough for most pages. */
const FIRST_BYTES = 16_384;

interface Bytes {
  /** `size` is the length of the text in bytes. */
  add(text: string, size: number): void;
  /** All bytes with a last text. Nothing is added after it. */
  endWith(text: string): Buffer;
}

/**
 * Grows outside of the V8 heap: a page is filled over many turns, and its strings would pile up.
 */
function createBytes(first: string): Bytes {
  let room = Buffer.allocUnsafeSlow(FIRST_BYTES);
  let end = room.write(first);
  const add = (text: string, size: number) => {
    const needed = end + size;
    if (needed > room.length) {
      // Grows in few steps, because the old buffer is not freed at once.
      const larger = Buffer.allocUnsafeSlow(
        Math.max(needed, Math.min(8 * room.length, PAGE_BYTES_MAX)),
      );
      room.copy(larger, 0, 0, end);
      room = larger;
    }
    end += room.write(text, end);
  };
  return {
    add,
    endWith(text) {
      add(text, Buffer.byteLength(text));
      return room.subarray(0, end);
    },
  };
}

export interface Listing<Kept, Item extends object> {
  /** The field of the answer that holds the items. */
  readonly name: string;
  /** Items of one answer. The rest appears once operators have dealt with the first ones. */
  readonly limit: number;
  /** Records in one read: a few milliseconds of an embedded store. */
  readonly readMax: number;
  /** The records after `last`, or the first ones. */
  read(limit: number, last: Kept | undefined): Promise<readonly Kept[]>;
  view(record: Kept): Item;
}

/** A list without a cursor: the first items, up to the limit and the size of a page. */
export async function listAnswer<Kept, Item extends object>(
  slices: Slices,
  { name, limit, readMax, read, view }: Listing<Kept, Item>,
): Promise<Answer> {
  const page = createPage<Item>(name, limit);
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
  return page.answer();
}
