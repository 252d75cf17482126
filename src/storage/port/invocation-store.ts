/**
 * The part of the storage port that invocation needs: how a call is judged, admitted and closed.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type {
  ActorEnded,
  BindingRecord,
  BudgetState,
  Charge,
  FreezeRecord,
  GrantRecord,
  IdempotencyRecord,
  IdempotencyScope,
  IntentRecord,
  LineageLink,
  RollbackRecord,
  TokenRecord,
} from './records.ts';

export interface InvocationStore {
  /**
   * Everything one call needs to be judged, from one snapshot, in one round trip. Concurrent calls
   * may share the trip; a result is never older than the call that asked for it.
   */
  load(request: LoadRequest): Promise<Loaded>;

  /**
   * The one step between the last rule and the handler. All of this, or nothing: every token of the
   * lineage is alive at `now`; nothing that applies is frozen; the charge is reserved on the token
   * and on each ancestor with a budget; one use of the grant is taken; the lease of every exclusive
   * token in the lineage is taken; the idempotency key is claimed; the intent is durable.
   *
   * Of several dead tokens the refusal names the first revoked from the root, and only without one
   * the first expired; of several freezes the widest: service, root principal, capability, capability
   * for the root principal.
   */
  admit(request: Admission): Promise<Admitted | Refused>;

  /**
   * Closes an admitted call once: the reservation becomes the actual cost (never more than was
   * reserved) on every token it was reserved on, leases and the trail of steps are let go (unless the
   * call `stillRuns`), bindings, the answer and the entry are kept; an overrun becomes debt on every
   * token of the lineage, and what it freezes is frozen, with its own entry. Repeating it with the same entry is the same as doing it once.
   * `superseded`: another outcome was recorded before, or (unless the outcome is `indeterminate`) a
   * lease was lost to another call meanwhile; nothing changed.
   */
  settle(settlement: Settlement): Promise<'settled' | 'superseded'>;

  /**
   * Keeps entries of calls that were not admitted (refusals, reads, replays, dry runs) and late ends of
   * calls that are closed, together with the bindings that such a call issued and what it overran.
   * An entry whose id is there already is not kept again, and its overrun neither.
   */
  append(
    entries: readonly EntryRecord[],
    bindings?: readonly BindingRecord[],
    overrun?: Overrun,
  ): Promise<void>;

  /** Extends the leases of a running call. False when one was lost; the call must not claim success. */
  renewLeases(operationId: string, until: Date): Promise<boolean>;

  /** Until when another call has its turn under one of these tokens, where one has. */
  busyUntil(tokenIds: readonly string[], now: Date): Promise<Date | undefined>;

  /**
   * Lets go of a call that was closed while it still ran: of its leases, and of the trail by which a
   * composed one would be gone on with.
   */
  releaseLeases(operationId: string): Promise<void>;

  /**
   * Takes up to `slice` calls out of what a window of a rate limit still has, over all processes.
   * One row a key, and one window at a time: a later one forgets the earlier, an earlier one has
   * nothing left.
   */
  takePermits(request: PermitRequest): Promise<Permits>;

  /** Says that this process lives. Calls admitted by a process that stopped saying so are abandoned. */
  heartbeat(instanceId: string, now: Date): Promise<void>;

  /**
   * Deletes idempotency keys, each with its answer, that need be kept no longer than until `now`, but
   * for those of calls that are still open. Resolves with how many: as many as `limit` means that
   * there may be more.
   */
  forgetKeys(now: Date, limit: number): Promise<number>;

  /**
   * Open intents whose process has not been heard of since `silentSince`, oldest first. Composed calls
   * are not among them: those are adopted.
   */
  abandonedIntents(silentSince: Date, limit: number): Promise<readonly IntentRecord[]>;

  /**
   * Calls that were settled as indeterminate and not reconciled, oldest first; those that come after
   * the one with the operation id `after`.
   */
  indeterminate(limit: number, after?: string): Promise<readonly IntentRecord[]>;

  /**
   * What an indeterminate call turned out to be: by an operator, or by its handler that ended late.
   * `refund` gives the charge back on every token it was taken from, and never more than the intent that
   * `entry` is given says; an overrun is kept as `settle` keeps one. Happens once: `undefined` when the
   * call is unknown or was reconciled before. When `entry` throws, nothing changes, and this rejects with it.
   */
  reconcile(
    invocationId: string,
    refund: boolean,
    entry: (intent: IntentRecord) => EntryRecord,
    by?: { readonly actor?: string | undefined; readonly overrun?: Overrun | undefined },
  ): Promise<IntentRecord | undefined | ActorEnded>;
}

