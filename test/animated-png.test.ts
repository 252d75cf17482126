/**
 * The encoder of the demo's recording: its chunks are those of the specification, and its frames give back the pictures.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { describe, test } from 'vitest';
import { animatedPng } from '../scripts/animated-png.ts';

const [WIDTH, HEIGHT] = [12, 7];
const [DARK, LIGHT, RED] = [0x121416, 0xf8f8f5, 0xb0201b];

type Picture = readonly number[];

const EMPTY: Picture = Array.from({ length: WIDTH * HEIGHT }, () => DARK);

function dotted(
  picture: Picture,
  dots: readonly [x: number, y: number, colour: number][],
): Picture {
  const next = [...picture];
  for (const [x, y, colour] of dots) next[y * WIDTH + x] = colour;
  return next;
}

function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** A picture as a browser writes it: RGB, here with the filter "sub" in every line. */
function screenshot(picture: Picture, width = WIDTH): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(picture.length / width, 4);
  header.set([8, 2], 8);
  const lines: Buffer[] = [];
  for (let from = 0; from < picture.length; from += width) {
    const bytes = picture
      .slice(from, from + width)
      .flatMap((each) => [each >> 16, (each >> 8) & 0xff, each & 0xff]);
    const stored = bytes.map((byte, at) => (byte - (bytes[at - 3] ?? 0)) & 0xff);
    lines.push(Buffer.from([1, ...stored]));
  }
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(lines))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

interface Chunk {
  readonly name: string;
  readonly content: Buffer;
}

/** The chunks, each with a check that fits. */
function chunksOf(png: Buffer): Chunk[] {
  assert.equal(png.toString('hex', 0, 8), '89504e470d0a1a0a');
  const chunks: Chunk[] = [];
  for (let at = 8; at < png.length; ) {
    const end = at + 8 + png.readUInt32BE(at);
    const name = png.toString('latin1', at + 4, at + 8);
    assert.equal(png.readUInt32BE(end), crc32(png.subarray(at + 4, end)), name);
    chunks.push({ name, content: png.subarray(at + 8, end) });
    at = end + 4;
  }
  return chunks;
}

interface Played {
  readonly ms: number;
  readonly pixels: number;
  readonly picture: Picture;
}

/** What a player shows, one picture for each frame. */
function played(png: Buffer): Played[] {
  const chunks = chunksOf(png);
  const palette = chunks.find(({ name }) => name === 'PLTE')?.content as Buffer;
  const shown: Played[] = [];
  const canvas = Array.from({ length: WIDTH * HEIGHT }, () => 0);
  let control = Buffer.alloc(0);
  for (const { name, content } of chunks) {
    if (name === 'fcTL') control = Buffer.from(content);
    if (name !== 'IDAT' && name !== 'fdAT') continue;
    const [width, height] = [control.readUInt32BE(4), control.readUInt32BE(8)];
    const [left, top] = [control.readUInt32BE(12), control.readUInt32BE(16)];
    const lines = inflateSync(name === 'IDAT' ? content : content.subarray(4));
    assert.equal(lines.length, height * (width + 1));
    for (let y = 0; y < height; y++) {
      assert.equal(lines[y * (width + 1)], 0, 'no filter');
      for (let x = 0; x < width; x++) {
        const place = lines[y * (width + 1) + 1 + x] as number;
        canvas[(top + y) * WIDTH + left + x] = palette.readUIntBE(place * 3, 3);
      }
    }
    const ms = (control.readUInt16BE(20) * 1_000) / control.readUInt16BE(22);
    shown.push({ ms, pixels: width * height, picture: [...canvas] });
  }
  return shown;
}

const second = dotted(EMPTY, [
  [3, 2, LIGHT],
  [5, 4, RED],
]);
const third = dotted(second, [[11, 6, LIGHT]]);
const FILM = animatedPng([
  { png: screenshot(EMPTY), ms: 400 },
  { png: screenshot(second), ms: 1_500 },
  { png: screenshot(third), ms: 70_000 },
]);

describe('animatedPng()', () => {
  test('writes each frame with its control, numbered without a gap', () => {
    const chunks = chunksOf(FILM);

    const names = chunks.map(({ name }) => name);
    assert.deepEqual(names, [
      ...['IHDR', 'PLTE', 'acTL', 'fcTL', 'IDAT'],
      ...['fcTL', 'fdAT', 'fcTL', 'fdAT', 'IEND'],
    ]);
    const [, , count] = chunks;
    assert.deepEqual([count?.content.readUInt32BE(0), count?.content.readUInt32BE(4)], [3, 0]);
    const numbered = chunks.filter(({ name }) => name === 'fcTL' || name === 'fdAT');
    assert.deepEqual(
      numbered.map(({ content }) => content.readUInt32BE(0)),
      [0, 1, 2, 3, 4],
    );
    for (const { content } of chunks.filter(({ name }) => name === 'fcTL')) {
      assert.equal(content.length, 26);
      assert.deepEqual([...content.subarray(24)], [0, 0], 'drawn over what stays');
    }
  });

  test('gives back every picture, with its time up to what the field can have', () => {
    const frames = played(FILM);

    assert.deepEqual(
      frames.map(({ picture }) => picture),
      [EMPTY, second, third],
    );
    assert.deepEqual(
      frames.map(({ ms }) => ms),
      [400, 1_500, 65_535],
    );
  });

  test('stores of a frame only the rectangle that changed', () => {
    assert.deepEqual(
      played(FILM).map(({ pixels }) => pixels),
      [WIDTH * HEIGHT, 3 * 3, 1],
    );
  });

  test('lengthens a frame instead of repeating it', () => {
    const repeated = animatedPng([
      { png: screenshot(EMPTY), ms: 400 },
      { png: screenshot(EMPTY), ms: 600 },
      { png: screenshot(second), ms: 100 },
    ]);

    assert.deepEqual(
      played(repeated).map(({ ms }) => ms),
      [1_000, 100],
    );
  });

  test('takes the nearest of 256 colours for each other one', () => {
    const greys = Array.from({ length: 256 }, (_, grey) => grey * 0x010101);
    const picture = [...greys, ...greys, ...greys, 0x010100, 0x020202, 0x030303, 0x040404];
    const film = animatedPng([{ png: screenshot(picture, 4), ms: 1 }]);
    const palette = chunksOf(film).find(({ name }) => name === 'PLTE')?.content as Buffer;
    const lines = inflateSync(
      chunksOf(film).find(({ name }) => name === 'IDAT')?.content as Buffer,
    );

    assert.equal(palette.length, 256 * 3);
    const odd = lines[(lines.length / 5 - 1) * 5 + 1] as number;
    assert.equal(palette.readUIntBE(odd * 3, 3), 0x010101);
  });

  test('refuses frames of several sizes, and a film without a frame', () => {
    const film = [
      { png: screenshot(EMPTY), ms: 1 },
      { png: screenshot(EMPTY, 6), ms: 1 },
    ];

    assert.throws(() => animatedPng(film), /several sizes/);
    assert.throws(() => animatedPng([]), /no frame/);
  });
});
