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
import { followSchema } from './json-schema.ts';
import { type Settled, settled } from './schema-defaults.ts';
import { type Library, libraryAdvice, libraryOf, type Marked, marksIn } from './schema-library.ts';
import type { AnySchema } from './typed.ts';

/** Bounds the JSON Schema of a capability, which is part of the manifest. */
export const SCHEMA_LIMITS: JsonLimits = { bytes: 65_536, depth: 32, keys: 5_000 };

/** Where a schema stands. */
export interface SchemaLocation {
  readonly capability: string;
  readonly field: 'inputs' | 'output';
}

interface SchemaPair {
  /** What a caller sends. */
  readonly sent: JsonObject;
  /** What the schema returns. */
  readonly read: JsonObject;
  /** Where functions make the defaults of what a caller sends, such as `.at`. */
  readonly made: readonly string[];
}

type Reading = SchemaPair | { readonly faults: readonly Fault[] };

export function readSchemas(location: SchemaLocation, schema: AnySchema): Reading {
  const { vendor, jsonSchema } = schema['~standard'] as Described;
  const library = libraryOf(vendor);
  const because = (written: string, why: string, write: string): Reading => ({
    faults: [faultAt(location, { path: '', written, why, write })],
  });
  if (jsonSchema === undefined) return because(`is ${named(vendor)}`, HAS_NONE, library.source);

  const output = (options: object) => jsonSchema.output(options);
  const returned = describedBy(library, output, false);
  if ('why' in returned) return because(`is ${named(vendor)}`, returned.why, returned.write);
  const taken = describedBy(library, (options) => jsonSchema.input(options), true);
  // A schema that can describe only what it returns still takes exactly that.
  const isTaken = 'document' in taken && marksIn(taken.document).length === 0;
  const same = isTaken ? taken : describedBy(library, output, true);
  const { document: sent, made } = 'document' in same ? same : returned;
  const marked = [...marksIn(returned.document), ...untyped(sent, returned.document)];
  if (marked.length > 0) {
    return { faults: marked.map((each) => faultAt(location, sentenceOn(each, library))) };
  }
  const root = rootFault(sent, library) ?? rootFault(returned.document, library);
  if (root === undefined) return { sent, read: returned.document, made };
  return because(`is ${named(vendor)} of ${root.kind}`, OBJECTS[location.field], root.write);
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

export function faultAt({ capability, field }: SchemaLocation, sentence: Sentence): Fault {
  const { path, written, why, write } = sentence;
  return { ...fault(capability, `${field}${path}`, why, write), written };
}

function sentenceOn(marked: Marked, library: Library): Sentence {
  const { path, mark } = marked;
  return { path, written: library.written(mark), ...libraryAdvice(marked, library) };
}

type Description =
  | { readonly document: JsonObject; readonly made: readonly string[] }
  | Pick<Sentence, 'why' | 'write'>;

const TARGET = 'draft-2020-12';

/** Asks the library; once more with marks if it throws. */
function describedBy(
  library: Library,
  make: (options: object) => unknown,
  isSent: boolean,
): Description {
  const described = (libraryOptions: object | undefined) =>
    readDocument(() => make({ target: TARGET, libraryOptions }), isSent);
  const asked = described(library.options);
  if ('document' in asked || !library.marking) return asked;
  const again = described(library.marking);
  return 'document' in again && marksIn(again.document).length > 0 ? again : asked;
}

function readDocument(make: () => unknown, isSent: boolean): Description {
  let found: Settled;
  try {
    found = settled(make, isSent);
  } catch (error) {
    const message = firstLine(error instanceof Error ? error.message : String(error));
    return {
      why: `its library cannot write the JSON Schema: ${message}`,
      write: 'a schema without what this message names, of types that JSON has',
    };
  }
  const reading = readForeignObject(found.schema, SCHEMA_LIMITS);
  if ('fault' in reading) {
    const why = `the manifest cannot have its JSON Schema: ${reading.fault}`;
    return { why, write: 'a smaller schema, and check the rest in the handler' };
  }
  const { $schema: _, ...document } = reading.value;
  // A schema with an id of its own is a definition that the document refers to.
  return { document: followSchema(document, document), made: found.made };
}

/** Characters of a library's own message in a fault. */
const MESSAGE_MAX = 200;

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').slice(0, MESSAGE_MAX);
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
