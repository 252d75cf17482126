/**
 * Small damages to a JSON document that its schema suggests: each keyword, on both sides of its bound.
 *
 * A mutant may be as good as the document was. Whether it is, is for those to say who are compared.
 *
 * @module
 */

import type { Schema } from '../../src/openapi/schemas.ts';

export interface Mutant {
  readonly what: string;
  readonly value: unknown;
}

/** Finds what a `$ref` means. */
export type Resolve = (schema: Schema) => Schema;

const SAMPLES: readonly unknown[] = ['text', 7, 1.5, -1, true, null, {}, [], [null]];

/** Longer than any bound that is tried, in characters. */
const LONG_MAX = 5_000;

/** Outside the basic plane: one character, two code units. */
const ASTRAL = '\u{1f6eb}';

/** Every damage to `value` that `schema` suggests, at every depth. */
export function mutantsOf(schema: Schema, value: unknown, resolve: Resolve, at = 'it'): Mutant[] {
  const own = SAMPLES.map((sample) => ({
    what: `${at} = ${JSON.stringify(sample)}`,
    value: sample,
  }));
  const forms = alternatives(schema, resolve);
  return [
    ...own,
    ...forms.flatMap((form) => [
      ...ofText(form, value, at),
      ...ofNumber(form, at),
      ...ofList(form, value, resolve, at),
      ...ofObject(form, value, resolve, at),
    ]),
  ];
}

function alternatives(schema: Schema, resolve: Resolve): Schema[] {
  const whole = resolve(schema);
  const parts = whole.anyOf ?? whole.oneOf;
  return parts ? parts.flatMap((part) => alternatives(part, resolve)) : [whole];
}

function ofText(
  { type, maxLength, pattern, format }: Schema,
  value: unknown,
  at: string,
): Mutant[] {
  if (type !== 'string') return [];
  const most = typeof maxLength === 'number' ? maxLength : undefined;
  const good = typeof value === 'string' ? value : 'a';
  const texts = ['', ' ', '\n', `${good} `, ` ${good}`, `${good}\n`, `${good}é`, `${good}${good}`];
  if (pattern || format) texts.push(good.toUpperCase(), good.toLowerCase(), good.slice(0, -1));
  for (const length of most === undefined ? [128, 257, 513] : [most, most + 1]) {
    texts.push('a'.repeat(length), ASTRAL.repeat(length), good.padEnd(length, 'a'));
  }
  return texts
    .filter(({ length }) => length <= LONG_MAX)
    .map((text) => ({
      what: `${at} = ${JSON.stringify(text).slice(0, 40)} (${text.length})`,
      value: text,
    }));
}

function ofNumber(form: Schema, at: string): Mutant[] {
  if (form.type !== 'number' && form.type !== 'integer') return [];
  const bounds = [form.minimum, form.maximum, form.exclusiveMinimum, form.exclusiveMaximum];
  const numbers = [0, 1, -1, 0.5, Number.MAX_SAFE_INTEGER];
  for (const bound of bounds) {
    if (typeof bound === 'number') numbers.push(bound, bound - 1, bound + 1);
  }
  return numbers.map((value) => ({ what: `${at} = ${value}`, value }));
}

function ofList(form: Schema, value: unknown, resolve: Resolve, at: string): Mutant[] {
  if (form.type !== 'array') return [];
  const items = Array.isArray(value) ? value : [sampleOf(form.items ?? {}, resolve)];
  const many = (count: number) => Array.from({ length: count }, (_, n) => numbered(items[0], n));
  const lists: Mutant[] = [
    { what: `${at} is empty`, value: [] },
    { what: `${at} has an item twice`, value: [...items, items[0]] },
  ];
  if (typeof form.maxItems === 'number') {
    lists.push({ what: `${at} is as long as it may be`, value: many(form.maxItems) });
    lists.push({ what: `${at} is too long`, value: many(form.maxItems + 1) });
  }
  // A form that contains itself is entered once.
  const isAgain = /(\.\w+)\[0\]\1$/.test(at);
  const inside = form.items && !isAgain ? mutantsOf(form.items, items[0], resolve, `${at}[0]`) : [];
  return [
    ...lists,
    ...inside.map(({ what, value: item }) => ({ what, value: [item, ...items.slice(1)] })),
  ];
}

/** Another item of the same form, where it is a word. */
function numbered(item: unknown, n: number): unknown {
  return typeof item === 'string' ? `${item}${n}` : item;
}

function ofObject(form: Schema, value: unknown, resolve: Resolve, at: string): Mutant[] {
  if (form.type !== 'object') return [];
  const fields = isObject(value) ? value : (sampleOf(form, resolve) as Record<string, unknown>);
  const mutants: Mutant[] = Object.keys(fields).map((key) => ({
    what: `${at}.${key} is left out`,
    value: Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key)),
  }));
  mutants.push({ what: `${at}.unheard_of`, value: { ...fields, unheard_of: 1 } });
  mutants.push({ what: `${at} has an odd name`, value: { ...fields, 'odd name': '1.0.0' } });
  for (const [key, part] of fieldSchemas(form, fields)) {
    const held = key in fields ? fields[key] : sampleOf(part, resolve);
    mutants.push({ what: `${at}.${key} is a sample`, value: { ...fields, [key]: held } });
    for (const inner of mutantsOf(part, held, resolve, `${at}.${key}`)) {
      mutants.push({ what: inner.what, value: { ...fields, [key]: inner.value } });
    }
  }
  return [...mutants, ...crowded(form, fields, at)];
}

/** The fields that the schema names, and those of the value under what it says of all others. */
function fieldSchemas(form: Schema, fields: object): [key: string, schema: Schema][] {
  const { properties = {}, additionalProperties: open } = form;
  const isSaid = isObject(open) && Object.keys(open).length > 0;
  const others = isSaid ? Object.keys(fields).filter((key) => !(key in properties)) : [];
  return [
    ...Object.entries(properties),
    ...others.map((key): [string, Schema] => [key, open as Schema]),
  ];
}

/** As many fields as there may be, and one more. */
function crowded({ maxProperties }: Schema, fields: object, at: string): Mutant[] {
  if (typeof maxProperties !== 'number') return [];
  const [key = 'a', first] = Object.entries(fields)[0] ?? [];
  return [maxProperties, maxProperties + 1].map((count) => ({
    what: `${at} has ${count} fields`,
    value: Object.fromEntries(Array.from({ length: count }, (_, n) => [`${key}${n}`, first])),
  }));
}

/** Something of about the right form, for a field that an example leaves out. */
function sampleOf(schema: Schema, resolve: Resolve): unknown {
  const [form = {}] = alternatives(schema, resolve);
  if (form.enum) return form.enum[0];
  if ('const' in form) return form.const;
  switch (form.type) {
    case 'string':
      return 'a';
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object': {
      const needed = (form.required ?? []).map((key) => [
        key,
        sampleOf(form.properties?.[key] ?? {}, resolve),
      ]);
      return Object.fromEntries(needed);
    }
    default:
      return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
