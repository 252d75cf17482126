/**
 * Runs a handler: with its context, within its deadline, and with every way it can end told apart.
 *
 * @module
 */

import { amended } from '../domain/amended.ts';
import type { BindingFacts } from '../domain/bindings.ts';
import type { Charge } from '../domain/budget.ts';
import { failure } from '../domain/failure.ts';
import { readForeignObject } from '../domain/foreign.ts';
import { copyOf, type JsonLimits } from '../domain/json.ts';
import type { Capability } from '../protocol/capability.ts';
import type { Failure } from '../protocol/failure.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { BindingRecord } from '../storage/records.ts';
import { contextOf, type HandledCall, type Notes } from './context.ts';
import { beforeLate, createDeadline, type Deadline, LATE } from './deadline.ts';
import { ApprovalNeeded, type Handler, NoEffect } from './define.ts';
import { ask, report } from './foreign.ts';
import { thrownFailure, undeclaredType } from './handler-failure.ts';
import type { Parts } from './parts.ts';

/**
 * A result is an answer in memory and perhaps in the store; more belongs behind a link in it. Every
 * reader has to read it alike, and clients read no more levels and keys than twice and ten times this.
 */
const RESULT_LIMITS: JsonLimits = { bytes: 1_048_576, depth: 32, keys: 100_000 };

export interface Work {
  readonly handler: Handler;
  readonly parameters: JsonObject;
  readonly bound: ReadonlyMap<string, BindingFacts>;
  /** Whether the capability declares a policy, and whether this call has a grant in hand. */
  readonly approval: 'undeclared' | 'open' | 'granted';
  /** What the capability declares beside the failures of the protocol. */
  readonly failureTypes?: Capability['failure_types'];
  /** Tells of an event that was read. Never rejects. */
  progress(event: JsonObject): Promise<void>;
}

/** What a handler did, as far as anyone knows. */
export interface Done {
  readonly outcome: 'completed' | 'failed' | 'no_effect' | 'indeterminate';
  readonly result?: JsonObject | undefined;
  readonly failure?: Failure | undefined;
  readonly reported?: Charge | undefined;
  readonly bindings: readonly BindingRecord[];
  /** The handler asked for approval: the request has still to be kept. */
  readonly needsApproval?: boolean | undefined;
  /** Resolves when a handler that missed its deadline ends after all. */
  readonly late?: Promise<Done> | undefined;
  /** What the steps of a composed call did, where the entry of the whole has to say it. */
  readonly steps?: readonly StepView[] | undefined;
  /** A composed call that this process cannot finish: whoever adopts it closes it. */
  readonly isAbandoned?: boolean | undefined;
}

/** One step, or the compensation of one, as an entry lists it. */
export type StepView = JsonObject;

/** What a run is bounded by, and where it leaves what it hands over meanwhile. */
export interface Running {
  readonly deadline: Deadline;
  readonly notes?: Notes | undefined;
}

/** Runs a handler to its end, however long it takes. Never rejects. */
export async function runHandler(
  parts: Parts,
  call: HandledCall,
  work: Work,
  { deadline, notes = { bindings: [] } }: Running,
): Promise<Done> {
  // Whoever asked measures the deadline from here, before the handler's first line runs.
  await undefined;
  const heard = await ask(() => {
    const context = contextOf(parts, call, work, { deadline, notes });
    return work.handler(copyOf(work.parameters), context);
  });
  const kept = noted(notes);
  return 'returned' in heard
    ? completed(parts, heard.returned, kept)
    : broken(parts, work, heard.thrown, kept);
}

/**
 * Lets something run until its deadline; what then becomes of it is told later. A cost that it has
 * reported by then is told at once: it may never end.
 */
export async function withinDeadline(
  deadlineMs: number,
  run: (running: Running) => Promise<Done>,
): Promise<Done> {
  const deadline = createDeadline();
  const notes: Notes = { bindings: [] };
  const ended = run({ deadline, notes });
  const first = await beforeLate(ended, deadlineMs);
  if (first !== LATE) return first;

  deadline.pass(new Error(`Cannot go on: the deadline of ${deadlineMs} ms has passed`));
  const detail = `Cannot say what became of the call: the handler took longer than ${deadlineMs} ms`;
  return {
    outcome: 'indeterminate',
    failure: failure('outcome_unknown', detail),
    reported: notes.reported,
    bindings: [],
    late: ended,
  };
}

/** As they stand when the handler ends: one that goes on in secret pins and reports nothing more. */
function noted({ bindings, ...rest }: Notes): Notes {
  return amended(rest, { bindings: [...bindings] });
}

/** A result as it will be answered, or the failure of one that cannot be. */
export function completed(parts: Parts, returned: unknown, notes: Notes): Done {
  const read = readForeignObject(returned, RESULT_LIMITS);
  if ('value' in read) return { outcome: 'completed', result: read.value, ...notes };
  report(parts.log, { fault: read.fault }, 'a handler returned what cannot be answered');
  return { outcome: 'failed', failure: broke(), ...notes };
}

function broken(parts: Parts, work: Work, thrown: unknown, notes: Notes): Done {
  const { approval, failureTypes } = work;
  if (ApprovalNeeded.is(thrown) && approval === 'open') {
    const needed = failure('approval_required', 'Cannot go on: a person has to approve first');
    return { outcome: 'no_effect', failure: needed, needsApproval: true, bindings: [] };
  }
  const told = thrownFailure(parts, thrown, failureTypes);
  if (!told) {
    report(parts.log, { err: thrown, undeclared: undeclaredType(thrown) }, 'a handler broke');
    return { outcome: 'failed', failure: broke(), ...notes };
  }
  if (NoEffect.is(thrown)) return { outcome: 'no_effect', failure: told, bindings: [] };
  const outcome = told.type === 'outcome_unknown' ? 'indeterminate' : 'failed';
  return { outcome, failure: told, ...notes };
}

/** A handler's own words may carry what is inside; the caller gets none of them. */
function broke(): Failure {
  return failure('internal_error', 'Cannot complete the invocation: internal error');
}
