/**
 * What a list of tools costs in the context of a model: an estimate, from the text that `tools/list` sends.
 *
 * @module
 */

import { utf8 } from '../domain/wire/hash.ts';
import type { JsonObject } from '../protocol/primitives.ts';

/** The parts of a tool that clients pass on to a model. */
interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

interface ContextCost {
  readonly tools: number;
  /** Rounded up to two digits. */
  readonly tokens: number;
}

/** Bytes of JSON for each token. Models differ; schemas in English take about this many. */
const BYTES_PER_TOKEN = 4;

export function contextCost(tools: readonly ListedTool[]): ContextCost {
  const bytes = tools.reduce((sum, { name, description, inputSchema }) => {
    return sum + utf8(JSON.stringify({ name, description, inputSchema })).length;
  }, 0);
  return { tools: tools.length, tokens: roundedUp(Math.ceil(bytes / BYTES_PER_TOKEN)) };
}

function roundedUp(count: number): number {
  const unit = 10 ** Math.max(0, String(count).length - 2);
  return Math.ceil(count / unit) * unit;
}
