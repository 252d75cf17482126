/**
 * JSON-RPC 2.0 on lines: reads requests, and writes answers and notifications.
 *
 * Checks only the envelope. Refusals of an operation are results:
 * a JSON-RPC error means that no operation ran.
 *
 * @module
 */

import { BODY_LIMITS, isObject, type JsonLimits, readJson } from '../domain/wire/json.ts';
import { INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR } from '../protocol/json-rpc.ts';

/** The limits of an HTTP body, with one more level for the envelope. */
export const LINE_LIMITS: JsonLimits = { ...BODY_LIMITS, depth: BODY_LIMITS.depth + 1 };

/** Bounds the id, which every message about its request repeats. */
const ID_LENGTH_MAX = 256;

export type RpcId = string | number;

export interface RpcRequest {
  readonly id: RpcId;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: object;
}

/** A line is a request, is faulty, or needs no answer. */
export type RpcReading =
  | { readonly request: RpcRequest }
  | { readonly error: RpcError; readonly id: RpcId | null; readonly method?: string | undefined }
  | { readonly ignored: string };

export function readLine(bytes: Uint8Array): RpcReading {
  if (isBlank(bytes)) return { ignored: 'an empty line' };
  const reading = readJson(bytes, LINE_LIMITS);
  if ('fault' in reading) return wrong(PARSE_ERROR, reading.fault);
  const { value } = reading;
  if (Array.isArray(value)) {
    return wrong(INVALID_REQUEST, 'Cannot take a batch: expected one request a line');
  }
  if (!isObject(value)) return wrong(INVALID_REQUEST, 'Cannot read the line: expected an object');
  return readMessage(value);
}

/** The error for a line that is too long, of which only the start was kept. */
export function readLongLine(start: Uint8Array): RpcReading {
  const before = BEFORE_PARAMS.exec(new TextDecoder().decode(start))?.groups?.members;
  const reading = readJson(new TextEncoder().encode(`{${before ?? ''}}`));
  const { id, method } = 'value' in reading ? Object(reading.value) : {};
  const message = `Cannot read the line: it is longer than ${LINE_LIMITS.bytes} bytes`;
  return { error: { code: PARSE_ERROR, message }, id: isId(id) ? id : null, method };
}

const MEMBER = String.raw`\s*"(?:jsonrpc|id|method)"\s*:\s*(?:"[^"\\]*"|-?\d+)\s*`;

/** Reads the envelope only before `params`: later text may belong to the params. */
const BEFORE_PARAMS = new RegExp(
  String.raw`^\s*\{(?<members>${MEMBER}(?:,${MEMBER})*),\s*"params"\s*:`,
);

export function resultLine(id: RpcId, json: string, headers: object | undefined): string {
  const beside = headers ? `,"headers":${JSON.stringify(headers)}` : '';
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}${beside}}\n`;
}

export function errorLine(id: RpcId | null, error: RpcError): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`;
}

export function notificationLine(method: string, params: object): string {
  return `${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`;
}

function readMessage(message: Record<string, unknown>): RpcReading {
  const { jsonrpc, id, method, params = {} } = message;
  if (id !== undefined && !isId(id)) {
    const detail = `expected a whole number or a text of 1 to ${ID_LENGTH_MAX} characters`;
    return wrong(INVALID_REQUEST, `Cannot read "id": ${detail}`);
  }
  const known = id ?? null;
  if (jsonrpc !== '2.0') {
    return wrong(INVALID_REQUEST, 'Cannot read the line: expected "jsonrpc": "2.0"', known);
  }
  if (typeof method !== 'string') {
    return wrong(INVALID_REQUEST, 'Cannot read "method": expected a text', known);
  }
  // A notification has no answer, so it runs nothing.
  if (id === undefined) return { ignored: 'a notification' };
  if (!isObject(params)) {
    const message = 'Cannot read "params": expected an object';
    return { error: { code: INVALID_PARAMS, message }, id: known, method };
  }
  return { request: { id, method, params } };
}

function wrong(code: number, message: string, id: RpcId | null = null): RpcReading {
  return { error: { code, message }, id };
}

/** `null` for errors about lines whose id could not be read, as JSON-RPC requires. */
function isId(value: unknown): value is RpcId {
  if (typeof value === 'string') return value.length > 0 && value.length <= ID_LENGTH_MAX;
  return Number.isSafeInteger(value);
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
