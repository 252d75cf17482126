/**
 * Reads a chosen file in slices, so that a large one neither fills the memory nor stops the page.
 *
 * @module
 */

/** Bytes of one slice: some ten milliseconds of verification, between which the page answers. */
const SLICE = 64 * 1_024;

/** Bytes of a file that is read at once: evidence has one entry and a few checkpoints. */
const WHOLE_MAX = 4 * 1_024 * 1_024;

interface Reading {
  readonly signal: AbortSignal;
  onRead(bytes: number): void;
}

/** Each slice arrives in a task of its own, so the page draws and takes clicks in between. Rejects when the signal aborts. */
export async function* slicesOf(
  file: Blob,
  { signal, onRead }: Reading,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.size; at += SLICE) {
    signal.throwIfAborted();
    const slice = file.slice(at, at + SLICE);
    yield new Uint8Array(await slice.arrayBuffer());
    onRead(Math.min(at + SLICE, file.size));
  }
}

/** The JSON of a small file; `undefined` for one that is large or is not one JSON value. */
export async function readJsonBlob(file: Blob): Promise<unknown> {
  if (file.size > WHOLE_MAX) return undefined;
  return parseJsonText(await file.text());
}

export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
