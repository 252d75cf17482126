/**
 * The part of the storage port for invocation: how a call is loaded, admitted and settled.
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

/** In milliseconds. Often enough that a living process may lose two heartbeats. */
export const HEARTBEAT_MS = 5_000;

/**
 * In milliseconds: four heartbeats. With one interval until the next pass, every call of a dead process has
 * its entry within half a minute; the documentation promises a minute.
 */
export const SILENT_MS = 20_000;

export interface InvocationStore {
  /**
   * Reads everything that the rules of one call need, from one snapshot, in one round trip. Concurrent calls
   * may share the trip; a result is never older than its request.
   *
   * Story: [sqlite](../sqlite/calls/load.ts) and [postgres](../postgres/calls/load.ts).
   */
  load(request: LoadRequest): Promise<Loaded>;

  /**
   * The one step between the last rule and the handler. All of this, or nothing: every token of the lineage
   * is alive at `now`; no freeze applies; the charge is reserved on the token and on each ancestor with a
   * budget; one use of the grant is taken; the lease of every exclusive token in the lineage is taken (or, for
   * a call that runs under the leases of another, held by that other); the idempotency key is claimed; the intent
   * is durable.
   *
   * Where several tokens are dead, the refusal names the revoked token nearest to the root; without a revoked
   * one, the expired token nearest to the root. Of several freezes it names the widest: service, root
   * principal, capability, capability for the root principal.
   *
   * Story: [sqlite](../sqlite/calls/admission.ts) and [postgres](../postgres/calls/admission.ts).
   */
  admit(request: Admission): Promise<Admitted | Refused>;

  /**
   * Closes an admitted call once. On every token with a reservation the actual cost replaces it (never more
   * than was reserved). Leases and step rows are released (unless the call `stillRuns`); bindings, the answer
   * and the entry are stored. An overrun becomes debt on every token of the lineage, and its freeze is stored
   * with its own entry. Repeating it with the same entry changes nothing. `superseded`: nothing changed,
   * because another outcome was recorded before or (unless the outcome is `indeterminate`) another call took
   * one of the leases.
   *
   * Story: [sqlite](../sqlite/calls/settlement.ts) and [postgres](../postgres/calls/settlement.ts).
   */
  settle(settlement: Settlement): Promise<'settled' | 'superseded'>;

  /**
   * Appends entries of calls that were not admitted (refusals, reads, replays, dry runs) and late ends of
   * closed calls, with the bindings and the overrun of the call. Where an earlier attempt may have succeeded,
   * `isRepeat` is true: an entry whose id is stored is then skipped, and so is its overrun.
   *
   * Story: [sqlite](../sqlite/calls/settlement.ts) and [postgres](../postgres/log/entries.ts).
   */
  append(
    entries: readonly EntryRecord[],
    bindings?: readonly BindingRecord[],
    overrun?: Overrun,
    isRepeat?: boolean,
  ): Promise<void>;

  /**
   * Extends the leases of a running call. False when one was lost, and for a closed call that has none, also while its
   * handler runs; the call must not claim success.
   *
   * Story: [calls](../stories/calls.ts).
   */
  renewLeases(operationId: string, until: Date): Promise<boolean>;

  /**
   * The time until which another call holds the lease of one of these tokens; undefined when none does.
   *
   * Story: [calls](../stories/calls.ts).
   */
  busyUntil(tokenIds: readonly string[], now: Date): Promise<Date | undefined>;

  /**
   * Releases the leases and step rows of a call that was closed while it still ran.
   *
   * Story: [sqlite](../sqlite/calls/settlement.ts) and [postgres](../postgres/calls/intents.ts).
   */
  releaseLeases(operationId: string): Promise<void>;

  /**
   * Takes up to `slice` calls from what is left in a rate limit window, over all processes. The store has one
   * row a key with one window: a later window replaces it, and an earlier window has nothing left.
   *
   * Story: [sqlite](../sqlite/calls/permits.ts) and [postgres](../postgres/calls/permits.ts).
   */
  takePermits(request: PermitRequest): Promise<Permits>;

  /**
   * Records that this process lives. Calls of a process without recent heartbeats count as abandoned.
   *
   * Story: [calls](../stories/calls.ts).
   */
  heartbeat(instanceId: string, now: Date): Promise<void>;

