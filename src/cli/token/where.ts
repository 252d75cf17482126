/**
 * Conditions that people type after `--where`, in YAML: `amount: { at_least: 0, at_most: 50 }`.
 *
 * The service reads what they mean; this only reads the text.
 *
 * @module
 */

import { isOperator } from '../../domain/conditions/read.ts';
import { conditionWords } from '../../domain/conditions/words.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { WireConditions } from '../../protocol/token.ts';

/** By capability. With `capability`, the texts name paths of its inputs; without, they name capabilities. */
export async function conditionsIn(
  texts: readonly string[],
  capability: string | undefined,
): Promise<JsonObject | undefined> {
  if (texts.length === 0) return undefined;
  const { parse } = await import('yaml');
  const all: JsonObject = {};
  for (const text of texts) {
    const written = parsed(text, parse);
    for (const [name, condition] of Object.entries(written)) {
      if (Object.hasOwn(all, name)) throw new Error(`"${name}" is given twice with --where`);
      all[name] = condition;
    }
  }
  if (capability !== undefined) return { [capability]: all };
  const path = Object.keys(all).find((name) => isCondition(all[name]));
  if (path === undefined) return all;
  throw new Error(
    `"${path}" has no capability; give --capability, or write --where '<capability>: { ${path}: … }'`,
  );
}

function parsed(text: string, parse: (text: string, options: object) => unknown): JsonObject {
  const written = yamlIn(text, parse);
  if (isObject(written)) return written;
  throw new Error(
    `expected conditions such as "amount: { at_least: 0, at_most: 50 }" after --where, not "${text}"`,
  );
}

function yamlIn(text: string, parse: (text: string, options: object) => unknown): unknown {
  try {
    return parse(text, { logLevel: 'error' });
  } catch {
    return undefined;
  }
}

/** Whether it has operators, and not the paths of a capability. */
function isCondition(written: unknown): boolean {
  return !isObject(written) || Object.keys(written).some(isOperator);
}

/** In words, by capability; nothing for a token without conditions. */
export function conditionLines(conditions: WireConditions | null | undefined): string | undefined {
  if (!conditions) return undefined;
  const lines = Object.entries(conditions).map(
    ([name, where]) => `${name} where ${conditionWords(where).join(' and ')}`,
  );
  return lines.join('; ');
}
