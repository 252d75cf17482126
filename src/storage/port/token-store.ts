/**
 * The part of the storage port for tokens: issuance, delegation, revocation.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { ActorEnded, Charge, LineageLink, TokenRecord } from './records.ts';

export interface TokenStore {
  /**
   * Inserts a root token, its budget and its entry.
   *
   * Story: [sqlite](../sqlite/tokens.ts) and [postgres](../postgres/tokens.ts).
   */
  insertRoot(token: TokenRecord, entry: EntryRecord): Promise<void>;

  /**
   * Inserts a child token if, at that moment, no token of the parent's lineage is revoked or expired at `now`
   * and the parent has fewer than `childrenMax` children. It always sees a revocation that was acknowledged
   * before; a concurrent revocation is either seen or ends the child too. `parent_revoked` when any is
   * revoked, also where another has expired. `parent_altered` when the parent's lineage differs from
   * `judged`, where that is given.
   *
   * Story: [sqlite](../sqlite/tokens.ts) and [postgres](../postgres/tokens.ts).
   */
  insertChild(
    token: TokenRecord,
    entry: EntryRecord,
    bounds: ChildBounds,
  ): Promise<
    | 'inserted'
    | 'parent_unknown'
    | 'parent_altered'
    | 'parent_revoked'
    | 'parent_expired'
    | 'too_many'
  >;

  /**
   * Revokes one token. Once this is acknowledged, no admission and no delegation under the token succeeds in
   * any process. `wasAlive` is false where a token of its lineage was already revoked or expired. A second
   * revocation keeps the first time with its MAC.
   *
   * Story: [tokens](../stories/tokens.ts).
   */
  revokeToken(
    tokenId: string,
    now: Date,
    entry: (wasAlive: boolean) => EntryRecord,
    by?: { readonly actor?: string | undefined; readonly mac?: string | undefined },
  ): Promise<{ wasAlive: boolean; revoked_at: Date } | undefined | ActorEnded>;

  /**
   * The children of these tokens, by parent, then by id. Of the first parent only those after `after`.
   *
   * Story: [tokens](../stories/tokens.ts).
   */
  childrenOf(
    parents: readonly string[],
    limit: number,
    after?: string,
  ): Promise<readonly ChildState[]>;

  /**
   * Root tokens without a revocation, by id, after `after`. Includes expired ones: an expiry can be edited,
   * and a clock can run ahead. A token with either the MAC or the time of a revocation counts as revoked.
   *
   * Story: [tokens](../stories/tokens.ts).
   */
  unrevokedRoots(after: string, limit: number): Promise<readonly string[]>;

  /**
   * The root tokens of a principal, newest first: those issued before the token `before`, which is one of them.
   * Includes revoked and expired ones.
   *
   * Story: [tokens](../stories/tokens.ts).
   */
  rootsOf(rootPrincipal: string, limit: number, before?: string): Promise<readonly TokenState[]>;

  /**
   * A token with its lineage (root first), its spending and its first children by id.
   *
   * Story: [tokens](../stories/tokens.ts).
   */
  describeToken(tokenId: string, childrenMax: number): Promise<TokenDescription | undefined>;
}

/** Of a token's own row: a token above may be revoked. */
export interface TokenState {
  readonly token_id: string;
  readonly expires_at: Date;
  readonly revoked_at?: Date | undefined;
}

export interface ChildState extends TokenState {
  readonly parent_token_id: string;
  readonly subject: string;
  readonly hasChildren: boolean;
}

export interface ChildBounds {
  readonly now: Date;
  readonly childrenMax: number;
  /** The parent's lineage, as it was when the child's authority was decided. */
  readonly judged?: readonly LineageLink[] | undefined;
}

export interface TokenDescription {
  readonly token: TokenRecord;
  readonly lineage: readonly LineageLink[];
  readonly children: readonly string[];
  readonly childrenCount: number;
  /** What calls under the token, or below it, cost beyond their reservations; one for each currency. */
  readonly debts: readonly Charge[];
}
