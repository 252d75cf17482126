/**
 * Tokens that one answer reads again and again: entries name the token of a call, and not its lineage.
 *
 * @module
 */

import type { TokenRecord } from '../../storage/port/records.ts';
import type { ServiceParts } from '../operations/parts.ts';

/** What is remembered of a token. A row has more, and an answer may meet thousands of tokens. */
export type RememberedToken = Pick<TokenRecord, 'token_id' | 'lineage' | 'subject'>;

/** Reads each token once. Most entries of a page have the same few tokens. */
export function rememberedTokens({ store }: Pick<ServiceParts, 'store'>) {
  const known = new Map<string, RememberedToken | undefined>();
  return async (tokenId: string | null): Promise<RememberedToken | undefined> => {
    if (tokenId === null) return undefined;
    if (!known.has(tokenId)) {
      const { token } = await store.load({ tokenId });
      known.set(tokenId, token && remembered(token));
    }
    return known.get(tokenId);
  };
}

function remembered({ token_id, lineage, subject }: TokenRecord): RememberedToken {
  return { token_id, lineage, subject };
}
