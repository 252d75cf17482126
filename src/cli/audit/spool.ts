/**
 * A spool: stores pages that arrive newest first on disk, and reads them back oldest first.
 *
 * Memory holds two numbers for each page, whatever the pages hold.
 *
 * @module
 */

import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';

export interface Spool<Item> {
  /** Adds a page after the earlier ones. */
  add(items: readonly Item[]): void;
  /** Reads the pages from the last added to the first. */
  backwards(): Generator<Item>;
  /** Deletes the pages. */
  drop(): void;
}

/** Mode 0600: entries say what people did. */
const PRIVATE = 0o600;

export function openSpool<Item>(path: string): Spool<Item> {
  const file = openSync(path, 'wx+', PRIVATE);
  // Unlinked while open: the file disappears however this process ends.
  unlinkSync(path);
  const pages: { start: number; length: number }[] = [];
  let end = 0;
  return {
    add(items) {
      const bytes = Buffer.from(JSON.stringify(items));
      writeWhole(file, bytes, end);
      pages.push({ start: end, length: bytes.length });
      end += bytes.length;
    },
    *backwards() {
      for (const { start, length } of pages.toReversed()) {
        const items = JSON.parse(readWhole(file, start, length)) as Item[];
        yield* items.reverse();
      }
    },
    drop: () => closeSync(file),
  };
}

function writeWhole(file: number, bytes: Buffer, at: number): void {
  let done = 0;
  while (done < bytes.length) {
    done += writeSync(file, bytes, done, bytes.length - done, at + done);
  }
}

function readWhole(file: number, start: number, length: number): string {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const read = readSync(file, bytes, done, length - done, start + done);
    if (read === 0) throw new Error('the temporary file was cut while it was in use');
    done += read;
  }
  return bytes.toString();
}
