/**
 * Makes the HTTP request of an operation from its row, field by field.
 *
 * Puts fields into the path, into headers, and the rest into
 * the query or the body, as the service reads them. Refuses only what HTTP cannot carry unchanged: a name that would
 * reach another path, and a header value that would be cut, altered or not sent.
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

/** The call cannot be sent; nothing was. */
export class UnsendableCall extends TypeError {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** Throws `UnsendableCall`. */
export function httpRequestOf(operation: Operation, input: object): HttpRequest {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    return segmentOf(field, taken(rest, field));
  });
  const headers: Record<string, string> = {};
  for (const [field, header] of Object.entries(operation.headers ?? {})) {
    const value = taken(rest, field);
    if (value !== undefined && value !== null) headers[header] = headerOf(field, value);
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

/** URLs resolve "." and ".." even when escaped, so they would name another path. */
function segmentOf(field: string, value: unknown): string {
  if (typeof value === 'string' && !/^\.{0,2}$/.test(value)) return encodeURIComponent(value);
  throw unsendable(field, value, 'a text other than "." and ".."');
}

/** Spaces at the ends would be cut, and line breaks would begin another header. */
function headerOf(field: string, value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    return value;
  }
  throw unsendable(field, value, 'printable ASCII without spaces at its ends');
}

function unsendable(field: string, value: unknown, expected: string): UnsendableCall {
  const isMissing = value === undefined || value === null || value === '';
  const fault = isMissing ? 'missing' : `${JSON.stringify(value)}, expected ${expected}`;
  return new UnsendableCall(field, `Cannot send the request: "${field}" is ${fault}`);
}

function queryOf(fields: ReadonlyMap<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [field, value] of fields) if (value !== null) query.set(field, String(value));
  return query.size > 0 ? `?${query}` : '';
}