  /**
   * Deletes expired idempotency keys with their answers, except those of open calls. Resolves with the number
   * deleted; when it equals `limit` there may be more.
   *
   * Story: [calls](../stories/calls.ts).
   */
  forgetKeys(now: Date, limit: number): Promise<number>;

  /**
   * Open intents of processes without a heartbeat since `silentSince`, oldest first; no composed calls.
   *
   * Story: [calls](../stories/calls.ts).
   */
  abandonedIntents(silentSince: Date, limit: number): Promise<readonly IntentRecord[]>;

  /**
   * Open intents of a root principal, oldest first; composed calls too.
   *
   * Story: [calls](../stories/calls.ts).
   */
  openIntents(rootPrincipal: string, limit: number): Promise<readonly IntentRecord[]>;

  /**
   * Calls that are settled as indeterminate and not reconciled, oldest first, after the operation id `after`.
   *
   * Story: [calls](../stories/calls.ts).
   */
  indeterminate(limit: number, after?: string): Promise<readonly IntentRecord[]>;

  /**
   * Records the real outcome of an indeterminate call, from an operator or from its handler that ended late.
   * `refund` returns the charge on every token it was taken from, never more than the intent passed to
   * `entry` says. An overrun is stored as in `settle`. Happens once: `undefined` when the call is unknown or
   * already reconciled. When `entry` throws, nothing changes and this rejects with that error.
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
  /** What the window has left for later requests. */
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
   * Includes expired freezes: only a reader that can authenticate the row may decide that a freeze has
   * expired.
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
   * The lineage on which the rules decided. When given, the locked rows must equal it in everything that
   * admission uses: MACs, expiry, exclusiveness, budgets and their ceilings.
   */
  readonly judged?: readonly LineageLink[] | undefined;
  readonly charge?: Charge | undefined;
  readonly grant?: GrantUse | undefined;
  /**
   * The parameters of a composed call, stored until it is finished. If its process dies, another process
   * adopts such a call instead of closing it.
   */
  readonly composed?: JsonObject | undefined;
  /** Taken on every exclusive token of the lineage, when there is one. */
  readonly leaseUntil: Date;
  /** The operation under whose leases the call runs: a handler made the call. It takes none of its own. */
  readonly leasedBy?: string | undefined;
  readonly idempotency?: (IdempotencyScope & { fingerprint: string; keepUntil: Date }) | undefined;
}

/** The properties of the grant; a use is taken only when every one is equal. */
export interface GrantUse {
  readonly grant_id: string;
  readonly capability: string;
  readonly contract_version: string;
  /** That of the grant, which the rules compared with the call. */
  readonly declaration_digest: string;
  readonly parameters_digest: string;
  readonly chain: string;
  readonly session_id?: string | undefined;
  /** The expiry that the rules checked; the row may have changed since. */
  readonly expires_at: Date;
  readonly max_uses: number;
}

export interface Admitted {
  readonly admitted: true;
  /** Root first: the budgets after the reservation. */
  readonly budgets: readonly BudgetState[];
}

/** `altered`: a row of the lineage differs from the one on which the rules decided. */
type LostToken = 'revoked' | 'expired' | 'unknown_token' | 'altered';

/** Which condition failed. Nothing was taken. */
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
  /** `no_effect` returns everything except the grant use; `indeterminate` keeps all of it charged. */
  readonly outcome: 'completed' | 'failed' | 'no_effect' | 'indeterminate';
  /** The amount spent; more than was reserved is a defect of the caller. */
  readonly actual?: bigint | undefined;
  /** Closed as indeterminate while the handler continues: its leases stay until they are released. */
  readonly stillRuns?: boolean | undefined;
  readonly bindings: readonly BindingRecord[];
  /** Until when the call can be undone. */
  readonly rollback?: RollbackRecord | undefined;
  /** Stored for replay where the call had a key. */
  readonly answer?: Uint8Array | undefined;
  readonly overrun?: Overrun | undefined;
  readonly entry: EntryRecord;
  readonly now: Date;
}

/** The cost that a handler reported beyond its reservation, with the consequences. */
export interface Overrun {
  /** The token of the call. */
  readonly token_id: string;
  /**
   * Added to the debt of every token of the lineage; a sum stops at the largest amount of its currency.
   * Absent where the report cannot be compared with the reservation.
   */
  readonly debt?: Charge | undefined;
  /** Frozen in the same step. */
  readonly freeze?: { readonly record: FreezeRecord; readonly entry: EntryRecord } | undefined;
}
