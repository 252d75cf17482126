/**
 * Makes a picture of a page smaller: at most 256 colours, which is all that text and rules need.
 *
 * Reads the PNG that a browser writes (8 bits a channel, RGB or RGBA, not interlaced) and writes one with a palette:
 * the most frequent colours, and for each other pixel the nearest of them.
 *
 * @module
 */

import { crc32, deflateSync, inflateSync } from 'node:zlib';

const COLOURS_MAX = 256;
export const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const PALETTE_KIND = 3;

export function smallPng(png: Buffer): Buffer {
  const pixels = pixelsOf(png);
  const counts = new Map<number, number>();
  countColours(pixels, counts);
  const palette = paletteOf(counts);
  const whole = { x: 0, y: 0, width: pixels.width, height: pixels.height };
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', headerOf(pixels)),
    chunk('PLTE', palette.entries),
    chunk('IDAT', contentOf(pixels, whole, palette)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue as one number, line by line. */
  readonly colours: Uint32Array;
}

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Palette {
  /** The content of the chunk PLTE. */
  readonly entries: Buffer;
  /** The place in the palette of each counted colour. */
  readonly places: ReadonlyMap<number, number>;
}

/** Adds the pixels of each colour. */
export function countColours({ colours }: Pixels, counts: Map<number, number>): void {
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
}

/** The most frequent colours, and for each other one the nearest of them. */
export function paletteOf(counts: ReadonlyMap<number, number>): Palette {
  const palette = [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, COLOURS_MAX)
    .map(([colour]) => colour);
  return {
    entries: Buffer.concat(palette.map((colour) => Buffer.from(bytesOf(colour)))),
    places: new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)])),
  };
}

/** The content of the chunk IHDR of a picture with a palette. */
export function headerOf({ width, height }: Pixels): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, PALETTE_KIND], 8);
  return header;
}

/** A part of a picture as places in the palette, compressed. */
export function contentOf(
  { width, colours }: Pixels,
  part: Rectangle,
  { places }: Palette,
): Buffer {
  // Each line begins with its filter: none.
  const lines = Buffer.alloc(part.height * (part.width + 1));
  for (let y = 0; y < part.height; y++) {
    const [from, to] = [(part.y + y) * width + part.x, y * (part.width + 1) + 1];
    for (let x = 0; x < part.width; x++) {
      lines[to + x] = places.get(colours[from + x] as number) as number;
    }
  }
  return deflateSync(lines, { level: 9 });
}

export function pixelsOf(png: Buffer): Pixels {
  const chunks = new Map<string, Buffer[]>();
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const name = png.toString('latin1', at + 4, at + 8);
    chunks.set(name, [...(chunks.get(name) ?? []), png.subarray(at + 8, at + 8 + length)]);
    at += length + 12;
  }
  const [header = Buffer.alloc(13)] = chunks.get('IHDR') ?? [];
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const size = header[9] === 6 ? 4 : 3;
  const raw = inflateSync(Buffer.concat(chunks.get('IDAT') ?? []));
  const colours = new Uint32Array(width * height);
  let before = Buffer.alloc(width * size);
  for (let y = 0; y < height; y++) {
    const start = y * (width * size + 1);
    const line = Buffer.from(raw.subarray(start + 1, start + 1 + width * size));
    unfilter(line, before, { filter: raw[start] as number, size });
    for (let x = 0; x < width; x++) colours[y * width + x] = line.readUIntBE(x * size, 3);
    before = line;
  }
  return { width, height, colours };
}

/** PNG, section 9.2: a byte is stored as its difference from the bytes left, above and above left. */
function unfilter(line: Buffer, before: Buffer, kind: { filter: number; size: number }): void {
  const guess = GUESSES[kind.filter] as (typeof GUESSES)[number];
  for (let x = 0; x < line.length; x++) {
    const isFirst = x < kind.size;
    const left = isFirst ? 0 : (line[x - kind.size] as number);
    const corner = isFirst ? 0 : (before[x - kind.size] as number);
    line[x] = (line[x] as number) + guess(left, before[x] as number, corner);
  }
}

/** By the number of the filter. */
const GUESSES = [
  () => 0,
  (left: number) => left,
  (_left: number, above: number) => above,
  (left: number, above: number) => (left + above) >> 1,
  paeth,
] as const;

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const toLeft = Math.abs(guess - left);
  const toAbove = Math.abs(guess - above);
  const toCorner = Math.abs(guess - corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

function nearest(palette: readonly number[], colour: number): number {
  const distances = palette.map((each) => distance(each, colour));
  return distances.indexOf(Math.min(...distances));
}

function distance(one: number, other: number): number {
  const [first, second] = [bytesOf(one), bytesOf(other)];
  return first.reduce((sum, byte, place) => sum + (byte - (second[place] as number)) ** 2, 0);
}

function bytesOf(colour: number): number[] {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];
}

export function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
