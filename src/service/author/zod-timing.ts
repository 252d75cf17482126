/**
 * Says which schemas of zod answer at once.
 *
 * A function of the author may return a promise, which a synchronous reading of zod drops although it may reject. So a
 * schema answers at once only if this file knows every type and every check in it. Any other is read asynchronously.
 *
 * @module
 */

import { foreignMember } from '../../domain/wire/foreign.ts';

/** Checks of zod itself, which contain no function that zod would wait for. */
const CHECKS: ReadonlySet<unknown> = new Set([
  'bigint_format',
  'describe',
  'greater_than',
  'length_equals',
  'less_than',
  'max_length',
  'max_size',
  'meta',
  'min_length',
  'min_size',
  'multiple_of',
  'number_format',
  'overwrite',
  'size_equals',
  'string_format',
]);

/** Types of zod itself, each with the members of its definition that are schemas, lists of schemas or a shape. */
const PARTS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['any', []],
  ['array', ['element']],
  ['boolean', []],
  ['default', ['innerType']],
  ['enum', []],
  ['intersection', ['left', 'right']],
  ['literal', []],
  ['never', []],
  ['nonoptional', ['innerType']],
  ['null', []],
  ['nullable', ['innerType']],
  ['number', []],
  ['object', ['shape', 'catchall']],
  ['optional', ['innerType']],
  ['prefault', ['innerType']],
  ['readonly', ['innerType']],
  ['record', ['keyType', 'valueType']],
  ['string', []],
  ['tuple', ['items', 'rest']],
  ['union', ['options']],
  ['unknown', []],
]);

/** Parts that a definition may lack. */
const ABSENT: ReadonlySet<string> = new Set(['catchall', 'rest']);

/** Whether nothing in a schema of zod can return a promise. */
export function answersAtOnce(schema: unknown, seen: Set<unknown> = new Set()): boolean {
  // A schema may contain itself.
  if (seen.has(schema)) return true;
  seen.add(schema);
  const definition = foreignMember(foreignMember(schema, '_zod'), 'def');
  const parts = PARTS.get(foreignMember(definition, 'type'));
  // A format of the author has a function.
  if (!parts || foreignMember(definition, 'fn') !== undefined) return false;
  const checks = foreignMember(definition, 'checks') ?? [];
  if (!Array.isArray(checks) || !checks.every(isKnownCheck)) return false;
  return parts.every((part) => {
    const inner = foreignMember(definition, part) ?? undefined;
    if (typeof inner !== 'object') return inner === undefined && ABSENT.has(part);
    return schemasIn(inner as object).every((each) => answersAtOnce(each, seen));
  });
}

function isKnownCheck(check: unknown): boolean {
  const definition = foreignMember(foreignMember(check, '_zod'), 'def');
  return CHECKS.has(foreignMember(definition, 'check')) && !foreignMember(definition, 'fn');
}

/** One schema, a list of schemas, or the schemas of a shape by their names. */
function schemasIn(part: object): readonly unknown[] {
  if (Array.isArray(part)) return part;
  return foreignMember(part, '_zod') === undefined ? Object.values(part) : [part];
}
