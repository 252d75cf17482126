/**
 * Lines of a file that comes in pieces, in bounded memory.
 *
 * @module
 */

import { canonicalJson } from '../domain/canonical.ts';
import { type JsonLimits, readJson } from '../domain/json.ts';

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A leaf of the greatest length in base64, the entry's fields beside it, and room. */
const LINE_LIMITS: JsonLimits = { bytes: 512 * 1024, depth: 64, keys: 100_000 };

const LINE_BREAK = 0x0a;

/**
 * The value of each line; `undefined` for one that is not JSON in canonical form, so that a value
 * has one line only. A last line without its break is none: the rest of it may be missing.
 */
export async function* valuesOf(chunks: Chunks): AsyncGenerator<{ value: unknown } | undefined> {
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, start)) {
      yield readLine([...held, chunk.subarray(start, at)]);
      [held, length, start] = [[], 0, at + 1];
    }
    const rest = chunk.slice(start);
    length += rest.length;
    if (length > LINE_LIMITS.bytes) return yield undefined;
    if (rest.length > 0) held.push(rest);
  }
  if (length > 0) yield undefined;
}

function readLine(pieces: readonly Uint8Array[]): { value: unknown } | undefined {
  const line = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    line.set(piece, at);
    at += piece.length;
  }
  const reading = readJson(line, LINE_LIMITS);
  if (!('value' in reading)) return undefined;
  return canonicalJson(reading.value) === new TextDecoder().decode(line) ? reading : undefined;
}
