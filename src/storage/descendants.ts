/**
 * Descendants: the living tokens below a token, one page at a time.
 *
 * A caller yields to the event loop between two pages. A revoked token gets no new descendants, so the pages
 * neither miss nor repeat a token, however long the count takes.
 *
 * @module
 */

import type { ChildState, TokenStore } from './port/store.ts';

/** Children in one read, and parents in one query: about a millisecond of an embedded store. */
const PAGE = 128;

/**
 * Yields, for each page, its tokens that were alive at `at`. A dead token has no living descendants.
 */
export async function* livingBelow(
  store: Pick<TokenStore, 'childrenOf'>,
  tokenId: string,
  at: Date,
): AsyncGenerator<readonly ChildState[], void, undefined> {
  let parents = [tokenId];
  let after = '';
  while (parents.length > 0) {
    const asked = parents.slice(0, PAGE);
    const page = await store.childrenOf(asked, PAGE, after);
    const living = page.filter((child) => isLiving(child, at));
    // The parent of the last child may have more children.
    const last = page.length === PAGE ? page.at(-1) : undefined;
    const done = last ? asked.indexOf(last.parent_token_id) : asked.length;
    after = last?.token_id ?? '';
    const next = living.filter(({ hasChildren }) => hasChildren);
    parents = [...parents.slice(done), ...next.map(({ token_id }) => token_id)];
    yield living;
  }
}

function isLiving({ expires_at, revoked_at }: ChildState, at: Date): boolean {
  return expires_at > at && (revoked_at === undefined || revoked_at > at);
}
