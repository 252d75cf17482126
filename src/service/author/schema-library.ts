/**
 * What differs between the libraries of schemas: the options with which each of them writes its JSON
 * Schema, and the words with which a fault names what the author wrote and what to write instead.
 *
 * A library that meets a type without JSON Schema throws or leaves the type out. These options make it
 * leave a mark at the place, so that a fault can name the property.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { definitionOf } from './json-schema.ts';

/** The key of a mark in a JSON Schema. Its value is the kind of what cannot be described. */
const MARK = 'writ:mark';

export interface Library {
  /** Options of the library itself for the JSON Schema. */
  readonly options?: object;
  /** Options that mark, for a library that throws without them. */
  readonly marking?: object;
  /** An object with these properties, as the author writes it. */
  readonly object: (properties: string) => string;
  /** A property with keys that are not known. */
  readonly record: string;
  /** What to write in place of each kind. */
  readonly instead: Readonly<Record<Kind, string>>;
  /** What the author wrote: a verb and the type. */
  readonly written: (mark: string) => string;
  /** Since when the library has JSON Schemas, or where they come from. */
  readonly source: string;
}

/** What JSON does not have. */
const KINDS = {
  bigint: 'JSON has no bigint',
  custom: 'the library cannot say which JSON it takes',
  date: 'JSON has no dates',
  function: 'JSON has no functions',
  map: 'JSON has no Map',
  nan: 'JSON has no NaN',
  set: 'JSON has no Set',
  symbol: 'JSON has no symbols',
  transform: 'the schema does not say what comes out of it',
  undefined: 'JSON has no undefined',
} as const;

type Kind = keyof typeof KINDS;

/** Other names of a kind, as the libraries have them. */
const ALIASES: Readonly<Record<string, Kind>> = {
  Date: 'date',
  Function: 'function',
  Map: 'map',
  Set: 'set',
  instance: 'custom',
  void: 'undefined',
};

const ZOD: Library = {
  marking: {
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }: ZodContext) {
      const { type, values = [] } = zodSchema._zod.def;
      const odd = values.find((value) => typeof value === 'bigint' || value === undefined);
      if (type === 'literal' && values.includes(odd)) jsonSchema[MARK] = typeof odd;
      if (kindOf(type)) jsonSchema[MARK] = type;
    },
  },
  object: (properties) => `z.object({ ${properties} })`,
  record: 'z.record(z.string(), z.unknown())',
  instead: {
    bigint: 'z.int(), or z.string() for integers beyond 2^53-1',
    custom: 'a type that JSON has, with the check in .refine(…), such as z.string().refine(…)',
    date: 'z.iso.date() or z.iso.datetime()',
    function: 'a type that JSON has, such as z.string()',
    map: 'z.record(z.string(), …)',
    nan: 'z.number()',
    set: 'z.array(…)',
    symbol: 'z.string() or z.enum([…])',
    transform: '.transform(…).pipe(z.number()), with the schema of what it returns in .pipe()',
    undefined: 'an optional type, such as z.string().optional()',
  },
  written(mark) {
    if (mark === 'transform') return 'has a transform';
    return mark === 'custom' ? 'is z.custom() or z.instanceof()' : `is z.${mark}()`;
  },
  source: 'the schema with zod 4.2 or newer',
};

interface ZodContext {
  readonly zodSchema: {
    readonly _zod: {
      readonly def: { readonly type: string; readonly values?: readonly unknown[] };
    };
  };
  readonly jsonSchema: JsonObject;
}

const VALIBOT: Library = {
  options: {
    overrideSchema({ valibotSchema, jsonSchema, errors }: ValibotContext) {
      const { type } = valibotSchema ?? {};
      if (errors) return { ...jsonSchema, [MARK]: type };
      return type === 'loose_object' ? { ...jsonSchema, additionalProperties: {} } : undefined;
    },
    // A check that JSON Schema cannot say stays in the schema, as in the other libraries.
    overrideAction({ valibotAction, jsonSchema, errors }: ValibotContext) {
      const { type = '', kind } = valibotAction ?? {};
      if (!errors) return undefined;
      if (kind === 'transformation' && !KEEPING.has(type)) return { ...jsonSchema, [MARK]: type };
      const { pattern: _, ...others } = jsonSchema;
      return type === 'regex' ? others : jsonSchema;
    },
  },
  object: (properties) => `toStandardJsonSchema(v.object({ ${properties} }))`,
  record: 'v.record(v.string(), v.unknown())',
  instead: {
    bigint: 'v.pipe(v.number(), v.integer()), or v.string() for integers beyond 2^53-1',
    custom:
      'a type that JSON has, with the check in its pipe, such as v.pipe(v.string(), v.check(…))',
    date: 'v.pipe(v.string(), v.isoDate()) or v.pipe(v.string(), v.isoTimestamp())',
    function: 'a type that JSON has, such as v.string()',
    map: 'v.record(v.string(), …)',
    nan: 'v.number()',
    set: 'v.array(…)',
    symbol: 'v.string() or v.picklist([…])',
    transform: 'v.pipe(…, v.number()), with the schema of what it returns at the end',
    undefined: 'an optional type, such as v.optional(v.string())',
  },
  written: (mark) => `${kindOf(mark) === 'transform' ? 'has' : 'is'} v.${camel(mark)}()`,
  source: 'toStandardJsonSchema(v.object({ … })), from "@valibot/to-json-schema"',
};

