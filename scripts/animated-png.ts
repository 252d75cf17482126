/**
 * Makes an animated PNG (PNG, third edition: acTL, fcTL, fdAT) from screenshots of one size: one palette for all frames,
 * and of each frame only the rectangle that changed.
 *
 * A frame that equals the one before lengthens it. Players repeat the animation without end; a viewer that knows no
 * animation shows the first frame.
 *
 * @module
 */

import {
  chunk,
  contentOf,
  countColours,
  headerOf,
  type Pixels,
  paletteOf,
  pixelsOf,
  type Rectangle,
  SIGNATURE,
} from './small-png.ts';

export interface Frame {
  /** A screenshot, as a browser writes it. */
  readonly png: Buffer;
  /** How long it is shown, in milliseconds. */
  readonly ms: number;
}

/** A field of 16 bits counts the milliseconds. */
const FRAME_MS_MAX = 65_535;

export function animatedPng(frames: readonly Frame[]): Buffer {
  const shown = changedFrames(frames);
  const [first] = shown;
  if (first === undefined) throw new Error('Cannot make an animated PNG: there is no frame');
  const counts = new Map<number, number>();
  // Decoded once more below: all frames decoded at once would take gigabytes.
  for (const { png } of shown) countColours(pixelsOf(png), counts);
  const palette = paletteOf(counts);

  const chunks = [SIGNATURE, chunk('IHDR', headerOf(pixelsOf(first.png)))];
  chunks.push(chunk('PLTE', palette.entries), chunk('acTL', numbers(shown.length, 0)));
  let sequence = 0;
  let before: Pixels | undefined;
  for (const { png, ms } of shown) {
    const pixels = pixelsOf(png);
    const part = before ? changedPart(before, pixels) : wholeOf(pixels);
    chunks.push(chunk('fcTL', controlOf(sequence++, part, ms)));
    const content = contentOf(pixels, part, palette);
    if (before === undefined) chunks.push(chunk('IDAT', content));
    else chunks.push(chunk('fdAT', Buffer.concat([numbers(sequence++), content])));
    before = pixels;
  }
  return Buffer.concat([...chunks, chunk('IEND', Buffer.alloc(0))]);
}

/** Leaves out frames that equal the one before, whose time is then longer. */
function changedFrames(frames: readonly Frame[]): Frame[] {
  const shown: Frame[] = [];
  for (const frame of frames) {
    const last = shown.at(-1);
    if (last?.png.equals(frame.png)) shown[shown.length - 1] = { ...last, ms: last.ms + frame.ms };
    else shown.push(frame);
  }
  return shown;
}

/** The smallest rectangle outside which both pictures are equal; one pixel where they are equal everywhere. */
function changedPart(before: Pixels, now: Pixels): Rectangle {
  const { width, height } = now;
  if (before.width !== width || before.height !== height) {
    throw new Error('Cannot make an animated PNG: the frames have several sizes');
  }
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let at = 0; at < now.colours.length; at++) {
    if (now.colours[at] === before.colours[at]) continue;
    const [x, y] = [at % width, Math.floor(at / width)];
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = y;
  }
  if (right < 0) return { x: 0, y: 0, width: 1, height: 1 };
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

function wholeOf({ width, height }: Pixels): Rectangle {
  return { x: 0, y: 0, width, height };
}

/** fcTL: drawn over what is there, which stays when the frame ends. */
function controlOf(sequence: number, { x, y, width, height }: Rectangle, ms: number): Buffer {
  const times = Buffer.alloc(6);
  times.writeUInt16BE(Math.min(Math.round(ms), FRAME_MS_MAX), 0);
  times.writeUInt16BE(1_000, 2);
  return Buffer.concat([numbers(sequence, width, height, x, y), times]);
}

function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * 4);
  return bytes;
}
