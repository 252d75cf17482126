/**
 * The part of the storage port that composed calls need: which steps began, how each ended, and who
 * goes on when a process did not live to.
 *
 * A composed call is one admitted call whose steps leave a trail of their own. The trail lives as long
 * as somebody may have to go on from it: settling the call, or letting go of it, removes it. What
 * happened stays in the log.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { AnyFailureType } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { Overrun } from './invocation-store.ts';
import type { BindingRecord, IntentRecord, RollbackKey, RollbackRecord } from './records.ts';

export interface CompositionStore {
  /**
   * Claims a step, or the compensation of one, before it runs. True for the invocation that has it,
   * however often it asks; false, and nothing is claimed, when another one has it, when it has ended,
   * or when the call is not, or no longer, in the hands of `instanceId`. A step needs an open call; a
   * compensation may also follow one that was closed while it still ran.
   */
  beginStep(step: BegunStep, instanceId: string): Promise<boolean>;

  /**
   * Records how a claimed step ended, with its entry, the bindings it issued, the window in which it can
   * be undone and what it overran. Repeating it with the same entry is the same as doing it once. False, and
   * nothing changed, when it ended otherwise before or the call is in other hands.
   */
  endStep(step: EndedStep, instanceId: string, kept: KeptWithStep): Promise<boolean>;

  /**
   * Takes over the oldest composed call that nobody finished and whose process has not been heard of
   * since `silentSince`. From then on its former process can neither begin nor end a step of it. Two
   * that ask at once never get the same call.
   */
  adoptComposition(instanceId: string, silentSince: Date): Promise<AdoptedComposition | undefined>;

  /**
   * Gives up a call that `instanceId` has: from then on nobody has it, and whoever asks adopts it.
   * Changes nothing when the call is in other hands, or needs nobody any more.
   */
  returnComposition(operationId: string, instanceId: string): Promise<void>;

  /** When the window of the call that has these values closes, where one is known. */
  rollbackUntil(key: RollbackKey): Promise<Date | undefined>;
}

export interface BegunStep {
  /** Of the call as a whole. */
  readonly operation_id: string;
  readonly role: 'step' | 'compensation';
  readonly step_id: string;
  /** The step's own. */
  readonly invocation_id: string;
  readonly capability: string;
  readonly parameters: JsonObject;
}

export interface EndedStep extends BegunStep {
  readonly outcome: 'completed' | 'failed' | 'no_effect' | 'indeterminate';
  readonly output?: JsonObject | undefined;
  readonly failure_type?: AnyFailureType | undefined;
  /** What it took of what was reserved for the whole. */
  readonly drawn?: bigint | undefined;
}

/** One that began and has no outcome was interrupted: nobody knows how far it came. */
export interface StepRecord extends Omit<EndedStep, 'outcome'> {
  readonly outcome?: EndedStep['outcome'] | undefined;
}

export interface KeptWithStep {
  /** None where the declaration has steps listed in the entry of the whole. */
  readonly entry?: EntryRecord | undefined;
  readonly bindings: readonly BindingRecord[];
  readonly rollback?: RollbackRecord | undefined;
  readonly overrun?: Overrun | undefined;
}

export interface AdoptedComposition {
  readonly intent: IntentRecord;
  /** Closed as of unknown outcome while it still ran. */
  readonly isSettled: boolean;
  /** What the whole was given. */
  readonly parameters: JsonObject;
  /** In the order in which they began. */
  readonly steps: readonly StepRecord[];
}
