/**
 * Agents: the delegations under a root principal as trees, and what a revocation would end.
 *
 * A person sees the own trees, an operator with `operator:read` those of any root principal, and an agent the
 * tree below its own token. What agents did is shown to those who may read the entries of the root principal.
 * Every list is bounded, and the rest comes with the next page.
 *
 * @module
 */

import { principalFreezes } from '../../domain/authority/freeze.ts';
import { conditionsView } from '../../domain/authority/token-conditions.ts';
import { refuse } from '../../domain/failure.ts';
import type { AgentListRequest } from '../../protocol/agents.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type { Agent, AgentTrees, BudgetView, Ending } from '../../protocol/console/views.ts';
import { ENDED_COUNT_MAX } from '../../protocol/token.ts';
import { livingBelow } from '../../storage/descendants.ts';
import type { TokenDescription, TokenState } from '../../storage/port/store.ts';
import { notOperator } from '../authority/freeze.ts';
import { actsByName, standingOf, visibleToken } from '../authority/tokens.ts';
import { answered, inLane } from '../caller/audited.ts';
import { type Asking, callerOf, holdsScope, rememberedTokens } from '../caller/caller.ts';
import { type Ask, requestOf } from '../operations/operations.ts';
import { cursorPosition, PAGE_BYTES_MAX } from '../operations/page.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';
import { budgetOf, capabilitiesOf } from '../sign-in/agents.ts';
import { type Acts, actsOf, NO_ACTS } from './acts.ts';
import { branchesOf, countBranches, FIRST, type Stem } from './branches.ts';

/** Root tokens in one read. */
const READ_MAX = 64;

/** Root tokens that one page looks at. */
const LOOKED_MAX = 1_024;

/** Agents in one tree, and children of one of them. The rest comes with `agents.children`. */
const NODES_MAX = 50;
const CHILDREN_MAX = 20;

/** Levels of one tree. Below this, with the deepest purpose, clients can read the JSON of a whole answer. */
const LEVELS_MAX = 16;

/** Names of capabilities of one agent. `capabilities_count` has the total. */
const CAPABILITIES_MAX = 100;

/** Names of principals that a revocation ends. */
const PRINCIPALS_MAX = 20;

/** Running calls that are looked at. */
const RUNNING_MAX = 1_000;

interface Reading {
  readonly parts: ServiceParts;
  readonly store: ServiceParts['store'];
  readonly slices: Slices;
  readonly now: Date;
  readonly acts: Acts;
  readonly isFrozen: boolean;
}

/** The operation `agents.list`. */
export async function listAgents(parts: ServiceParts, ask: Ask): Promise<AgentTrees> {
  return answered(parts, await callerOf(parts, ask), (caller) =>
    agentTrees(parts, { caller, ask }, requestOf('agents.list', ask)),
  );
}

export async function agentTrees(
  parts: ServiceParts,
  { caller, ask }: Asking,
  request: AgentListRequest,
): Promise<AgentTrees> {
  const { ended = false, limit, cursor } = request;
  // A name in a token was chosen by its issuer, so it opens no trees of that name.
  const isNamed = actsByName(caller);
  const root_principal =
    request.root_principal ?? (isNamed ? caller.principal : caller.root_principal);
  const isOwn = isNamed && root_principal === caller.principal;
  const below =
    caller.kind === 'token' && !isNamed && request.root_principal === undefined
      ? caller.token.token_id
      : undefined;
  if (!isOwn && below === undefined) refuse(notOperator(caller, 'read'));
  const before = cursorPosition(cursor, (text) =>
    /^tok_[0-9a-f]{32}$/.test(text) ? text : undefined,
  );
  return inLane(parts, caller, ask, async (slices) => {
    const mayKnow = isOwn || below !== undefined || holdsScope(caller, 'operator:audit');
    const reading = await readingOf(parts, slices, root_principal, mayKnow);
    const now = reading.now.toISOString();
    if (below !== undefined) {
      const tree = ended ? undefined : await treeOf(reading, below);
      return { now, root_principal, agents: tree ? [tree] : [], next_cursor: null };
    }
    const { trees, last = before } = await treesFrom(
      reading,
      { root_principal, before },
      { limit, ended },
    );
    const isLast = last === undefined || (await isOldest(reading, root_principal, last));
    return { now, root_principal, agents: trees, next_cursor: isLast ? null : last };
  });
}

