/**
 * The report of faults: in the order in which the author wrote, each with what the author wrote there.
 *
 * Shows single values and short lists. Objects are only named, and so are references to resolvers and
 * catalogs: a secret that was put there by mistake must not get into a log.
 *
 * @module
 */

import type { Fault } from '../../domain/catalog/fault.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { DefinedCapability } from './define.ts';

interface Written {
  readonly capabilities: readonly DefinedCapability[];
}

/** By capability in the author's order, those of the service first; then by field. */
export function faultReport(faults: readonly Fault[], options: Written): Fault[] {
  const indexes = new Map(options.capabilities.map(({ name }, index) => [name, index]));
  const rankOf = ({ subject, capability }: Fault) =>
    subject === 'service' ? -1 : (indexes.get(capability) ?? options.capabilities.length);
  return faults
    .map((each) => {
      const written = each.written ?? writtenAt(sourceOf(each, options), each.field);
      return { ...each, ...asWritten({ ...each, written }, options) };
    })
    .sort((one, other) => rankOf(one) - rankOf(other) || inOrder(one.field, other.field));
}

/** `inputs[2]` comes before `inputs[10]`. The rules of a language are loaded at the first use: a start without faults needs none. */
function inOrder(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

/** A row that follows from a schema has the name of its property, or stands in `input_details`. */
function asWritten(found: Fault, { capabilities }: Written): Pick<Fault, 'field' | 'written'> {
  const { capability, field, written } = found;
  const { readInputs, declaration } = capabilities.find(({ name }) => name === capability) ?? {};
  const [, row, rest = ''] = /^inputs\[(\d+)\](.*)$/.exec(field) ?? [];
  const rows = isObject(declaration) ? declaration.inputs : undefined;
  const input: unknown = readInputs && Array.isArray(rows) ? rows[Number(row)] : undefined;
  if (!isObject(input) || found.subject === 'service') return { field, written };
  const path = `${IN_SCHEMA.test(rest) ? 'inputs' : 'input_details'}.${String(input.name)}`;
  if (rest === '.name') return { field: path, written: 'is set' };
  return { field: `${path}${rest}`, written };
}

/** What the schema itself says of an input. */
const IN_SCHEMA = /^($|\.(name|type|required|default|allowed_values|description)\b)/;

/** What the author wrote: the service, or one capability with its code. */
function sourceOf({ subject, capability }: Fault, options: Written): unknown {
  if (subject === 'service') return options;
  const written = options.capabilities.find(({ name }) => name === capability);
  if (!written) return undefined;
  const { declaration, ...code } = written;
  const declared = isObject(declaration) ? declaration : {};
  const approval = isObject(declared.approval)
    ? { ...declared.approval, ...code.approval }
    : undefined;
  return { ...declared, ...code, approval };
}

function writtenAt(source: unknown, field: string): string {
  const path = field.match(/[^.[\]]+/g) ?? [];
  const value = path.reduce<unknown>(
    (held, key) => (isHolder(held) && Object.hasOwn(held, key) ? held[key] : undefined),
    source,
  );
  if (value === undefined) return 'is missing';
  return /_ref$/.test(field) ? 'is set' : valueWords(value);
}

function isHolder(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** UTF-16 units of a value in a fault: enough to recognise it. */
const SHOWN_MAX = 60;

function valueWords(value: unknown): string {
  if (typeof value === 'function') return 'is a function';
  if (Array.isArray(value)) {
    const isShort = value.every(isPlain) && listText(value).length <= SHOWN_MAX;
    return isShort ? `is ${listText(value)}` : `has ${value.length} items`;
  }
  return isPlain(value) ? `is ${cut(plainText(value))}` : 'is an object';
}

function isPlain(value: unknown): boolean {
  return (
    value === null || ['string', 'number', 'boolean', 'bigint', 'undefined'].includes(typeof value)
  );
}

function listText(values: readonly unknown[]): string {
  return `[${values.map(plainText).join(', ')}]`;
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function cut(text: string): string {
  if (text.length <= SHOWN_MAX) return text;
  return `${text.slice(0, SHOWN_MAX).replace(/\p{Surrogate}$/u, '')}…`;
}
