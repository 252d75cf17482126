/**
 * What tools cost the context of an agent, in one line for a person.
 *
 * @module
 */

import { contextCost } from '../../mcp/context.ts';
import { CALL_TOOL, SEARCH_TOOL } from '../../mcp/search-tools.ts';

export function contextLine(tools: Parameters<typeof contextCost>[0]): string {
  const [all, pair] = [contextCost(tools), contextCost([SEARCH_TOOL, CALL_TOOL])].map(
    ({ tools: count, tokens }) => ({ count, tokens: tokens.toLocaleString('en-US') }),
  );
  return `${toolCount(all?.count)}, about ${all?.tokens} tokens of an agent's context; with --tools search ${toolCount(pair?.count)}, about ${pair?.tokens}\n`;
}

/** A number of tools, in words. */
export function toolCount(tools = 0): string {
  return tools === 1 ? '1 tool' : `${tools} tools`;
}
