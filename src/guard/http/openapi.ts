/**
 * The tools of an OpenAPI document: one for each operation that can be called faithfully.
 *
 * Decides nothing about effects: a person reviews each tool. What cannot be called is listed with a reason. The
 * other files of this room:
 *
 * - `document.ts` reads the text and follows references.
 * - `schemas.ts` makes schemas that need no document.
 * - `inputs.ts` says which inputs an operation has, and where each goes.
 * - `upstream.ts` offers the tools and calls them.
 *
 * @module
 */

import { foreignText, readForeignObject } from '../../domain/wire/foreign.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { SCHEMA_LIMITS } from '../../service/author/schema-reading.ts';
import type { Method } from '../../service/outbound/outbound.ts';
import { type Route, readBase, routeFault } from '../../service/outbound/route.ts';
import type { UpstreamTool } from '../upstream.ts';
import { followReference, readDocument, Unusable } from './document.ts';
import { inputsOf, jsonTypeOf, type Reading } from './inputs.ts';
import { createSchemas, uniqueName } from './schemas.ts';

export interface OpenApiTools {
  readonly tools: readonly UpstreamTool[];
  /** Operations that cannot be called, such as `GET /pets`, and the end of a sentence about each. */
  readonly skipped: readonly { readonly operation: string; readonly why: string }[];
  /** Addresses that the document suggests. Relative ones, and those with variables, are left out. */
  readonly servers: readonly string[];
}

/** Operations of one document. */
const OPERATIONS_MAX = 5_000;

/** In UTF-16 units, of texts of the document. */
const NAME_LENGTH_MAX = 128;
const DESCRIPTION_LENGTH_MAX = 8_192;
const SHOWN_LENGTH_MAX = 200;

/** A fault is the end of a sentence. `headers` lists those that a parameter may set. */
export function readOpenApi(
  text: string,
  { headers = [] }: { readonly headers?: readonly string[] } = {},
): OpenApiTools | { readonly fault: string } {
  try {
    const root = readDocument(text);
    const allowed = new Set(headers.map((each) => each.toLowerCase()));
    return toolsOf({ root, schemas: createSchemas(root), headers: allowed });
  } catch (error) {
    if (error instanceof Unusable) return { fault: error.message };
    throw error;
  }
}

const METHODS: Readonly<Record<string, Method>> = {
  get: 'GET',
  head: 'HEAD',
  post: 'POST',
  put: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
};
const NOT_CALLED = ['options', 'trace'];

interface Listed {
  readonly path: string;
  readonly key: string;
  readonly item: JsonObject;
  readonly operation: unknown;
}

function toolsOf(reading: Reading): OpenApiTools {
  const tools: UpstreamTool[] = [];
  const skipped: { operation: string; why: string }[] = [];
  const taken = new Set<string>();
  for (const listed of operationsOf(reading.root, skipped)) {
    try {
      tools.push(toolOf(reading, listed, taken));
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      skipped.push({ operation: shownOperation(listed), why: error.message });
    }
  }
  return { tools, skipped, servers: serversOf(reading.root.servers) };
}

function operationsOf(root: JsonObject, skipped: { operation: string; why: string }[]): Listed[] {
  if (!isObject(root.paths)) throw new Unusable('it has no paths');
  const listed: Listed[] = [];
  for (const [path, given] of Object.entries(root.paths)) {
    if (path.startsWith('x-')) continue;
    try {
      listed.push(...operationsAt(path, followReference(root, given)));
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      skipped.push({ operation: foreignText(path, SHOWN_LENGTH_MAX), why: error.message });
    }
  }
  if (listed.length <= OPERATIONS_MAX) return listed;
  throw new Unusable(`it has more than ${OPERATIONS_MAX} operations`);
}

function operationsAt(path: string, item: JsonObject): Listed[] {
  return [...Object.keys(METHODS), ...NOT_CALLED]
    .filter((key) => item[key] !== undefined)
    .map((key) => ({ path, key, item, operation: item[key] }));
}

function shownOperation({ key, path }: Listed): string {
  return foreignText(`${key.toUpperCase()} ${path}`, SHOWN_LENGTH_MAX);
}

