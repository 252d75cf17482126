/**
 * The parameters of a call: a JSON object from the command line, a file or standard input, and single ones by name.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import type { CapabilityDeclaration } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { Io } from '../shell/command.ts';
import { parseJsonBytes, readJsonFile } from '../shell/files.ts';
import { pairsIn } from '../shell/values.ts';

/** Reads `{…}`, `@file` or `-` (standard input). */
export async function parametersIn(
  text: string | undefined,
  io: Io,
  option = '--parameters',
): Promise<JsonObject> {
  if (text === undefined) return {};
  const value = await valueIn(text, io, option);
  if (isObject(value)) return value;
  throw new Error(`expected a JSON object after ${option}`);
}

async function valueIn(text: string, io: Io, option: string): Promise<unknown> {
  if (text.startsWith('@')) return readJsonFile(text.slice(1));
  if (text !== '-')
    return parseJsonBytes(new TextEncoder().encode(text), `the text after ${option}`);
  if (!io.input) throw new Error('there is no standard input');
  return parseJsonBytes(new TextEncoder().encode(await io.input()), 'standard input');
}

/**
 * Adds the parameters that are given by name. The declared type decides how a value is read: text for a string,
 * JSON for everything else. The value of an undeclared name is text; the service refuses the name.
 */
export function withNamed(
  parameters: JsonObject,
  named: readonly string[],
  capability: CapabilityDeclaration | undefined,
): JsonObject {
  const all = { ...parameters };
  for (const [name, text] of pairsIn(named, '--param')) {
    if (Object.hasOwn(all, name)) throw new Error(`"${name}" is given twice`);
    const input = capability?.inputs.find((each) => each.name === name);
    // Defined, not assigned: "__proto__" is a name like any other.
    const value = isText(input?.type) ? text : jsonValue(name, text);
    Object.defineProperty(all, name, { value, enumerable: true, configurable: true });
  }
  return all;
}

/** Types of inputs are words of the author; these are the ones that are JSON and no text. */
const JSON_TYPES = ['integer', 'number', 'boolean', 'object', 'array'];

function isText(type: string | undefined): boolean {
  return type === undefined || !JSON_TYPES.includes(type);
}

function jsonValue(name: string, text: string): unknown {
  return parseJsonBytes(new TextEncoder().encode(text), `the value of "${name}"`);
}
