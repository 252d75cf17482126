/**
 * `_meta` of a tool call: task, reference and parent of the call, a note for its approvers and what the caller prefers, under names that begin with `svc/`.
 *
 * Only sorts the names. The schema of the operation checks the values, as on every
 * other transport.
 *
 * @module
 */

import { InvocationIds, TestRequest } from '../protocol/invocation.ts';
import type { JsonObject } from '../protocol/primitives.ts';

const PREFIX = 'svc/';

const { invocation_id: _, ...IDS } = InvocationIds.shape;
const { note, prefer } = TestRequest.shape;
const FIELDS = new Map<string, { safeParse(value: unknown): { success: boolean } }>(
  Object.entries({ ...IDS, note, prefer }),
);

export interface SortedMeta {
  /** Fields of the call. */
  readonly fields: JsonObject;
  /** Unknown names with the prefix `svc/`, as sent. */
  readonly unknown: JsonObject;
  /** The names for which the service will refuse the call. */
  readonly faulty: readonly string[];
}

/** Ignores names with another prefix. */
export function sortedMeta(meta: JsonObject): SortedMeta {
  const fields: [string, unknown][] = [];
  const unknown: [string, unknown][] = [];
  const faulty: string[] = [];
  for (const [name, value] of Object.entries(meta)) {
    if (!name.startsWith(PREFIX)) continue;
    const field = name.slice(PREFIX.length);
    const schema = FIELDS.get(field);
    if (schema) fields.push([field, value]);
    else unknown.push([name, value]);
    if (!schema?.safeParse(value ?? undefined).success) faulty.push(name);
  }
  return { fields: Object.fromEntries(fields), unknown: Object.fromEntries(unknown), faulty };
}

/** The fault of a message's `_meta`; the MCP package would not name it. */
export function metaFault(message: unknown): string | undefined {
  const meta = memberOf(memberOf(message, 'params'), '_meta');
  if (meta === undefined || (isObject(meta) && !Array.isArray(meta))) return undefined;
  return 'Cannot read the message: "_meta" is not an object';
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