/** Throws `Unusable`. Takes a name only for a tool that can be used. */
function toolOf(reading: Reading, listed: Listed, taken: Set<string>): UpstreamTool {
  const { path, key, item, operation } = listed;
  const method = METHODS[key];
  if (!method) throw new Unusable(`the method ${key.toUpperCase()} is not called`);
  if (!isObject(operation)) throw new Unusable('it is no object');
  if (operation.servers !== undefined || item.servers !== undefined) {
    throw new Unusable('it has servers of its own, so its requests would go elsewhere');
  }
  const parameters = [...listOf(item.parameters), ...listOf(operation.parameters)];
  const { requestBody, responses } = operation;
  const inputs = inputsOf(reading, { path, parameters, requestBody });
  const route: Route = { method, ...inputs.route };
  const fault = routeFault(route);
  if (fault) throw new Unusable(fault.why);
  const inputSchema = closed(reading, inputs.refs, {
    type: 'object',
    properties: inputs.properties,
    ...(inputs.required.length > 0 && { required: inputs.required }),
    additionalProperties: false,
  });
  const outputSchema = outputOf(reading, responses);
  const title = foreignTextOr(operation.summary, SHOWN_LENGTH_MAX);
  return {
    name: uniqueName(toolName(listed), taken),
    ...(title !== '' && { title }),
    description: foreignTextOr(operation.description ?? operation.summary, DESCRIPTION_LENGTH_MAX),
    inputSchema,
    ...(outputSchema && { outputSchema }),
    route: { ...route },
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function foreignTextOr(value: unknown, lengthMax: number): string {
  return typeof value === 'string' ? foreignText(value.trim(), lengthMax) : '';
}

/** The id of the operation; without one that can be a name, a name of method and path. */
function toolName({ operation, key, path }: Listed): string {
  const { operationId } = operation as JsonObject;
  const isName = typeof operationId === 'string' && /^[^\p{C}\p{Z}]+$/u.test(operationId);
  // Four are left for the number that makes a name unique.
  if (isName && operationId.length <= NAME_LENGTH_MAX - 4) return operationId;
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [key, ...words].join('_').slice(0, NAME_LENGTH_MAX - 4);
}

/** A schema with all that it refers to, within the bounds of a declaration. */
function closed({ schemas }: Reading, refs: ReadonlySet<string>, schema: JsonObject): JsonObject {
  const $defs = schemas.definitions(refs);
  const whole = refs.size > 0 ? { ...schema, $defs } : schema;
  const bounded = readForeignObject(whole, SCHEMA_LIMITS);
  if ('fault' in bounded) throw new Unusable(`its schema cannot be declared: ${bounded.fault}`);
  return bounded.value;
}

/** The schema of the result, as a call returns it. An answer without a usable one has any form. */
function outputOf(reading: Reading, responses: unknown): JsonObject | undefined {
  try {
    const schema = answerSchema(reading, responses);
    if (schema === undefined) return undefined;
    const { type } = reading.schemas.rootOf(schema);
    const converted = reading.schemas.convert(
      type === 'object' ? reading.schemas.rootOf(schema) : schema,
    );
    if (type === 'object') return closed(reading, converted.refs, converted.schema);
    if (typeof type !== 'string') return undefined;
    const properties = { result: converted.schema };
    return closed(reading, converted.refs, { type: 'object', properties, required: ['result'] });
  } catch (error) {
    if (error instanceof Unusable) return undefined;
    throw error;
  }
}

/** The schema of the only answer of success. Several may have several forms. */
function answerSchema({ root }: Reading, responses: unknown): unknown {
  if (!isObject(responses)) return undefined;
  const statuses = Object.keys(responses).filter((status) => /^2(?:\d\d|XX)$/i.test(status));
  if (statuses.length !== 1) return undefined;
  const { content } = followReference(root, responses[statuses[0] as string]);
  const type = jsonTypeOf(content);
  const media = type && (content as JsonObject)[type.key];
  return isObject(media) ? media.schema : undefined;
}

/** A person chooses one of these, or writes another. */
function serversOf(servers: unknown): string[] {
  const urls = listOf(servers).flatMap((each) => (isObject(each) ? [each.url] : []));
  return urls
    .filter((url) => typeof url === 'string' && url.length <= SHOWN_LENGTH_MAX)
    .map((url) => String(url).replace(/\/+$/, ''))
    .filter((url) => !url.includes('{') && 'base' in readBase(url));
}
