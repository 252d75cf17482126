/**
 * Lines: cuts a stream of bytes at its line ends, without ever keeping more than one line may hold.
 *
 * A longer one is dropped as it arrives and told of once, when it ends; the next line is read as if
 * nothing had been. Knows nothing about what a line says.
 *
 * @module
 */

const LINE_FEED = 0x0a;

/** In bytes. What begins a message and says which one it is. */
const START_BYTES = 1_024;

/** The bytes of one line without its end, or the start of one that was too long to be kept. */
export type Line =
  | { readonly bytes: Uint8Array }
  | { readonly tooLong: true; readonly start: Uint8Array };

export interface LineCutter {
  /** The lines that end in this piece. */
  cut(piece: Uint8Array): Generator<Line>;
  /** What stands after the last line end, if anything: an input may end without one. */
  rest(): Line | undefined;
}

export function createLineCutter(bytesMax: number): LineCutter {
  let kept: Uint8Array[] = [];
  let length = 0;
  let isLong = false;

  /** Lets go of a line as soon as it is too long, but for its start; only its length is counted on. */
  function keep(part: Uint8Array): void {
    length += part.length;
    if (isLong) return;
    if (part.length > 0) kept.push(part);
    if (length <= bytesMax) return;
    isLong = true;
    kept = [Buffer.concat(kept, Math.min(length, START_BYTES))];
  }

  function take(): Line {
    const bytes = Buffer.concat(kept);
    const line: Line = isLong ? { tooLong: true, start: bytes } : { bytes };
    kept = [];
    isLong = false;
    length = 0;
    return line;
  }

  return {
    *cut(piece) {
      let from = 0;
      for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, from)) {
        keep(piece.subarray(from, end));
        yield take();
        from = end + 1;
      }
      keep(piece.subarray(from));
    },
    rest: () => (length > 0 ? take() : undefined),
  };
}
