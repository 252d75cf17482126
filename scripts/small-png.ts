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
const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const PALETTE_KIND = 3;

export function smallPng(png: Buffer): Buffer {
  const { width, height, colours } = pixelsOf(png);
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, COLOURS_MAX)
    .map(([colour]) => colour);
  const places = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  // Each line begins with its filter: none.
  const lines = Buffer.alloc(height * (width + 1));
  for (let at = 0; at < colours.length; at++) {
    lines[at + Math.floor(at / width) + 1] = places.get(colours[at] as number) as number;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, PALETTE_KIND], 8);
  const entries = Buffer.concat(palette.map((colour) => Buffer.from(bytesOf(colour))));
  const content = deflateSync(lines, { level: 9 });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', entries),
    chunk('IDAT', content),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue as one number, line by line. */
  readonly colours: Uint32Array;
}

function pixelsOf(png: Buffer): Pixels {
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
  for (let x = 0; x < line.length; x++) {
    const left = line[x - kind.size] ?? 0;
    const above = before[x] as number;
    const corner = before[x - kind.size] ?? 0;
    const guesses = [0, left, above, (left + above) >> 1, paeth(left, above, corner)];
    line[x] = (line[x] as number) + (guesses[kind.filter] as number);
  }
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((each) =>
    Math.abs(guess - each),
  ) as [number, number, number];
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

function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
