/**
 * Events: what the checker of a simulation sees, in the order in which it happened.
 *
 * A store call is seen when the store executed it, before a fault changes the answer that the replica gets. So
 * the events say what happened, and the answers of the clients say what the service claims.
 *
 * @module
 */

import type { EntryRecord } from '../../src/domain/log/entry.ts';
import type { OperationName } from '../../src/protocol/operations.ts';
import type { CheckpointRecord, DeliveryRecord } from '../../src/storage/port/records.ts';
import type { Store } from '../../src/storage/port/store.ts';

export type SimEvent =
  | StoreEvent
  | EffectEvent
  | ClientEvent
  | ReplicaEvent
  /** A receiver got this notice. */
  | { readonly kind: 'delivery'; readonly id: string }
  /** The mark of the log moved to this checkpoint. */
  | { readonly kind: 'mark'; readonly replica: number; readonly checkpoint: CheckpointRecord }
  /** A witness saw the note of a checkpoint and remembers it. */
  | { readonly kind: 'witness'; readonly size: number; readonly root: Uint8Array }
  /** From now on nothing fails, and everything that waits must end. */
  | { readonly kind: 'faults-stop' };

/** Either `error` or `result` is there. With an error nothing happened in the store. */
export interface StoreEvent {
  readonly kind: 'store';
  readonly replica: number;
  readonly method: keyof Store;
  readonly args: readonly unknown[];
  /** The entries that functions among the arguments made, such as that of a revocation, in order. */
  readonly entries?: readonly EntryRecord[] | undefined;
  /** The notices that such functions made. */
  readonly deliveries?: readonly DeliveryRecord[] | undefined;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** A handler at its effect. Handlers that only read have none. */
export interface EffectEvent {
  readonly kind: 'effect';
  readonly replica: number;
  /** The invocation id of the call, or of the step of a composed call, that the handler's context has. */
  readonly operation: string;
  readonly capability: string;
  readonly token: string;
  /** The cost that the handler reported, in minor units. */
  readonly amount?: bigint | undefined;
  /** The idempotency key that the client sent. */
  readonly key?: string | undefined;
  /** `begin`: the handler runs. `done`: the effect happened. `none`: the handler ended without an effect. */
  readonly phase: 'begin' | 'done' | 'none';
}

export interface ClientEvent {
  readonly kind: 'ask' | 'answer';
  readonly client: string;
  /** The same for a question and its answer. A repeated question has an id of its own. */
  readonly id: number;
  readonly operation: OperationName;
  readonly replica: number;
  /** The id of the token that the client presented; absent for a bootstrap credential. */
  readonly token?: string | undefined;
  readonly request: unknown;
  /** The body that the service answered. */
  readonly answer?: unknown;
  /** The body of a refusal. */
  readonly failure?: unknown;
  /** The client never got the answer. */
  readonly lost?: boolean | undefined;
}

export interface ReplicaEvent {
  readonly kind: 'replica';
  readonly replica: number;
  readonly what: 'start' | 'crash' | 'pause' | 'resume' | 'clock';
  readonly ms?: number | undefined;
}
