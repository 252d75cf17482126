/**
 * A request of an operation, as HTTP carries it: read from the operation's row, field by field.
 *
 * The mirror of what a service does with it: fields of the path, fields of headers, and the rest in
 * the query or in the body. Refuses only what would reach another address than the one that is meant.
 *
 * @module
 */

import type { Operation } from '../protocol/operations.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export function httpRequestOf(operation: Operation, input: object): HttpRequest {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    return segmentOf(field, taken(rest, field));
  });
  const headers: Record<string, string> = {};
  for (const [field, header] of Object.entries(operation.headers ?? {})) {
    const value = taken(rest, field);
    if (value !== undefined && value !== null) headers[header] = String(value);
  }
  const { method } = operation;
  if (operation.rest === 'query') return { method, path: path + queryOf(rest), headers };
  const body = JSON.stringify(Object.fromEntries(rest));
  return { method, path, headers: { ...headers, 'content-type': 'application/json' }, body };
}

function taken(fields: Map<string, unknown>, field: string): unknown {
  const value = fields.get(field);
  fields.delete(field);
  return value;
}

/** An address resolves "." and ".." even where they are escaped, so they would name another path. */
function segmentOf(field: string, value: unknown): string {
  if (typeof value === 'string' && !/^\.{0,2}$/.test(value)) return encodeURIComponent(value);
  throw new TypeError(
    `Cannot put ${field} into a path: it is ${JSON.stringify(value) ?? 'absent'}`,
  );
}

function queryOf(fields: ReadonlyMap<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [field, value] of fields) if (value !== null) query.set(field, String(value));
  return query.size > 0 ? `?${query}` : '';
}
