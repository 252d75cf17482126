/**
 * The entries of one agent: those whose token is the agent's or below it.
 *
 * Entries name the token of the call and not its lineage, so the lineage of each is read. A search reads as many
 * entries as a query of the log does, and is then answered with a cursor to continue from.
 *
 * @module
 */

import { entryView } from '../../domain/log/entry.ts';
import type { Asking } from '../caller/caller.ts';
import { rememberedTokens } from '../caller/remembered-tokens.ts';
import { entriesFor } from '../log/audit.ts';
import { type Answer, consoleRequestOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';

/** A person sees the own entries, so a token of another person has none here. */
export function agentEntries(parts: ServiceParts, asking: Asking): Promise<Answer> {
  const { token_id: above, ...query } = consoleRequestOf('activity.entries', asking.ask);
  const tokens = rememberedTokens(parts);
  return entriesFor(parts, asking, query, async (entry, slices) => {
    const { token_id } = entryView(entry);
    if (token_id === above) return true;
    await slices.turn();
    return (await tokens(token_id))?.lineage.includes(above) ?? false;
  });
}
