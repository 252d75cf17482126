/**
 * The part of the storage port for composed calls: which steps began, how each ended, and which process
 * continues after a crash.
 *
 * A composed call is one admitted call. The store keeps a row for each of its steps until the call is settled
 * or released; the history of the call stays in the log.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { AnyFailureType } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { Overrun } from './invocation-store.ts';
import type { BindingRecord, IntentRecord, RollbackKey, RollbackRecord } from './records.ts';

/** Story: [compositions](../stories/compositions.ts). */
export interface CompositionStore {
  /**
   * Claims a step, or its compensation, before it runs. True for the invocation that holds the claim, however
   * often it asks. False, and nothing changes, when another invocation holds it, when the step has ended, or
   * when `instanceId` does not own the call. A step needs an open call; a compensation may also follow a call
   * that was closed while it still ran.
   *
   * Story: [compositions](../stories/compositions.ts).
   */
  beginStep(step: BegunStep, instanceId: string): Promise<boolean>;

  /**
   * Records how a claimed step ended, with its entry, its bindings, its rollback window and its overrun.
   * Repeating it with the same entry changes nothing. False, and nothing changes, when the step has another
   * recorded outcome or another process owns the call.
   *
   * Story: [compositions](../stories/compositions.ts).
   */
  endStep(step: EndedStep, instanceId: string, kept: StepEffects): Promise<boolean>;

  /**
   * Takes over the oldest unfinished composed call whose process sent no heartbeat since `silentSince`. From
   * then on the former process can neither begin nor end a step of it. Two concurrent callers never get the
   * same call.
   *
   * Story: [compositions](../stories/compositions.ts).
   */
  adoptComposition(instanceId: string, silentSince: Date): Promise<AdoptedComposition | undefined>;

  /**
   * Releases a call that `instanceId` owns, so that any process can adopt it. Changes nothing when another
   * process owns the call or the call is finished.
   *
   * Story: [compositions](../stories/compositions.ts).
   */
  returnComposition(operationId: string, instanceId: string): Promise<void>;

  /**
   * The end of the rollback window of the call with these values; undefined when none is stored.
   *
   * Story: [compositions](../stories/compositions.ts).
   */
  rollbackUntil(key: RollbackKey): Promise<Date | undefined>;
}

export interface BegunStep {
  /** The composed call. */
  readonly operation_id: string;
  readonly role: 'step' | 'compensation';
  readonly step_id: string;
  /** The invocation of this step alone. */
  readonly invocation_id: string;
  readonly capability: string;
  readonly parameters: JsonObject;
}

export interface EndedStep extends BegunStep {
  readonly outcome: 'completed' | 'failed' | 'no_effect' | 'indeterminate';
  readonly output?: JsonObject | undefined;
  readonly failure_type?: AnyFailureType | undefined;
  /** The part of the composed call's reservation that this step used. */
  readonly drawn?: bigint | undefined;
}

/** A step without an outcome was interrupted: its effect is unknown. */
export interface StepRecord extends Omit<EndedStep, 'outcome'> {
  readonly outcome?: EndedStep['outcome'] | undefined;
}

export interface StepEffects {
  /** Absent where the declaration lists the steps in the entry of the composed call. */
  readonly entry?: EntryRecord | undefined;
  readonly bindings: readonly BindingRecord[];
  readonly rollback?: RollbackRecord | undefined;
  readonly overrun?: Overrun | undefined;
}

export interface AdoptedComposition {
  readonly intent: IntentRecord;
  /** The call was closed as indeterminate while it still ran. */
  readonly isSettled: boolean;
  /** The parameters of the composed call. */
  readonly parameters: JsonObject;
  /** In the order of their start. */
  readonly steps: readonly StepRecord[];
}
