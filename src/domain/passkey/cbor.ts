/**
 * CBOR (RFC 8949), the little of it that authenticators write: integers, bytes, texts, lists, maps and the three
 * constants, each in its shortest form.
 *
 * Strict, so that the same bytes mean the same to every reader: definite lengths, no repeated key, well-formed
 * text. Bounded by the given bytes and by a depth, because strangers choose them.
 *
 * @module
 */

/** CTAP2 allows four levels. */
const DEPTH_MAX = 4;

export type CborValue =
  | number
  | string
  | boolean
  | null
  | Uint8Array
  | readonly CborValue[]
  | CborMap;

/** Keys are integers or texts. */
export type CborMap = ReadonlyMap<number | string, CborValue>;

/** A value and the offset behind it. */
export interface CborReading {
  readonly value: CborValue;
  readonly end: number;
}

/** Reads one value that begins at `at`. `undefined` when the bytes are anything else than described above. */
export function readCbor(bytes: Uint8Array, at: number): CborReading | undefined {
  return readValue(bytes, at, 0);
}

function readValue(bytes: Uint8Array, at: number, depth: number): CborReading | undefined {
  const head = depth > DEPTH_MAX ? undefined : readHead(bytes, at);
  if (head === undefined) return undefined;
  const { major, argument, end } = head;
  switch (major) {
    case 0:
      return { value: argument, end };
    case 1:
      return { value: -1 - argument, end };
    case 2:
    case 3:
      return readString(bytes, head);
    case 4:
      return readList(bytes, head, depth);
    case 5:
      return readMap(bytes, head, depth);
    case 7:
      return readConstant(head);
    default:
      return undefined;
  }
}

interface Head {
  readonly major: number;
  readonly argument: number;
  readonly end: number;
}

/** The kind of a value and its number or length. Four bytes are the longest: nothing here is larger. */
function readHead(bytes: Uint8Array, at: number): Head | undefined {
  const first = bytes[at];
  if (first === undefined) return undefined;
  const [major, short] = [first >> 5, first & 31];
  if (short < 24) return { major, argument: short, end: at + 1 };
  const width = WIDTHS[short];
  if (width === undefined || major === 7) return undefined;
  const { size, least } = width;
  const end = at + 1 + size;
  if (end > bytes.length) return undefined;
  const argument = bytes.subarray(at + 1, end).reduce((sum, byte) => sum * 256 + byte, 0);
  return argument < least ? undefined : { major, argument, end };
}

/** By the short number: how many bytes follow, and the least number that needs so many. */
const WIDTHS: Readonly<Record<number, { readonly size: number; readonly least: number }>> = {
  24: { size: 1, least: 24 },
  25: { size: 2, least: 0x100 },
  26: { size: 4, least: 0x1_0000 },
};

function readString(bytes: Uint8Array, { major, argument, end }: Head): CborReading | undefined {
  const after = end + argument;
  if (after > bytes.length) return undefined;
  const content = bytes.slice(end, after);
  if (major === 2) return { value: content, end: after };
  try {
    return { value: strict.decode(content), end: after };
  } catch {
    return undefined;
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Every item takes a byte at least, so a count above the remaining bytes ends at the first missing one. */
function readList(bytes: Uint8Array, { argument, end }: Head, depth: number) {
  const items: CborValue[] = [];
  let at = end;
  for (let i = 0; i < argument; i++) {
    const item = readValue(bytes, at, depth + 1);
    if (item === undefined) return undefined;
    items.push(item.value);
    at = item.end;
  }
  return { value: items, end: at };
}

function readMap(bytes: Uint8Array, { argument, end }: Head, depth: number) {
  const map = new Map<number | string, CborValue>();
  let at = end;
  for (let i = 0; i < argument; i++) {
    const key = readValue(bytes, at, depth + 1);
    const value = key && readValue(bytes, key.end, depth + 1);
    if (!key || !value || !isKey(key.value) || map.has(key.value)) return undefined;
    map.set(key.value, value.value);
    at = value.end;
  }
  return { value: map, end: at };
}

function isKey(value: CborValue): value is number | string {
  return typeof value === 'number' || typeof value === 'string';
}

function readConstant({ argument, end }: Head): CborReading | undefined {
  const value = CONSTANTS[argument];
  return value === undefined ? undefined : { value, end };
}

const CONSTANTS: Readonly<Record<number, boolean | null>> = { 20: false, 21: true, 22: null };
