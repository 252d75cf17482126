/**
 * `_meta` of a tool's call: where the call belongs, under names that begin with `svc/`.
 *
 * Only sorts what was sent. What a value must be is said by the schema of the operation, as on every
 * other transport.
 *
 * @module
 */

import type { JsonObject } from '../protocol/primitives.ts';

const PREFIX = 'svc/';

const FIELDS: ReadonlySet<string> = new Set([
  'task_id',
  'client_reference_id',
  'parent_invocation_id',
  'upstream_service',
]);

export interface SortedMeta {
  /** Fields of the call. */
  readonly fields: JsonObject;
  /** Names of ours that mean nothing, as they were sent. */
  readonly unknown: JsonObject;
}

/** What is not ours is left out. */
export function sortedMeta(meta: JsonObject): SortedMeta {
  const fields: [string, unknown][] = [];
  const unknown: [string, unknown][] = [];
  for (const [name, value] of Object.entries(meta)) {
    if (!name.startsWith(PREFIX)) continue;
    const field = name.slice(PREFIX.length);
    if (FIELDS.has(field)) fields.push([field, value]);
    else unknown.push([name, value]);
  }
  return { fields: Object.fromEntries(fields), unknown: Object.fromEntries(unknown) };
}

/** What is wrong with the `_meta` of a message, which the protocol's package would not name. */
export function metaFault(message: unknown): string | undefined {
  const meta = memberOf(memberOf(message, 'params'), '_meta');
  if (meta === undefined || (isObject(meta) && !Array.isArray(meta))) return undefined;
  return 'Cannot read the message: "_meta" is no object';
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
