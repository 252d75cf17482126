/**
 * A JSON Schema as the text of a TypeScript type.
 *
 * The schema comes from a service, so nothing of it reaches the text but names and values in quotes,
 * and comments that cannot end early. What a type cannot say, such as a range, is left out; what is
 * not understood becomes `unknown`. A definition (`$defs`) becomes a named type, so that it may refer
 * to itself. An object takes other names only where its schema says so, as the types of authors do.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import { printable } from '../../domain/wire/printable.ts';
import type { JsonObject } from '../../protocol/primitives.ts';

/**
 * Schemas that are read for one type. A service accepts 5,000 keys in a schema of its own; a schema
 * with more parts than this is cut, and its rest is `unknown`.
 */
const PARTS_MAX = 20_000;

export interface SchemaType {
  readonly text: string;
  /** Declarations of the named types that the text refers to. */
  readonly declarations: readonly string[];
}

/** `nextName` makes the names of definitions. */
export function schemaType(root: JsonObject, indent: string, nextName: () => string): SchemaType {
  const reading: Reading = { root, nextName, names: new Map(), partsLeft: PARTS_MAX };
  const { text } = typeOf(root, indent, reading);
  const declarations: string[] = [];
  // A declaration may name further definitions, which the map then yields as well.
  for (const [reference, name] of reading.names) {
    const declared = typeOf(targetOf(reference, root), '', reading);
    declarations.push(`type ${name} = ${declared.text};`);
  }
  return { text, declarations };
}

interface Reading {
  readonly root: JsonObject;
  readonly nextName: () => string;
  /** The names of definitions, by reference. */
  readonly names: Map<string, string>;
  partsLeft: number;
}

interface TypeText {
  readonly text: string;
  /** A union or an intersection, which needs parentheses inside another type. */
  readonly isCompound?: boolean;
}

const UNKNOWN: TypeText = { text: 'unknown' };

/** All keywords apply together. A keyword that says nothing about the type is left out. */
function typeOf(schema: unknown, indent: string, reading: Reading): TypeText {
  reading.partsLeft -= 1;
  if (schema === false) return { text: 'never' };
  if (!isObject(schema) || reading.partsLeft < 0) return UNKNOWN;
  const unions = [schema.anyOf, schema.oneOf].filter(Array.isArray);
  return intersection([
    referenceType(schema.$ref, reading),
    ownType(schema, indent, reading),
    ...unions.map((members) => union(members.map((each) => typeOf(each, indent, reading)))),
    ...listOf(schema.allOf).map((each) => typeOf(each, indent, reading)),
  ]);
}

function ownType(schema: JsonObject, indent: string, reading: Reading): TypeText {
  if (Array.isArray(schema.enum)) return literals(schema.enum);
  if (schema.const !== undefined) return literals([schema.const]);
  const { type = isObject(schema.properties) ? 'object' : undefined } = schema;
  if (type === undefined) return UNKNOWN;
  const types = Array.isArray(type) ? type : [type];
  return union(types.map((each) => namedType(each, schema, { indent, reading })));
}

const SCALARS: ReadonlyMap<unknown, string> = new Map([
  ['string', 'string'],
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
  ['null', 'null'],
]);

interface Nesting {
  readonly indent: string;
  readonly reading: Reading;
}

function namedType(type: unknown, schema: JsonObject, nesting: Nesting): TypeText {
  if (type === 'object') return objectType(schema, nesting);
  if (type === 'array') return arrayType(schema, nesting);
  return { text: SCALARS.get(type) ?? 'unknown' };
}

function objectType(schema: JsonObject, { indent, reading }: Nesting): TypeText {
  const { additionalProperties: more, patternProperties } = schema;
  const properties = isObject(schema.properties) ? schema.properties : undefined;
  const required = new Set(listOf(schema.required).filter((each) => typeof each === 'string'));
  const names = new Set([...Object.keys(properties ?? {}), ...required]);
  const isOpen = more === true || isObject(more) || isObject(patternProperties);
  if (names.size === 0) {
    const others = isObject(more) && !isObject(patternProperties) ? more : true;
    const isAny = isOpen || (properties === undefined && more === undefined);
    const { text } = isAny ? typeOf(others, indent, reading) : { text: 'never' };
    return { text: `{ [name: string]: ${text} }` };
  }
  const inner = `${indent}  `;
  const lines = [...names].map((name) => {
    const isDeclared = properties !== undefined && Object.hasOwn(properties, name);
    const property = isDeclared ? properties[name] : more;
    const { text } = typeOf(property, inner, reading);
    const mark = required.has(name) ? '' : '?';
    return `${descriptionOf(property, inner)}${inner}${nameText(name)}${mark}: ${text};\n`;
  });
  // Its type is unknown: an index signature must admit the types of all named properties.
  if (isOpen) lines.push(`${inner}[name: string]: unknown;\n`);
  return { text: `{\n${lines.join('')}${indent}}` };
}

function descriptionOf(schema: unknown, indent: string): string {
  const description = isObject(schema) ? schema.description : undefined;
  return typeof description === 'string' ? commentOf(description, indent) : '';
}