export interface PermitRequest {
  readonly key: string;
  readonly windowStart: Date;
  /** Calls in the whole window. */
  readonly limit: number;
  readonly slice: number;
}

export interface Permits {
  readonly granted: number;
  /** What the window has left for whoever asks next. */
  readonly left: number;
}

export interface LoadRequest {
  readonly tokenId: string;
  readonly capability?: string | undefined;
  readonly grantId?: string | undefined;
  readonly bindingIds?: readonly string[] | undefined;
  readonly idempotency?: { capability: string; key: string } | undefined;
}

export interface Loaded {
  readonly token?: TokenRecord | undefined;
  /** Root first, the token itself last. Empty when the token is unknown. */
  readonly lineage: readonly LineageLink[];
  /**
   * Widest first: service, the token's root principal, capability, capability for that root principal.
   * Also those whose time has passed: whether a freeze is in force is decided by a reader that can
   * authenticate its row.
   */
  readonly freezes: readonly FreezeRecord[];
  readonly grant?: GrantRecord | undefined;
  readonly bindings: readonly BindingRecord[];
  /** Scoped to the token's own chain. */
  readonly idempotency?: IdempotencyRecord | undefined;
}

export interface Admission {
  readonly intent: IntentRecord;
  readonly now: Date;
  /**
   * The lineage on which the call was judged. Where it is given, the rows that are held must be the
   * same in all that admission goes by: MACs, expiry, exclusiveness, budgets and their ceilings.
   */
  readonly judged?: readonly LineageLink[] | undefined;
  readonly charge?: Charge | undefined;
  readonly grant?: GrantUse | undefined;
  /**
   * What a call that is made of steps was given, kept for as long as somebody may have to go on with
   * it: if its process dies, such a call is adopted instead of closed.
   */
  readonly composed?: JsonObject | undefined;
  /** Taken on every exclusive token of the lineage, when there is one. */
  readonly leaseUntil: Date;
  readonly idempotency?: (IdempotencyScope & { fingerprint: string; keepUntil: Date }) | undefined;
}

/** What a grant must be for, in full: a use is taken only if every part is equal. */
export interface GrantUse {
  readonly grant_id: string;
  readonly capability: string;
  readonly contract_version: string;
  readonly parameters_digest: string;
  readonly chain: string;
  readonly session_id?: string | undefined;
  /** As the grant was judged: not as its row may say by now. */
  readonly expires_at: Date;
  readonly max_uses: number;
}

export interface Admitted {
  readonly admitted: true;
  /** Root first: the budgets after the reservation. */
  readonly budgets: readonly BudgetState[];
}

/** `altered`: a row of the lineage is not the one on which the call was judged. */
type LostToken = 'revoked' | 'expired' | 'unknown_token' | 'altered';

/** Which part of the step was lost. Nothing was taken. */
export type Refused = { readonly admitted: false } & (
  | { readonly reason: LostToken; readonly token_id: string }
  | { readonly reason: 'frozen'; readonly freeze: FreezeRecord }
  | { readonly reason: 'budget' | 'currency'; readonly budget: BudgetState }
  | { readonly reason: 'grant'; readonly grant?: GrantRecord | undefined }
  | { readonly reason: 'busy'; readonly token_id: string; readonly until: Date }
  | { readonly reason: 'key'; readonly record: IdempotencyRecord }
);

export interface Settlement {
  readonly operation_id: string;
  /** `no_effect` gives everything back but the grant use; `indeterminate` keeps all of it charged. */
  readonly outcome: 'completed' | 'failed' | 'no_effect' | 'indeterminate';
  /** What was really spent; more than was reserved is a defect of the caller. */
  readonly actual?: bigint | undefined;
  /** Closed as indeterminate while the handler goes on: its leases stay until they are released. */
  readonly stillRuns?: boolean | undefined;
  readonly bindings: readonly BindingRecord[];
  /** Until when the call can be undone. */
  readonly rollback?: RollbackRecord | undefined;
  /** Kept for replay where the call had a key; a call without one needs none. */
  readonly answer?: Uint8Array | undefined;
  readonly overrun?: Overrun | undefined;
  readonly entry: EntryRecord;
  readonly now: Date;
}

/** What a handler reported beyond what was reserved for it, and what follows. */
export interface Overrun {
  /** The token that the call ran under. */
  readonly token_id: string;
  /**
   * Added to what every token of the lineage owes; a sum stays at the largest amount of its currency.
   * Absent where the report cannot be compared with the reservation.
   */
  readonly debt?: Charge | undefined;
  /** Frozen in the same step. */
  readonly freeze?: { readonly record: FreezeRecord; readonly entry: EntryRecord } | undefined;
}
