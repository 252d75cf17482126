/**
 * Input types: the names and types of the inputs of a capability, and which of them changed since.
 *
 * A description or a bound may change without a difference here. Of an object or a list, the type has a digest of the
 * names and types below it.
 *
 * @module
 */

import type { CapabilityDeclaration, Input } from '../../protocol/capability.ts';
import { digestOf } from '../wire/canonical.ts';
import { isObject } from '../wire/json.ts';

/** By the name of the input. */
export type InputTypes = Readonly<Record<string, string>>;

type Declared = Pick<CapabilityDeclaration, 'inputs' | 'input_schema'>;

const KNOWN = new WeakMap<Declared, InputTypes>();

export function inputTypes(capability: Declared): InputTypes {
  let types = KNOWN.get(capability);
  if (!types) {
    const { inputs, input_schema } = capability;
    types = Object.fromEntries(inputs.map((input) => [input.name, typeOf(input, input_schema)]));
    KNOWN.set(capability, types);
  }
  return types;
}

function typeOf({ name, type }: Input, schema: Declared['input_schema']): string {
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (!isObject(own) || !PARTS.some((part) => Object.hasOwn(own, part))) return type;
  const below = structureOf(own);
  const isReferring = JSON.stringify(below).includes('"$ref"');
  return `${type} ${digestOf(isReferring ? [below, structureOf(schema?.$defs)] : below)}`;
}

/** Keywords of a schema with schemas below them; the first two have them by name. */
const BY_NAME: readonly string[] = ['properties', '$defs'];
const PARTS: readonly string[] = [
  ...BY_NAME,
  'items',
  'prefixItems',
  'additionalProperties',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
];

/** Names and types alone. */
function structureOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(structureOf);
  if (!isObject(schema)) return schema ?? null;
  const kept = Object.entries(schema).filter(([key]) => key === 'type' || PARTS.includes(key));
  return Object.fromEntries(
    kept.map(([key, value]) => [
      key,
      BY_NAME.includes(key) && isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, structureOf(each)]))
        : structureOf(value),
    ]),
  );
}

interface Changed {
  readonly capability: Declared;
  readonly names: ReadonlySet<string>;
}

const CHANGED = new WeakMap<InputTypes, Changed>();

/** The inputs that a capability has now and had not, or had with another type. */
export function changedInputs(before: InputTypes, capability: Declared): ReadonlySet<string> {
  const known = CHANGED.get(before);
  if (known?.capability === capability) return known.names;
  const changed = Object.entries(inputTypes(capability)).filter(
    ([name, type]) => !Object.hasOwn(before, name) || before[name] !== type,
  );
  const names = new Set(changed.map(([name]) => name));
  CHANGED.set(before, { capability, names });
  return names;
}
