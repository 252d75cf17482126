/**
 * Cuts a stream of bytes into lines, and never holds more than one line of the allowed length.
 *
 * A longer line is dropped while it arrives and reported once, at its end. The next line is read
 * normally. The content of a line has no meaning here.
 *
 * @module
 */

const LINE_FEED = 0x0a;

/** In bytes. The start of a message holds its id, so that a too long one can be answered. */
const START_BYTES = 1_024;

/** The bytes of one line without its line feed, or the start of a line that is too long. */
export type Line =
  | { readonly bytes: Uint8Array }
  | { readonly tooLong: true; readonly start: Uint8Array };

export interface LineCutter {
  /** The lines that end in this piece. */
  cut(piece: Uint8Array): Generator<Line>;
  /** The bytes after the last line feed, if any: an input may end without one. */
  rest(): Line | undefined;
}

export function createLineCutter(bytesMax: number): LineCutter {
  let pieces: Uint8Array[] = [];
  let length = 0;
  let isLong = false;

  /** Collects a line. Once it is too long, only its start and its length are held. */
  function collect(part: Uint8Array): void {
    length += part.length;
    if (isLong) return;
    if (part.length > 0) pieces.push(part);
    if (length <= bytesMax) return;
    isLong = true;
    pieces = [Buffer.concat(pieces, Math.min(length, START_BYTES))];
  }

  function take(): Line {
    const bytes = Buffer.concat(pieces);
    const line: Line = isLong ? { tooLong: true, start: bytes } : { bytes };
    pieces = [];
    isLong = false;
    length = 0;
    return line;
  }

  return {
    *cut(piece) {
      let from = 0;
      for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, from)) {
        collect(piece.subarray(from, end));
        yield take();
        from = end + 1;
      }
      collect(piece.subarray(from));
    },
    rest: () => (length > 0 ? take() : undefined),
  };
}
