/**
 * Lines: cuts a stream of bytes at its line ends, without ever keeping more than one line may hold.
 *
 * A longer one is dropped as it arrives and told of once, when it ends; the next line is read as if
 * nothing had been. Knows nothing about what a line says.
 *
 * @module
 */

const LINE_FEED = 0x0a;

/** The bytes of one line without its end, or that it was too long to be kept. */
export type Line = { readonly bytes: Uint8Array } | { readonly tooLong: true };

export interface LineCutter {
  /** The lines that end in this piece. */
  cut(piece: Uint8Array): Generator<Line>;
  /** What stands after the last line end, if anything: an input may end without one. */
  rest(): Line | undefined;
}

export function createLineCutter(bytesMax: number): LineCutter {
  let kept: Uint8Array[] = [];
  let length = 0;

  /** Lets go of a line as soon as it is too long; only its length is counted on. */
  function keep(part: Uint8Array): void {
    length += part.length;
    if (length > bytesMax) kept = [];
    else if (part.length > 0) kept.push(part);
  }

  function take(): Line {
    const line: Line = length > bytesMax ? { tooLong: true } : { bytes: Buffer.concat(kept) };
    kept = [];
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
