/**
 * Branches: the children of an agent, page by page, the living ones first.
 *
 * The access tokens of a consent are not agents: their children count as children of the consent's root token.
 * One page looks at a bounded number of rows, so it may have fewer children than asked for, and still a position
 * to continue from. A position comes back from a browser, so its parent is checked against the agent.
 *
 * @module
 */

import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import type { ChildState, TokenState } from '../../storage/port/store.ts';
import { cursorPosition } from '../operations/page.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';

/** Children in one read: about a millisecond of an embedded store. */
const READ_MAX = 128;

/** Rows that one page looks at. */
const LOOKED_MAX = 2_048;

export interface Branching {
  readonly store: ServiceParts['store'];
  readonly slices: Slices;
  readonly now: Date;
}

/** An agent, and its consent where a person gave one. */
export interface Stem {
  readonly token_id: string;
  readonly consent?: ConsentRecord | undefined;
}

interface BranchPosition {
  /** Living children come first, then those that ended. */
  readonly phase: 'l' | 'e';
  /** Absent at the beginning. */
  readonly parent?: string | undefined;
  readonly child?: string | undefined;
  /** Of an access token. */
  readonly isParentLiving?: boolean;
}

export interface BranchPage {
  readonly ids: readonly string[];
  readonly next: string | null;
}

/** The cursor of the first page. */
export const FIRST = 'l';

export async function branchesOf(
  branching: Branching,
  stem: Stem,
  limit: number,
  cursor: string,
): Promise<BranchPage> {
  const position = await placeIn(branching, stem, cursor);
  const page: Filling = { ids: [], limit, looked: { left: LOOKED_MAX } };
  const next =
    (await fill(branching, stem, position, page)) ??
    (position.phase === 'l' ? await fill(branching, stem, { phase: 'e' }, page) : undefined);
  return { ids: page.ids, next: next ? cursorOf(next) : null };
}

interface Filling {
  readonly ids: string[];
  readonly limit: number;
  readonly looked: { left: number };
}

/** Adds the children of one phase. Resolves with the position to continue from; undefined when none is left. */
async function fill(
  branching: Branching,
  stem: Stem,
  position: BranchPosition,
  { ids, limit, looked }: Filling,
): Promise<BranchPosition | undefined> {
  const { phase } = position;
  const wanted = phase === 'l' ? 'living' : 'ended';
  let last = position;
  for await (const { child, parent, state } of childrenFrom(branching, stem, position, looked)) {
    const isWanted = state === wanted;
    if (isWanted && ids.length === limit) return last;
    last = { phase, parent, child };
    if (isWanted) ids.push(child);
  }
  return looked.left <= 0 ? last : undefined;
}

/** Counts the children of a consent, up to the number of rows that one page looks at. */
export async function countBranches(branching: Branching, stem: Stem): Promise<number> {
  let count = 0;
  const looked = { left: LOOKED_MAX };
  for await (const { state } of childrenFrom(branching, stem, { phase: 'e' }, looked)) {
    if (state !== 'folded') count += 1;
  }
  return count;
}

/** A position and what is there. `folded`: an access token, after its children. */
interface Branch {
  readonly parent: string;
  readonly child: string;
  readonly state: 'living' | 'ended' | 'folded';
}

async function* childrenFrom(
  branching: Branching,
  { token_id, consent }: Stem,
  { phase, parent = token_id, child, isParentLiving = true }: BranchPosition,
  looked: { left: number },
): AsyncGenerator<Branch, void, undefined> {
  let after = child;
  if (parent !== token_id) {
    yield* below(branching, { parent, after, isLiving: isParentLiving }, looked);
    after = parent;
  }
  for await (const each of pagesOf(branching, token_id, after, looked)) {
    const isLiving = isAlive(each, branching.now);
    const at = { parent: token_id, child: each.token_id };
    if (each.subject !== consent?.subject) {
      yield { ...at, state: isLiving ? 'living' : 'ended' };
      continue;
    }
    if (each.hasChildren && (isLiving || phase === 'e')) {
      yield* below(branching, { parent: each.token_id, isLiving }, looked);
      if (looked.left <= 0) return;
    }
    yield { ...at, state: 'folded' };
  }
}

/** The children of an access token. Where it is over, so are they. */
async function* below(
  branching: Branching,
  { parent, after, isLiving }: { parent: string; after?: string | undefined; isLiving: boolean },
  looked: { left: number },
): AsyncGenerator<Branch, void, undefined> {
  for await (const each of pagesOf(branching, parent, after, looked)) {
    const state = isLiving && isAlive(each, branching.now) ? 'living' : 'ended';
    yield { parent, child: each.token_id, state };
  }
}

async function* pagesOf(
  { store, slices }: Branching,
  parent: string,
  after: string | undefined,
  looked: { left: number },
): AsyncGenerator<ChildState, void, undefined> {
  let position = after;
  while (looked.left > 0) {
    await slices.turn();
    const limit = Math.min(READ_MAX, looked.left);
    const page = await store.childrenOf([parent], limit, position);
    looked.left -= Math.max(page.length, 1);
    yield* page;
    position = page.at(-1)?.token_id;
    if (page.length < limit || position === undefined) return;
  }
}

function isAlive({ expires_at, revoked_at }: TokenState, now: Date): boolean {
  return expires_at > now && revoked_at === undefined;
}

/** The position that a cursor names. Its parent is the agent itself or an access token of its consent. */
async function placeIn(
  { store, now }: Branching,
  { token_id, consent }: Stem,
  cursor: string,
): Promise<BranchPosition> {
  const position = cursorPosition(cursor, readCursor) as BranchPosition;
  if (position.parent === undefined || position.parent === token_id) return position;
  const { token, lineage } = await store.load({ tokenId: position.parent });
  const isFolded = token?.parent_token_id === token_id && token.subject === consent?.subject;
  const link = isFolded ? lineage.at(-1) : undefined;
  return cursorPosition(
    cursor,
    () => link && { ...position, isParentLiving: isAlive(link, now) },
  ) as BranchPosition;
}

function cursorOf({ phase, parent, child }: BranchPosition): string {
  return parent === undefined ? phase : `${phase}-${parent}-${child}`;
}

/** Accepts only a cursor that `cursorOf` makes. */
function readCursor(cursor: string): BranchPosition | undefined {
  if (cursor === 'l' || cursor === 'e') return { phase: cursor };
  const [, phase, parent, child] =
    /^([le])-(tok_[0-9a-f]{32})-(tok_[0-9a-f]{32})$/.exec(cursor) ?? [];
  return phase === undefined ? undefined : { phase: phase as 'l' | 'e', parent, child };
}
