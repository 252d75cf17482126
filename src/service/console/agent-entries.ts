/**
 * The entries of one agent: those whose token is the agent's or below it.
 *
 * Entries name the token of the call and not its lineage, so the lineage of each is read. A search reads as many
 * entries as a query of the log does, and is then answered with a cursor to continue from.
 *
 * @module
 */

import { entryView } from '../../domain/log/entry.ts';
import type { Caller } from '../core/caller.ts';
import { type Answer, type Ask, consoleRequestOf } from '../core/operations.ts';
import type { ServiceParts } from '../core/parts.ts';
import { entriesFor } from '../log/audit.ts';
import type { Slices } from '../pace/slices.ts';

/** A person sees the own entries, so a token of another person has none here. */
export function agentEntries(
  parts: ServiceParts,
  asking: { readonly caller: Caller; readonly ask: Ask },
): Promise<Answer> {
  const { token_id, ...query } = consoleRequestOf('activity.entries', asking.ask);
  const isBelow = createBelow(parts, token_id);
  return entriesFor(parts, asking, query, (entry, slices) =>
    isBelow(entryView(entry).token_id, slices),
  );
}

/** Whether a token is below the given one, or is it. Most entries of a page have the same few tokens. */
function createBelow({ store }: Pick<ServiceParts, 'store'>, above: string) {
  const known = new Map<string, boolean>();
  return async (tokenId: string | null, slices: Slices): Promise<boolean> => {
    if (tokenId === null) return false;
    const remembered = known.get(tokenId);
    if (remembered !== undefined) return remembered;
    await slices.turn();
    const isBelow =
      tokenId === above ||
      ((await store.load({ tokenId })).token?.lineage.includes(above) ?? false);
    known.set(tokenId, isBelow);
    return isBelow;
  };
}