interface ValibotContext {
  readonly valibotSchema?: { readonly type: string };
  readonly valibotAction?: { readonly type: string; readonly kind: string };
  readonly jsonSchema: JsonObject;
  readonly errors?: readonly string[] | undefined;
}

/** Transformations of valibot that keep the type. */
const KEEPING: ReadonlySet<string> = new Set([
  'brand',
  'filter_items',
  'flavor',
  'normalize',
  'readonly',
  'sort_items',
  'to_lower_case',
  'to_max_value',
  'to_min_value',
  'to_upper_case',
  'trim',
  'trim_end',
  'trim_start',
]);

const ARKTYPE: Library = {
  options: {
    fallback: {
      date: ({ base }: ArktypeContext) => ({ ...base, [MARK]: 'Date' }),
      domain: ({ base, domain }: ArktypeContext) => ({ ...base, [MARK]: String(domain) }),
      proto: ({ base, proto }: ArktypeContext) => ({ ...base, [MARK]: proto?.name ?? 'custom' }),
      // Undefined beside another type only says that a property may be absent.
      unit: ({ base, unit }: ArktypeContext) =>
        unit === undefined
          ? base
          : { ...base, [MARK]: unit instanceof Date ? 'Date' : typeof unit },
    },
  },
  object: (properties) => `type({ ${properties} })`,
  record: '"Record<string, unknown>"',
  instead: {
    bigint: '"number.integer", or "string" for integers beyond 2^53-1',
    custom: 'a type that JSON has, with the check in .narrow(…), such as type("string").narrow(…)',
    date: '"string.date.iso"',
    function: 'a type that JSON has, such as "string"',
    map: '"Record<string, …>"',
    nan: '"number"',
    set: 'a list, such as "string[]"',
    symbol: '"string"',
    transform: '.pipe(…).to("number"), with the type of what it returns in .to()',
    undefined: 'an optional key, such as "note?": "string"',
  },
  written: (mark) => (mark === 'transform' ? 'has a morph' : `is "${mark}"`),
  source: 'the schema with arktype 2.1.28 or newer',
};

interface ArktypeContext {
  readonly base: JsonObject;
  readonly domain?: string;
  readonly proto?: { readonly name: string };
  readonly unit?: unknown;
}

const OTHER: Library = {
  object: () => 'a schema of an object with a property for each value',
  record: 'a record',
  instead: Object.fromEntries(
    Object.keys(KINDS).map((kind) => [kind, 'a type that JSON has']),
  ) as Record<Kind, string>,
  written: (mark) => (mark === 'transform' ? 'has a transform' : `is a ${mark}`),
  source: 'a schema of a library that implements Standard JSON Schema, such as z.object({ … })',
};

const LIBRARIES: Readonly<Record<string, Library>> = {
  zod: ZOD,
  valibot: VALIBOT,
  arktype: ARKTYPE,
};

export function libraryOf(vendor: string): Library {
  return Object.hasOwn(LIBRARIES, vendor) ? (LIBRARIES[vendor] as Library) : OTHER;
}

/** Why JSON Schema cannot describe what is marked, and what to write instead. */
export function libraryAdvice(
  { path, mark }: Marked,
  library: Library,
): { why: string; write: string } {
  const kind = kindOf(mark);
  if (!kind) return { why: 'JSON Schema cannot describe it', write: library.instead.function };
  const isWhole = kind === 'transform' && path === '';
  const inHandler = 'the schema without it, and do its work in the handler';
  return { why: KINDS[kind], write: isWhole ? inHandler : library.instead[kind] };
}

function kindOf(mark: string): Kind | undefined {
  if (Object.hasOwn(KINDS, mark)) return mark as Kind;
  if (Object.hasOwn(ALIASES, mark)) return ALIASES[mark];
  return /^to_|^parse_|_transform$|^(map|reduce|find)_item|^stringify_/.test(mark)
    ? 'transform'
    : undefined;
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** What is marked, and the path to it, such as `.stops[].day`. */
export interface Marked {
  readonly path: string;
  readonly mark: string;
}

/** Every mark of a JSON Schema, each place once. */
export function marksIn(document: JsonObject): Marked[] {
  const found = new Map<string, Marked>();
  const seen = new Set<unknown>();
  const visit = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null || seen.has(schema)) return;
    seen.add(schema);
    const mark = isObject(schema) ? schema[MARK] : undefined;
    if (typeof mark === 'string' && !found.has(path)) found.set(path, { path, mark });
    for (const [step, inner] of partsOf(schema, document)) visit(inner, `${path}${step}`);
  };
  visit(document, '');
  return [...found.values()];
}

/** The schemas inside a schema, each with its step in the path. */
function partsOf(schema: object, document: JsonObject): [step: string, inner: unknown][] {
  const { properties, items, additionalProperties, ...more } = schema as JsonObject;
  const { $ref, $defs: _, ...others } = more;
  return [
    ...Object.entries(isObject(properties) ? properties : {}).map(
      ([name, inner]): [string, unknown] => [`.${name}`, inner],
    ),
    ['[]', items],
    ['.*', additionalProperties],
    ['', typeof $ref === 'string' ? definitionOf($ref, document) : undefined],
    ...Object.values(others).map((inner): [string, unknown] => ['', inner]),
  ];
}
