/**
 * The JSON Schemas of a schema of an author, or the faults because of which it cannot be declared: each
 * names the property and what the author wrote there, why it is wrong, and what to write instead.
 *
 * @module
 */

import { type Fault, fault } from '../../domain/catalog/fault.ts';
import { readForeignObject } from '../../domain/wire/foreign.ts';
import { isObject, type JsonLimits } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { followed } from './json-schema.ts';
import { adviceOn, type Library, libraryOf, type Marked, marksIn } from './schema-library.ts';
import type { AnySchema } from './typed.ts';

/** Bounds the JSON Schema of a capability, which is part of the manifest. */
export const SCHEMA_LIMITS: JsonLimits = { bytes: 65_536, depth: 32, keys: 5_000 };

/** Where a schema stands. */
export interface Place {
  readonly capability: string;
  readonly field: 'inputs' | 'output';
}

interface SchemaPair {
  /** What a caller sends. */
  readonly sent: JsonObject;
  /** What the schema returns. */
  readonly read: JsonObject;
}

type Reading = SchemaPair | { readonly faults: readonly Fault[] };

export function readSchemas(place: Place, schema: AnySchema): Reading {
  const { vendor, jsonSchema } = schema['~standard'] as Described;
  const library = libraryOf(vendor);
  const because = (written: string, why: string, write: string): Reading => ({
    faults: [faultAt(place, { path: '', written, why, write })],
  });
  if (jsonSchema === undefined) return because(`is ${named(vendor)}`, HAS_NONE, library.source);

  const returned = describedBy(library, (options) => jsonSchema.output(options));
  if ('why' in returned) return because(`is ${named(vendor)}`, returned.why, returned.write);
  const taken = describedBy(library, (options) => jsonSchema.input(options));
  // A schema that can describe only what it returns still takes exactly that.
  const isTaken = 'document' in taken && marksIn(taken.document).length === 0;
  const sent = isTaken ? taken.document : returned.document;
  const marked = [...marksIn(returned.document), ...untyped(sent, returned.document)];
  if (marked.length > 0) {
    return { faults: marked.map((each) => faultAt(place, sentenceOn(each, library))) };
  }
  const root = rootFault(sent, library) ?? rootFault(returned.document, library);
  if (root === undefined) return { sent, read: returned.document };
  return because(`is ${named(vendor)} of ${root.kind}`, OBJECTS[place.field], root.write);
}

interface Described {
  readonly vendor: string;
  readonly jsonSchema?: Record<'input' | 'output', (options: object) => unknown> | undefined;
}

const HAS_NONE = 'the declaration follows from a JSON Schema, and this schema has none';

const OBJECTS = {
  inputs: 'a caller sends an object with a property for each input',
  output: 'a caller gets an object with a property for each value',
};

/** The schema by its library: "a zod schema". */
function named(vendor: string): string {
  return `${/^[aeiou]/i.test(vendor) ? 'an' : 'a'} ${vendor} schema`;
}

interface Sentence {
  readonly path: string;
  readonly written: string;
  readonly why: string;
  readonly write: string;
}

export function faultAt({ capability, field }: Place, sentence: Sentence): Fault {
  const { path, written, why, write } = sentence;
  return { ...fault(capability, `${field}${path}`, why, write), written };
}

function sentenceOn(marked: Marked, library: Library): Sentence {
  const { path, mark } = marked;
  return { path, written: library.written(mark), ...adviceOn(marked, library) };
}

type Description = { readonly document: JsonObject } | Pick<Sentence, 'why' | 'write'>;

const TARGET = 'draft-2020-12';

/** Asks the library; once more with marks if it throws. */
function describedBy(library: Library, make: (options: object) => unknown): Description {
  const asked = readDocument(() => make({ target: TARGET, libraryOptions: library.options }));
  if ('document' in asked || !library.marking) return asked;
  const again = readDocument(() => make({ target: TARGET, libraryOptions: library.marking }));
  return 'document' in again && marksIn(again.document).length > 0 ? again : asked;
}

function readDocument(make: () => unknown): Description {
  let made: unknown;
  try {
    made = settled(make(), make());
  } catch (error) {
    const message = firstLine(error instanceof Error ? error.message : String(error));
    return {
      why: `its library cannot write the JSON Schema: ${message}`,
      write: 'a schema without what this message names, of types that JSON has',
    };
  }
  const reading = readForeignObject(made, SCHEMA_LIMITS);
  if ('fault' in reading) {
    const why = `the manifest cannot have its JSON Schema: ${reading.fault}`;
    return { why, write: 'a smaller schema, and check the rest in the handler' };
  }
  const { $schema: _, ...document } = reading.value;
  // A schema with an id of its own is a definition that the document refers to.
  return { document: followed(document, document) };
}

/** Characters of a library's own message in a fault. */
const MESSAGE_MAX = 200;

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').slice(0, MESSAGE_MAX);
}

/** The same schema without the defaults that a function makes anew each time: the schema applies them. */
function settled(first: unknown, second: unknown): unknown {
  if (Array.isArray(first)) {
    const others = Array.isArray(second) ? second : [];
    return first.map((each, index) => settled(each, others[index]));
  }
  if (!isObject(first) || !isObject(second)) return first;
  return Object.fromEntries(
    Object.entries(first)
      .filter(([key, value]) => key !== 'default' || !isMade(value, second.default))
      .map(([key, value]) => [key, settled(value, second[key])]),
  );
}

/** A time of the clock can be the same twice within a millisecond, so whatever looks like one counts as made. */
export function isMade(first: unknown, second: unknown): boolean {
  if (JSON.stringify(first) !== JSON.stringify(second)) return true;
  if (typeof first === 'number') return first > 1e12 && first < 1e13;
  return typeof first === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(first);
}

/** Where the schema says what it takes and nothing of what it returns: a transform without a type. */
function untyped(sent: JsonObject, read: JsonObject, path = ''): Marked[] {
  if (Object.keys(sent).length > 0 && Object.keys(read).length === 0) {
    return [{ path, mark: 'transform' }];
  }
  const { properties: taken, items } = sent;
  const { properties: given, items: returned } = read;
  const inside =
    isObject(taken) && isObject(given)
      ? Object.entries(taken).map(([name, each]) => [`.${name}`, each, given[name]])
      : [];
  return [...inside, ['[]', items, returned]].flatMap(([step, one, other]) =>
    isObject(one) && isObject(other) ? untyped(one, other, `${path}${step}`) : [],
  );
}

/** What stands at the root in place of an object, and what to write instead. */
function rootFault(
  schema: JsonObject,
  { object }: Library,
): { readonly kind: string; readonly write: string } | undefined {
  const { type, properties = {}, anyOf, oneOf, allOf } = schema;
  if (type === 'object' && isObject(properties)) return undefined;
  const inProperty = (kind: string, what: string) => ({
    kind,
    write: `${object('value: …')}, with ${what} in a property`,
  });
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) {
    const others = alternatives.filter((each) => !isObject(each) || each.type !== 'null');
    if (others.length > 1) return inProperty('a union', 'the union');
    return { kind: 'a value or null', write: `${object('…')} without null` };
  }
  if (Array.isArray(allOf)) {
    return {
      kind: 'an intersection',
      write: `${object('…')} with the properties of all its parts`,
    };
  }
  if (type === 'array') return inProperty('a list', 'the list');
  return typeof type === 'string'
    ? inProperty(`type "${type}"`, `the ${type}`)
    : inProperty('any value', 'the value');
}
