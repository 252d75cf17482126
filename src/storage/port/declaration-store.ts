/**
 * The part of the storage port for declarations: those that the service last ran with, and what a change of
 * one makes unusable.
 *
 * The kept declarations are advice for a person who upgrades a service. No rule decides by them, so their rows
 * have no MAC.
 *
 * @module
 */

/** One capability as the service last ran with it. */
export interface DeclarationRecord {
  readonly capability: string;
  readonly contract_version: string;
  readonly digest: string;
  /** The canonical text. */
  readonly declaration: string;
  readonly kept_at: Date;
}

/** Story: [declarations](../stories/declarations.ts). */
export interface DeclarationStore {
  /** The kept declarations by name, at most `limit`. */
  keptDeclarations(limit: number): Promise<readonly DeclarationRecord[]>;

  /** Stores these declarations, each in place of the kept one of its name, and removes those of `gone`. */
  keepDeclarations(kept: readonly DeclarationRecord[], gone: readonly string[]): Promise<void>;

  /**
   * Counts the pending requests and the grants with a use left, not expired at `now`, that no call can use
   * under the declaration in `fits`: those of another version or of another digest. Without `fits` the capability is gone, and all of them count.
   */
  staleApprovals(query: StaleQuery): Promise<StaleApprovals>;
}

interface StaleQuery {
  readonly capability: string;
  readonly fits?: StaleFit | undefined;
  readonly now: Date;
  /** Requests, and grants, that are looked at. */
  readonly limit: number;
}

interface StaleFit {
  readonly contract_version: string;
  readonly declaration_digest: string;
}

export interface StaleApprovals {
  readonly requests: number;
  readonly grants: number;
  /** False when a look reached its limit: the counts are lower bounds. */
  readonly isComplete: boolean;
}

/** No row has an empty version, so every row is stale. */
export const NOTHING_FITS: StaleFit = { contract_version: '', declaration_digest: '' };
