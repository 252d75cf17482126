/**
 * The part of the storage port for the log: entries, the tree over them, and its checkpoints.
 *
 * The log only grows. Retention may erase the contents of an entry; its hash and its place stay.
 *
 * @module
 */

import type { EntryRecord, StoredEntry } from '../../domain/log/entry.ts';
import type { NodeId } from '../../domain/log/merkle.ts';
import type { Origin } from '../../domain/log/origin.ts';
import type { EntryType, EventClass } from '../../protocol/audit.ts';
import type { CheckpointRecord } from './records.ts';

/** Stories: [search](../log/search.ts), [erase](../log/erase.ts), [checkpoints](../log/checkpoints.ts); each database writes for itself. */
export interface LogStore {
  /**
   * Gives every durable entry its contiguous place in the tree. Resolves when all entries that were
   * acknowledged before the call have one. One process at a time does the work.
   */
  sequence(): Promise<TreeHead>;

  /** The number of entries without a place, and whether it is so high that the service must refuse work. */
  backlog(): { waiting: number; overloaded: boolean };

  /**
   * Newest first, at most `limit`. A store may stop sooner, after many entries that do not match, so that one
   * query never blocks it for long. Pages that continue at `next` neither miss nor repeat an entry.
   */
  queryEntries(query: EntryQuery): Promise<EntryPage>;

  /** In order of `sequence`, from `from`, for export and for rebuilding the tree. */
  scanEntries(from: number, limit: number): Promise<readonly StoredEntry[]>;

  /** The place of a leaf, by its hash or by the entry of an invocation. */
  findLeaf(
    by: { leaf_hash: Uint8Array } | { invocation_id: string },
  ): Promise<{ sequence: number; leaf_hash: Uint8Array; root_principal: string } | undefined>;

  /**
   * Erases what the policy no longer retains, in order of places, at most `limit` entries. Resolves with the
   * number examined; when it equals `limit` there may be more. Places, hashes and the tree stay, so every
   * proof still verifies; columns that repeat erased fields, and the intent of the call, are emptied. A call
   * with an unknown outcome keeps its intent until it is reconciled.
   */
  erase(policy: Erasure): Promise<number>;

  /** Below which place each policy has erased: by event class, and `personal`. */
  erasures(): Promise<ReadonlyMap<string, number>>;

  /**
   * Stored tree nodes (`nodeFrom`), in the order requested. Rejects when one is missing: the tree is damaged.
   */
  nodes(ids: readonly NodeId[]): Promise<readonly Uint8Array[]>;

  treeHead(): Promise<TreeHead>;

  /** The logs of this store, oldest first. Entries are appended to the last one. */
  origins(): Promise<readonly Origin[]>;

  /**
   * Ends the log at `from` and begins the next log with this entry as its first leaf, at places above those
   * of the ended log and above the number `signed`. False, and nothing changes, when the log has grown or
   * ended since `from` was read.
   */
  beginOrigin(from: TreeHead, logId: string, entry: EntryRecord, signed?: number): Promise<boolean>;

  /**
   * Damage that this port cannot show and the store can find: search data, stray nodes, missing guards. One
   * sentence each; empty when there is none.
   */
  inspect(): Promise<readonly string[]>;

  /**
   * Stores a checkpoint if it is the next of the current log: its sequence follows the last one's (or the
   * log's first place when there is none), and its size is not smaller. False, and nothing changes, when
   * another process was first.
   */
  insertCheckpoint(checkpoint: CheckpointRecord): Promise<boolean>;

  lastCheckpoint(): Promise<CheckpointRecord | undefined>;
  loadCheckpoint(checkpointId: string): Promise<CheckpointRecord | undefined>;

  /** Stores a line that a witness added to a checkpoint's note. Repeating it changes nothing. */
  insertCosignature(checkpointId: string, line: string): Promise<void>;

  /** In the order of the lines' text. */
  cosignatures(checkpointId: string): Promise<readonly string[]>;

  /** Newest first, those with a sequence below `before`. */
  listCheckpoints(limit: number, before?: number): Promise<readonly CheckpointRecord[]>;

  /** Elects one process for a periodic job. True while `holder` has it until `until`. */
  lead(job: string, holder: string, now: Date, until: Date): Promise<boolean>;
}

/** What is erased, and from which entries: those not later than `until`. */
export type Erasure = { readonly until: Date; readonly limit: number } & (
  | { readonly what: 'personal' }
  /** All contents of a class, except entries that state their own retention. */
  | { readonly what: 'contents'; readonly eventClass: EventClass }
  /** All contents of entries whose own stated retention has passed. */
  | { readonly what: 'stated' }
);

/** The tree of the current log. */
export interface TreeHead {
  /** The place of its first leaf. */
  readonly first: number;
  /** In leaves. */
  readonly size: number;
  /** The complete subtrees from left to right; their fold is the root. */
  readonly peaks: readonly Uint8Array[];
}

export interface EntryPage {
  readonly entries: readonly StoredEntry[];
  /** The `before` of the next query. Absent when no entry is left. */
  readonly next?: number | undefined;
}

export interface EntryQuery {
  readonly rootPrincipal?: string | undefined;
  readonly entryType?: EntryType | undefined;
  readonly capability?: string | undefined;
  readonly invocationId?: string | undefined;
  readonly clientReferenceId?: string | undefined;
  readonly taskId?: string | undefined;
  readonly parentInvocationId?: string | undefined;
  /** Exclusive. */
  readonly since?: Date | undefined;
  /** Continue below this place. */
  readonly before?: number | undefined;
  readonly limit: number;
}