/** The trees of one page, and the last root token that was looked at. */
async function treesFrom(
  reading: Reading,
  { root_principal, before }: { root_principal: string; before: string | undefined },
  { limit, ended }: { limit: number; ended: boolean },
): Promise<{ trees: Agent[]; last?: string }> {
  const trees: Agent[] = [];
  let left = PAGE_BYTES_MAX;
  let last: string | undefined;
  for await (const root of rootsFrom(reading, root_principal, before)) {
    if (trees.length === limit || left < 0) break;
    last = root.token_id;
    if (isOver(root, reading.now) !== ended) continue;
    const tree = await treeOf(reading, root.token_id);
    if (!tree) continue;
    trees.push(tree);
    left -= JSON.stringify(tree).length;
  }
  return { trees, ...(last !== undefined && { last }) };
}

export async function agentChildren(
  parts: ServiceParts,
  { caller, ask }: Asking,
  { token_id, limit, cursor = FIRST }: ConsoleRequest<'agents.children'>,
): Promise<{ children: Agent[]; next_cursor: string | null }> {
  const { token } = await visibleToken(parts, caller, token_id, ['operator:read']);
  return inLane(parts, caller, ask, async (slices) => {
    const { root_principal } = token;
    const mayKnow = root_principal === caller.principal || holdsScope(caller, 'operator:audit');
    const reading = await readingOf(parts, slices, root_principal, mayKnow);
    const stem = await stemOf(reading, token);
    const { ids, next } = await branchesOf(reading, stem, limit, cursor);
    return { children: await nodesOf(reading, ids), next_cursor: next };
  });
}

/** What a revocation of the token would end, counted with bounds. */
export async function endingOf(
  parts: ServiceParts,
  { caller, ask }: Asking,
  { token_id }: ConsoleRequest<'agents.ends'>,
): Promise<Ending> {
  const scopes = ['operator:revoke', 'operator:read'];
  const described = await visibleToken(parts, caller, token_id, scopes);
  const { token, lineage } = described;
  const { root_principal, subject } = token;
  return inLane(parts, caller, ask, async (slices) => {
    const { store } = parts;
    const now = store.now();
    const isAlive = standingOf(described, now).state === 'active';
    const below = isAlive ? await countBelow(parts, slices, token_id) : { tokens: 0, some: [] };
    const own = budgetOf(lineage);
    const some = await budgetsAndNames(parts, slices, below.some);
    const acts = await actsOf(parts, slices, root_principal);
    return {
      token_id,
      subject,
      tokens: isAlive ? Math.min(below.tokens + 1, ENDED_COUNT_MAX) : 0,
      tokens_max: ENDED_COUNT_MAX,
      principals: [...new Set(isAlive ? [subject, ...some.names] : [])],
      running: await runningBelow(parts, slices, { token_id, root_principal }),
      requests: isAlive ? acts.pendingBelow(token_id) : 0,
      requests_are_whole: acts.isWhole,
      budgets: own ? [own] : some.budgets,
    };
  });
}

async function readingOf(
  parts: ServiceParts,
  slices: Slices,
  rootPrincipal: string,
  mayKnow: boolean,
): Promise<Reading> {
  const { store } = parts;
  const freezes = await store.freezesUnder(principalFreezes(rootPrincipal));
  return {
    parts,
    store,
    slices,
    now: store.now(),
    acts: mayKnow ? await actsOf(parts, slices, rootPrincipal) : NO_ACTS,
    isFrozen: freezes.length > 0,
  };
}

async function* rootsFrom(
  { store, slices }: Reading,
  rootPrincipal: string,
  before: string | undefined,
): AsyncGenerator<TokenState, void, undefined> {
  let position = before;
  for (let looked = 0; looked < LOOKED_MAX; looked += READ_MAX) {
    await slices.turn();
    const page = await store.rootsOf(rootPrincipal, READ_MAX, position);
    yield* page;
    position = page.at(-1)?.token_id;
    if (page.length < READ_MAX) return;
  }
}

async function isOldest({ store }: Reading, principal: string, position: string): Promise<boolean> {
  return (await store.rootsOf(principal, 1, position)).length === 0;
}

function isOver({ expires_at, revoked_at }: TokenState, now: Date): boolean {
  return revoked_at !== undefined || !(expires_at > now);
}

