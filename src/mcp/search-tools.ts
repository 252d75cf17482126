/**
 * Two tools instead of all: one searches the capabilities of the token, the other one calls what was found.
 *
 * For a service with so many capabilities that their list would fill the context of a model. The pair decides
 * nothing: a search shows what `permissions` reports as available, and a call becomes the same invocation that a call
 * of the tool by its own name becomes.
 *
 * @module
 */

import type { Conditions } from '../domain/conditions/condition.ts';
import { failure } from '../domain/failure.ts';
import { isObject } from '../domain/wire/json.ts';
import type { Platform } from '../platform.ts';
import type { CapabilityDeclaration } from '../protocol/capability.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { eachAvailable, type Gateway } from './gateway.ts';
import { inRank, scoreOf, searchQuery } from './ranking.ts';
import { type ToolResult, toolResultOf } from './result.ts';
import {
  answerSchema,
  type CapabilityTool,
  descriptionOf,
  FAILURE_SCHEMA,
  GRANT_PARAMETER,
  KEY_PARAMETER,
  limitedSchema,
  reservedSchema,
} from './tool.ts';

/** What `tools/list` shows. It is no authority: a tool that is not listed can be called by its name. */
export type ToolList = 'all' | 'search';

/** Characters. A request in plain words has fewer. */
const QUERY_LENGTH_MAX = 500;

/** Capabilities in one answer: enough to choose from, and few enough to read. */
const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;

/** Characters of all capabilities in one answer after the first: schemas of others may be long. */
const ANSWER_LENGTH_MAX = 100_000;

export const SEARCH_TOOL: CapabilityTool = {
  name: 'search_capabilities',
  description:
    'Finds the capabilities that you may call, best match first, each with its description, input schema, effect and cost. Search here before you call anything with call_capability.',
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        maxLength: QUERY_LENGTH_MAX,
        description:
          'Words of what you want to do, or the name of a capability; an empty text lists the first by name',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: LIMIT_MAX,
        default: LIMIT_DEFAULT,
        description: 'How many to show',
      },
    },
    required: ['query'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      success: { type: 'boolean' },
      capabilities: { type: 'array', items: { type: 'object', required: ['name'] } },
      more: { type: 'integer', description: 'How many others match' },
      failure: FAILURE_SCHEMA,
    },
    required: ['success'],
    oneOf: [
      { properties: { success: { const: true } }, required: ['capabilities', 'more'] },
      { properties: { success: { const: false } }, required: ['failure'] },
    ],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
};

export const CALL_TOOL: CapabilityTool = {
  name: 'call_capability',
  description:
    'Calls a capability that search_capabilities found. What it does, costs and needs is in the description found there.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the capability' },
      arguments: { type: 'object', description: 'Its parameters, by its input schema' },
      ...reservedSchema([GRANT_PARAMETER, KEY_PARAMETER]),
    },
    required: ['name'],
    additionalProperties: false,
  },
  outputSchema: answerSchema({ type: 'object' }),
  // It calls whatever is named, so it hints the worst.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
};

/** A call of a tool: unchecked, as the schema of the operation will read it. */
export interface SentCall {
  readonly name: unknown;
  readonly arguments: unknown;
}

/**
 * The call that `call_capability` carries. A member that is unknown, or that stands in the arguments too, becomes a
 * parameter under a name that no input can have, so that the service refuses the call and records it.
 */
export function carriedCall(sent: JsonObject): SentCall {
  const { name, arguments: given, ...others } = sent;
  const parameters = given ?? {};
  if (!isObject(parameters)) return { name, arguments: parameters };
  const beside = Object.entries(others).filter(([, value]) => value !== null);
  const moved = beside.map(([member, value]) => {
    const isReserved = member === GRANT_PARAMETER || member === KEY_PARAMETER;
    const isKnown = isReserved && !Object.hasOwn(parameters, member);
    return [isKnown ? member : `${member} beside "arguments"`, value];
  });
  return { name, arguments: { ...parameters, ...Object.fromEntries(moved) } };
}

/** Answers a search: a result with the found capabilities, or with the failure. */
export async function searchCapabilities(
  gateway: Gateway,
  platform: Platform,
  sent: JsonObject,
): Promise<ToolResult> {
  const wrong = unusableSearch(sent);
  if (wrong) return toolResultOf(wrong);
  const query = searchQuery(sent.query as string);
  const found: Found[] = [];
  const prevented = await eachAvailable(gateway, platform, (name, declared, conditions) => {
    const score = scoreOf(query, name, declared);
    if (score > 0 || query.words.length === 0) found.push({ name, declared, conditions, score });
  });
  if (prevented) return toolResultOf(prevented);
  found.sort(inRank);
  return foundResult(found, (sent.limit as number | undefined) ?? LIMIT_DEFAULT);
}

function unusableSearch(sent: JsonObject): FailureAnswer | undefined {
  const { query, limit = null, ...others } = sent;
  const [unknown] = Object.keys(others);
  const isLimit = Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= LIMIT_MAX;
  const fault =
    typeof query !== 'string' || query.length > QUERY_LENGTH_MAX
      ? `"query" is not a text of at most ${QUERY_LENGTH_MAX} characters`
      : limit !== null && !isLimit
        ? `"limit" is not a whole number from 1 to ${LIMIT_MAX}`
        : unknown !== undefined && `it has no argument "${unknown.slice(0, 64)}"`;
  if (!fault) return undefined;
  const detail = `Cannot search the capabilities: ${fault}`;
  return { success: false, failure: failure('invalid_parameters', detail) };
}

interface Found {
  readonly name: string;
  readonly declared: CapabilityDeclaration;
  readonly conditions: Conditions | undefined;
  readonly score: number;
}

function foundResult(found: readonly Found[], limit: number): ToolResult {
  const capabilities: JsonObject[] = [];
  let length = 0;
  for (const each of found.slice(0, limit)) {
    const shown = shownAs(each);
    length += JSON.stringify(shown).length;
    if (capabilities.length > 0 && length > ANSWER_LENGTH_MAX) break;
    capabilities.push(shown);
  }
  const more = found.length - capabilities.length;
  const lines = [JSON.stringify(capabilities), adviceAfter(capabilities.length, more)];
  return {
    content: [{ type: 'text', text: lines.filter(Boolean).join('\n') }],
    structuredContent: { success: true, capabilities, more },
    isError: false,
  };
}

function adviceAfter(shown: number, more: number): string | undefined {
  if (more > 0) return `And ${more} more: search with other words to see them.`;
  if (shown > 0) return undefined;
  return 'Nothing that you may call matches: search with other words, or with an empty query.';
}

function shownAs({ name, declared, conditions }: Found): JsonObject {
  const { side_effect, cost } = declared;
  return {
    name,
    description: descriptionOf(declared, conditions),
    input_schema: limitedSchema(declared, conditions),
    side_effect: side_effect.type,
    ...(cost && { cost }),
  };
}