function arrayType({ prefixItems, items, minItems }: JsonObject, nesting: Nesting): TypeText {
  const itemOf = (schema: unknown) => grouped(typeOf(schema, nesting.indent, nesting.reading));
  if (!Array.isArray(prefixItems)) return { text: `${itemOf(items)}[]` };
  const needed = typeof minItems === 'number' ? minItems : prefixItems.length;
  const parts = prefixItems.map((each, index) => `${itemOf(each)}${index < needed ? '' : '?'}`);
  if (isObject(items) || items === true) parts.push(`...${itemOf(items)}[]`);
  return { text: `[${parts.join(', ')}]` };
}

function referenceType(reference: unknown, reading: Reading): TypeText {
  if (typeof reference !== 'string') return UNKNOWN;
  const known = reading.names.get(reference);
  if (known !== undefined) return { text: known };
  const isNamed = targetOf(reference, reading.root) !== undefined;
  if (!isNamed || isOnlyItself(reference, reading)) return UNKNOWN;
  const name = reading.nextName();
  reading.names.set(reference, name);
  return { text: name };
}

/** The schema that a reference names; only those of the same document. */
function targetOf(reference: string, root: JsonObject): unknown {
  if (reference === '#') return root;
  const name = /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1];
  const key = name?.replaceAll('~1', '/').replaceAll('~0', '~');
  const { $defs } = root;
  return key !== undefined && isObject($defs) && Object.hasOwn($defs, key) ? $defs[key] : undefined;
}

/**
 * Whether a definition leads back to itself without an object or array in between. The compiler
 * refuses such a type, and it says nothing.
 */
function isOnlyItself(reference: string, reading: Reading): boolean {
  const followed = new Set([reference]);
  const open: unknown[] = [targetOf(reference, reading.root)];
  while (open.length > 0) {
    if (reading.partsLeft < 0) return true;
    const schema = open.pop();
    if (!isObject(schema)) continue;
    const { $ref: next, anyOf, oneOf, allOf } = schema;
    if (next === reference) return true;
    const members = [anyOf, oneOf, allOf].flatMap(listOf);
    if (typeof next === 'string' && !followed.has(next)) {
      followed.add(next);
      members.push(targetOf(next, reading.root));
    }
    reading.partsLeft -= members.length;
    for (const each of members) open.push(each);
  }
  return false;
}

function literals(values: readonly unknown[]): TypeText {
  return union(values.map((value) => ({ text: valueText(value) })));
}

export function union(types: readonly TypeText[]): TypeText {
  return combined(types, '|', 'unknown', 'never');
}

function intersection(types: readonly TypeText[]): TypeText {
  const telling = types.filter(({ text }) => text !== 'unknown');
  return combined(telling, '&', 'never', 'unknown');
}

/** `absorbing` decides alone; `none` is the combination of nothing. */
function combined(
  types: readonly TypeText[],
  sign: '|' | '&',
  absorbing: string,
  none: string,
): TypeText {
  const texts = [...new Map(types.map((each) => [each.text, each])).values()];
  const [first] = texts;
  if (first === undefined) return { text: none };
  if (texts.some(({ text }) => text === absorbing)) return { text: absorbing };
  if (texts.length === 1) return first;
  return { text: texts.map(grouped).join(` ${sign} `), isCompound: true };
}

function grouped({ text, isCompound }: TypeText): string {
  return isCompound ? `(${text})` : text;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Characters of one comment. Longer descriptions are cut. */
const COMMENT_LENGTH_MAX = 2_000;

/** The name of a property, in quotes unless it is a plain identifier. */
export function nameText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : stringText(name);
}

/** The type of exactly this value. Of an object or an array, nothing is known. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return stringText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'number';
  if (typeof value === 'boolean' || value === null) return String(value);
  return 'unknown';
}

/** In quotes. Characters that are invisible or reorder a line are code points, so source reads as it compiles. */
function stringText(text: string): string {
  return printable(JSON.stringify(text));
}

/**
 * A documentation comment above a declaration, with its line break. Empty without a text. `note` is a
 * line of our own below it.
 */
export function commentOf(text: string, indent: string, note?: string): string {
  const isCut = text.length > COMMENT_LENGTH_MAX;
  const lines = (isCut ? `${text.slice(0, COMMENT_LENGTH_MAX)}…` : text)
    .trim()
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map(commentLine);
  if (note !== undefined) lines.push('', note);
  const [first = ''] = lines;
  if (lines.length === 1) return first === '' ? '' : `${indent}/** ${first} */\n`;
  const middle = lines.map((line) => `${indent} * ${line}`.trimEnd());
  return `${indent}/**\n${middle.join('\n')}\n${indent} */\n`;
}

/** A line that begins with "@" would be a tag, or a directive to the compiler. */
function commentLine(line: string): string {
  return printable(line.trim())
    .replaceAll('*/', '*\\/')
    .replace(/^[@/*]/, '\\$&');
}