/** The tree below a root token, by level. Undefined where its row cannot be authenticated. */
async function treeOf(reading: Reading, rootId: string): Promise<Agent | undefined> {
  const [root] = await nodesOf(reading, [rootId]);
  if (!root) return undefined;
  const found: (readonly [node: Agent, level: number])[] = [[root, 1]];
  let left = NODES_MAX - 1;
  for (const [node, level] of found) {
    if (node.children_count === 0) continue;
    const stem = await stemOf(reading, node);
    const { ids, next } =
      left === 0 || level === LEVELS_MAX
        ? { ids: [], next: FIRST }
        : await branchesOf(reading, stem, Math.min(left, CHILDREN_MAX), FIRST);
    const children = await nodesOf(reading, ids);
    node.children = children;
    node.next_cursor = next;
    left -= children.length;
    for (const child of children) found.push([child, level + 1]);
  }
  return root;
}

async function nodesOf(reading: Reading, ids: readonly string[]): Promise<Agent[]> {
  const nodes: Agent[] = [];
  for (const id of ids) {
    await reading.slices.turn();
    const described = await reading.store.describeToken(id, 0);
    if (described) nodes.push(await nodeOf(reading, described));
  }
  return nodes;
}

async function nodeOf(reading: Reading, described: TokenDescription): Promise<Agent> {
  const { token, lineage, childrenCount } = described;
  const { token_id, parent_token_id, purpose, depth } = token;
  const { state, revoked_at } = standingOf(described, reading.now);
  const { consent } = await stemOf(reading, token);
  const names = capabilitiesOf(reading.parts, token);
  const isFolding = consent !== undefined && childrenCount > 0;
  return {
    token_id,
    parent_token_id: parent_token_id ?? null,
    subject: token.subject,
    client_name: consent?.client_name ?? null,
    purpose: Object.keys(purpose).length > 0 ? purpose : null,
    state,
    scope: [...token.scope],
    capabilities: names.slice(0, CAPABILITIES_MAX),
    capabilities_count: names.length,
    may_delegate: depth + (consent ? 1 : 0) < token.max_delegation_depth,
    budget: budgetOf(lineage) ?? null,
    conditions: conditionsView(token.conditions),
    issued_at: token.issued_at.toISOString(),
    expires_at: token.expires_at.toISOString(),
    revoked_at: revoked_at?.toISOString() ?? null,
    ...reading.acts.of(token_id),
    is_frozen: reading.isFrozen,
    children: [],
    children_count: isFolding ? await countBranches(reading, { token_id, consent }) : childrenCount,
    next_cursor: null,
  };
}

/** Only a root token has a consent. */
async function stemOf(
  { store }: Reading,
  { token_id, parent_token_id }: { token_id: string; parent_token_id?: string | null | undefined },
): Promise<Stem> {
  if (parent_token_id) return { token_id };
  return { token_id, consent: await store.findConsent({ token_id }) };
}

async function countBelow(
  { store }: ServiceParts,
  slices: Slices,
  tokenId: string,
): Promise<{ tokens: number; some: string[] }> {
  const some = new Map<string, string>();
  let tokens = 0;
  for await (const living of livingBelow(store, tokenId, store.now())) {
    await slices.turn();
    tokens += living.length;
    for (const { subject, token_id } of living) {
      if (some.size < PRINCIPALS_MAX && !some.has(subject)) some.set(subject, token_id);
    }
    if (tokens >= ENDED_COUNT_MAX) break;
  }
  return { tokens, some: [...some.values()] };
}

/** Names are those of authenticated rows. */
async function budgetsAndNames(
  { store }: ServiceParts,
  slices: Slices,
  ids: readonly string[],
): Promise<{ names: string[]; budgets: BudgetView[] }> {
  const names: string[] = [];
  const budgets: BudgetView[] = [];
  for (const tokenId of ids) {
    await slices.turn();
    const { token, lineage } = await store.load({ tokenId });
    const budget = budgetOf(lineage);
    if (token) names.push(token.subject);
    if (budget) budgets.push(budget);
  }
  return { names, budgets };
}

async function runningBelow(
  parts: ServiceParts,
  slices: Slices,
  { token_id, root_principal }: { token_id: string; root_principal: string },
): Promise<number> {
  const tokens = rememberedTokens(parts);
  let running = 0;
  for (const intent of await parts.store.openIntents(root_principal, RUNNING_MAX)) {
    await slices.turn();
    if ((await tokens(intent.token_id))?.lineage.includes(token_id)) running += 1;
  }
  return running;
}
