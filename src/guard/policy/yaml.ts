/**
 * Reads YAML that a person wrote into plain values, and remembers where each of them stands.
 *
 * Takes the part of YAML that everybody reads alike: maps with texts as keys, lists, texts, numbers, true, false
 * and null. Refuses anchors, aliases, tags, repeated keys and several documents. Never throws, and no message
 * repeats a value of the text, which may be a secret.
 *
 * @module
 */

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type YAMLError } from 'yaml';

/** UTF-8 bytes. A policy for a thousand tools is smaller. */
const BYTES_MAX = 256 * 1024;

/** Maps and lists inside each other. A policy needs five. */
const DEPTH_MAX = 16;

export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** Something that this file cannot read: where, and why. */
export interface YamlFault extends TextPosition {
  readonly path: readonly PropertyKey[];
  readonly why: string;
}

export interface YamlText {
  readonly value: unknown;
  /** Where a value stands; for an absent one, where its nearest holder stands. */
  positionOf(path: readonly PropertyKey[]): TextPosition;
  /** Where a key stands. */
  keyPositionOf(path: readonly PropertyKey[]): TextPosition;
}

export function readYaml(text: string): YamlText | { readonly faults: readonly YamlFault[] } {
  const start = { line: 1, column: 1, path: [] };
  if (new TextEncoder().encode(text).length > BYTES_MAX) {
    return { faults: [{ ...start, why: `it is longer than ${BYTES_MAX} bytes` }] };
  }
  const lineCounter = new LineCounter();
  try {
    const document = parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      // Compares each pair of keys, which takes long for many keys. The walk below uses a set.
      uniqueKeys: false,
      logLevel: 'error',
    });
    const walk: Walk = { lineCounter, faults: [], values: new Map(), keys: new Map() };
    const [error] = document.errors;
    // Those after the first usually follow from it.
    if (error) noteFault(walk, error.pos[0], [], syntaxFault(error));
    const value = walk.faults.length > 0 ? undefined : plain(walk, document.contents, []);
    return walk.faults.length > 0 ? { faults: walk.faults } : yamlText(walk, value);
  } catch {
    // The parser recurses: a text that is nested too deeply ends in a RangeError.
    return { faults: [{ ...start, why: `it is nested deeper than ${DEPTH_MAX} levels` }] };
  }
}

/** Faults of one text that are reported. A person corrects the first ones first. */
const FAULTS_MAX = 50;

interface Walk {
  readonly lineCounter: LineCounter;
  readonly faults: YamlFault[];
  /** Offsets by path. */
  readonly values: Map<string, number>;
  readonly keys: Map<string, number>;
}

function yamlText(walk: Walk, value: unknown): YamlText {
  const offsetOf = (path: readonly PropertyKey[]): number => {
    const known = walk.values.get(pathKey(path));
    return known ?? (path.length === 0 ? 0 : offsetOf(path.slice(0, -1)));
  };
  return {
    value,
    positionOf: (path) => positionAt(walk, offsetOf(path)),
    keyPositionOf: (path) => positionAt(walk, walk.keys.get(pathKey(path)) ?? offsetOf(path)),
  };
}

function pathKey(path: readonly PropertyKey[]): string {
  return JSON.stringify(path.map(String));
}

function positionAt({ lineCounter }: Walk, offset: number): TextPosition {
  const { line, col } = lineCounter.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function plain(walk: Walk, node: unknown, path: readonly PropertyKey[]): unknown {
  if (node === null || node === undefined) return null;
  const refuse = (why: string) => noteFault(walk, offsetOf(node), path, why);
  walk.values.set(pathKey(path), offsetOf(node));
  if (path.length > DEPTH_MAX) return refuse(`it is nested deeper than ${DEPTH_MAX} levels`);
  if (isAlias(node)) return refuse('an alias is not read here; write the value again');
  const { anchor, tag } = node as { readonly anchor?: string; readonly tag?: string };
  if (anchor !== undefined) return refuse('an anchor is not read here; write the value alone');
  if (tag !== undefined) return refuse('a tag is not read here; write the value alone');
  if (isMap(node)) return plainMap(walk, node.items, path);
  if (isSeq(node)) return node.items.map((item, index) => plain(walk, item, [...path, index]));
  const value = isScalar(node) ? node.value : undefined;
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value;
  return refuse('expected a text, a number, true, false, a list or an object');
}

interface Pair {
  readonly key: unknown;
  readonly value: unknown;
}

function plainMap(walk: Walk, pairs: readonly Pair[], path: readonly PropertyKey[]): object {
  const found = new Map<string, unknown>();
  for (const { key, value } of pairs) {
    const offset = offsetOf(key) || offsetOf(value);
    const name = keyOf(key);
    if (name === undefined) {
      noteFault(walk, offset, path, 'expected a text as a key, without anchor and tag');
      continue;
    }
    const inside = [...path, name];
    walk.keys.set(pathKey(inside), offset);
    // An absent value stands where its key stands.
    walk.values.set(pathKey(inside), offset);
    if (name === '__proto__') noteFault(walk, offset, inside, 'this key is not allowed');
    else if (found.has(name)) noteFault(walk, offset, inside, 'the key appears twice');
    else found.set(name, plain(walk, value, inside));
  }
  return Object.fromEntries(found);
}

/** Keys such as `1` are texts too. */
function keyOf(node: unknown): string | undefined {
  if (!isScalar(node) || node.anchor !== undefined || node.tag !== undefined) return undefined;
  const { value, source } = node;
  if (typeof value === 'string') return value;
  return value === null || source === undefined ? undefined : source;
}

function offsetOf(node: unknown): number {
  return (node as { readonly range?: readonly number[] } | null)?.range?.[0] ?? 0;
}

function noteFault(
  walk: Walk,
  offset: number,
  path: readonly PropertyKey[],
  why: string,
): undefined {
  if (walk.faults.length < FAULTS_MAX) walk.faults.push({ ...positionAt(walk, offset), path, why });
}

/** Our own words: the messages of the parser quote the text. */
function syntaxFault({ code }: YAMLError): string {
  return SYNTAX[code] ?? 'this is not YAML';
}

const SYNTAX: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  BLOCK_AS_IMPLICIT_KEY: 'two keys in one line; begin a new line, or quote the text',
  MISSING_CHAR: 'a character is missing, such as a quote, a comma or a space',
  MULTIPLE_DOCS: 'expected one document',
  TAB_AS_INDENT: 'a tab cannot indent; write spaces',
};
