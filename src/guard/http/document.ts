/**
 * Reads an OpenAPI document into plain JSON, and follows the references inside it.
 *
 * The document is text of strangers: size, depth and the number of its values are bounded, also where YAML aliases
 * multiply them. A reference to another document is a fault. Nothing is ever fetched.
 *
 * @module
 */

import { isScalar, parseDocument, visit, type YAMLParseError } from 'yaml';
import { foreignText } from '../../domain/wire/foreign.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';

/** In bytes. The documents of the largest public APIs have about as many. */
export const DOCUMENT_BYTES_MAX = 8 * 1024 * 1024;

/** Objects and lists inside each other. */
const DEPTH_MAX = 100;

/** Values of the whole document. */
const VALUES_MAX = 1_000_000;

/** References that lead to references. */
const HOPS_MAX = 8;

/** Why an operation, or the document, cannot be used. The message is the end of a sentence. */
export class Unusable extends Error {}

/** Returns the root of the document. Throws `Unusable`. */
export function readDocument(text: string): JsonObject {
  if (text.length > DOCUMENT_BYTES_MAX) {
    throw new Unusable(`it is larger than ${DOCUMENT_BYTES_MAX} bytes`);
  }
  const root = plainCopy(parsed(text), { left: VALUES_MAX }, 0);
  if (!isObject(root)) throw new Unusable('it is no object');
  const { openapi } = root;
  if (typeof openapi === 'string' && /^3\.[01](?:\.\d{1,3})?$/.test(openapi)) return root;
  const found = openapi ?? root.swagger;
  const shown =
    typeof found === 'string' ? `its version is ${quotedValue(found)}` : 'it names no version';
  throw new Unusable(`${shown}; expected OpenAPI 3.0 or 3.1`);
}

/** The object itself, or the one that its reference leads to. */
export function followReference(root: JsonObject, value: unknown): JsonObject {
  let found = value;
  for (let hops = 0; hops <= HOPS_MAX; hops++) {
    if (!isObject(found)) throw new Unusable('a part of it is no object');
    if (typeof found.$ref !== 'string') return found;
    found = targetOf(root, found.$ref);
  }
  throw new Unusable('its references lead in a circle');
}

/** What a reference inside the document leads to. */
export function targetOf(root: JsonObject, ref: string): unknown {
  if (!ref.startsWith('#/')) throw new Unusable('it refers to another document');
  let found: unknown = root;
  for (const part of ref.slice(2).split('/')) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
    found = isThere ? (found as JsonObject)[name] : undefined;
  }
  if (found === undefined)
    throw new Unusable(`it refers to ${quotedValue(ref)}, which is not there`);
  return found;
}

/** A text of the document in a message. */
export function quotedValue(text: unknown): string {
  return JSON.stringify(foreignText(String(text), 64));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function parsed(text: string): unknown {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text);
    // A lower level hides faults, and a higher one prints lines of the document. The parser compares each pair of
    // keys, which takes hours for many keys.
    const document = parseDocument(text, { logLevel: 'error', strict: true, uniqueKeys: false });
    const [error] = document.errors;
    if (error) throw error;
    refuseRepeatedKeys(document);
    return document.toJS();
  } catch (cause) {
    if (cause instanceof Unusable) throw cause;
    throw new Unusable(parsingFault(cause as YAMLParseError), { cause });
  }
}

/** Readers differ in which of two equal keys counts. */
function refuseRepeatedKeys(document: ReturnType<typeof parseDocument>): void {
  visit(document, {
    Map(_, { items }) {
      const names = items.map(({ key }) => (isScalar(key) ? String(key.value) : key));
      if (new Set(names).size < names.length)
        throw new Unusable('it has a key twice in one object');
    },
  });
}

/** The place where a text does not parse, never the text there. */
function parsingFault({ linePos, message }: YAMLParseError): string {
  if (linePos) return `line ${linePos[0].line} is not YAML`;
  return /alias/i.test(message)
    ? 'its YAML aliases multiply too much'
    : 'it is neither JSON nor YAML';
}

/**
 * A tree without shared parts. A number that a double cannot hold, such as the largest int64, is left out: as a bound
 * it refuses nothing.
 */
function plainCopy(value: unknown, budget: { left: number }, depth: number): unknown {
  budget.left -= 1;
  if (budget.left < 0) throw new Unusable(`it has more than ${VALUES_MAX} values`);
  if (depth > DEPTH_MAX) throw new Unusable(`it is nested deeper than ${DEPTH_MAX} levels`);
  if (typeof value === 'string') return foreignText(value, value.length);
  if (typeof value === 'number') return isExact(value) ? value : undefined;
  if (Array.isArray(value)) return value.map((each) => plainCopy(each, budget, depth + 1) ?? null);
  if (!isObject(value)) return typeof value === 'boolean' ? value : null;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const kept = plainCopy(member, budget, depth + 1);
    if (kept !== undefined && name !== '__proto__') copy[foreignText(name, name.length)] = kept;
  }
  return copy;
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
