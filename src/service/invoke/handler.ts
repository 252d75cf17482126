/**
 * Runs a handler with its context and within its deadline, and distinguishes every way in which it
 * can end.
 *
 * @module
 */

import {
  type FailureAdvice,
  failure,
  GUIDANCE,
  isOfProtocol,
  OF_THE_SERVICE,
  ownFailure,
  RECOVERY,
} from '../../domain/failure.ts';
import type { Charge } from '../../domain/invocation/budget.ts';
import { foreignMember, foreignText, readForeignObject } from '../../domain/wire/foreign.ts';
import { copyOf, type JsonLimits, RESULT_LIMITS } from '../../domain/wire/json.ts';
import { redactedText } from '../../domain/wire/redaction.ts';
import type { Platform } from '../../platform.ts';
import type { Failure, FailureDeclaration, FailureType } from '../../protocol/failure.ts';
import { type JsonObject, Principal } from '../../protocol/primitives.ts';
import { isPromised, run, type Steps, wait } from '../../steps.ts';
import type { BindingRecord } from '../../storage/port/records.ts';
import { ApprovalNeeded, HandlerFailure, NoEffect } from '../author/handler.ts';
import type { CheckedCall, HandledCall } from '../call/call.ts';
import { callForeign } from '../foreign/foreign.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { createDeadline, type Deadline, inTime } from '../pace/deadline.ts';
import { validatedResult } from './author-schema.ts';
import { type Given, handlerContext, type Notes, type Work } from './context.ts';
import type { HandlerParts } from './inner.ts';
import { containsLent, withoutLent } from './lent-tokens.ts';

/** What a handler did, as far as it is known. */
export interface Done {
  readonly outcome: 'completed' | 'failed' | 'no_effect' | 'indeterminate';
  readonly result?: JsonObject | undefined;
  readonly failure?: Failure | undefined;
  readonly reported?: Charge | undefined;
  readonly bindings: readonly BindingRecord[];
  /** The handler asked for approval. The request is not stored yet. */
  readonly needsApproval?: boolean | undefined;
  /** Resolves when a handler that missed its deadline ends. */
  readonly late?: Promise<Done> | undefined;
  /** The steps of a composed call, where the entry of the whole lists them. */
  readonly steps?: readonly StepView[] | undefined;
  /** A composed call that this process cannot finish. The process that adopts it closes it. */
  readonly isAbandoned?: boolean | undefined;
}

/** One step, or the compensation of one, as an entry lists it. */
export type StepView = JsonObject;

/** The deadline of a run, and where the handler leaves its notes. */
export interface Running {
  readonly deadline: Deadline;
  readonly notes?: Notes | undefined;
}

/** Runs a handler to its end, however long it takes. Never throws. */
export function* runHandler(
  parts: HandlerParts,
  call: HandledCall,
  work: Work,
  { deadline, notes = { bindings: [] } }: Running,
): Steps<Done> {
  const lent: string[] = [];
  const given: Given = {
    deadline,
    notes,
    lent,
    inner: undefined,
    hasEnded: false,
    hasActed: false,
  };
  const heard = yield* callForeign(() =>
    work.handler(copyOf(work.parameters), handlerContext(parts, call, work, given)),
  );
  const finalNotes = copyOfNotes(notes);
  given.hasEnded = true;
  if (given.inner) yield* wait(given.inner.ended());
  if ('thrown' in heard && given.hasActed && saysNoEffect(heard.thrown)) {
    return contradicting(parts, work, withoutLent(lent, heard.thrown), finalNotes);
  }
  if ('thrown' in heard) return broken(parts, work, withoutLent(lent, heard.thrown), finalNotes);
  if (lent.length > 0 && isLentIn(lent, heard.returned)) return disclosing(parts, work, finalNotes);
  const done = yield* completed(parts, work.capability, heard.returned, finalNotes);
  // While a schema waits, the handler may still get a token that it asked for.
  return containsLent(lent, done.result) ? disclosing(parts, work, finalNotes) : done;
}

function saysNoEffect(thrown: unknown): boolean {
  return NoEffect.is(thrown) || ApprovalNeeded.is(thrown);
}

/**
 * The handler says that nothing happened, and a call that it made had an effect. The caller, or the grant, would
 * repeat that effect, so this is a defect.
 */
function contradicting(
  { log }: ServiceParts,
  { capability }: Work,
  err: unknown,
  notes: Notes,
): Done {
  const what = 'a handler says that nothing happened, but a call that it made had an effect';
  log.error({ capability, err }, what);
  return { outcome: 'failed', failure: broke(), ...notes };
}

/** A schema may read a value that is not JSON. Its result is compared again. */
function isLentIn(lent: readonly string[], returned: unknown): boolean {
  const read = readForeignObject(returned, RESULT_LIMITS);
  return 'value' in read && containsLent(lent, read.value);
}

/** Services exist that echo the header of a request. The handler has acted, so its cost and its bindings stay. */
function disclosing({ log }: ServiceParts, { capability }: Work, notes: Notes): Done {
  log.error({ capability }, 'a handler returned the token of a person; the result is not sent');
  const detail = `Cannot answer with the result of "${capability}": it contains the token of a person. The call ran and may have acted: do not repeat it`;
  return { outcome: 'failed', failure: failure('internal_error', detail), ...notes };
}

/**
 * A result that the declared output does not admit. The handler has acted, so its cost and its bindings
 * stay. The answer advises the caller not to repeat the call.
 */
function unmatched(
  { alarms }: ServiceParts,
  capability: string,
  issues: readonly string[],
  notes: Notes,
): Done {
  const what = 'a handler returned a result that does not match its declared output';
  alarms.raise('output_mismatch', { capability, issues: issues.join('; ') }, what);
  const detail = `Cannot answer with the result of "${capability}": it does not match the declared output. The call ran and may have acted: do not repeat it`;
  return { outcome: 'failed', failure: failure('internal_error', detail), ...notes };
}

/**
 * Runs until the deadline; `late` resolves when the run ends after it. A cost reported before the
 * deadline is returned at once, because the run may never end.
 */
export function* withinDeadline(
  platform: Platform,
  deadlineMs: number,
  work: (running: Running) => Steps<Done>,
): Steps<Done> {
  const begun = platform.monotonic();
  const deadline = createDeadline(begun + deadlineMs);
  const notes: Notes = { bindings: [] };
  const ended = run(work({ deadline, notes }));
  if (!isPromised(ended)) return ended;
  // A handler may have blocked this process before it waits.
  const leftMs = Math.max(0, deadlineMs - (platform.monotonic() - begun));
  const late = (): Done => {
    deadline.pass(new Error(`Cannot continue: the deadline of ${deadlineMs} ms has passed`));
    const detail = `Cannot report the outcome of the call: the handler took longer than ${deadlineMs} ms`;
    return {
      outcome: 'indeterminate',
      failure: failure('outcome_unknown', detail),
      reported: notes.reported,
      bindings: [],
      late: ended,
    };
  };
  return yield* wait(inTime(platform, ended, leftMs, late));
}

/** Copies the notes when the handler ends, so that later calls of its context change nothing. */
function copyOfNotes({ reported, bindings }: Notes): Notes {
  return { reported, bindings: [...bindings] };
}

/** Reads the result, by the schema of the output if there is one. A result that cannot be answered becomes a failure. */
export function* completed(
  parts: ServiceParts,
  capability: string,
  returned: unknown,
  notes: Notes,
): Steps<Done> {
  const schema = parts.definition.code.get(capability)?.readOutput;
  if (schema) {
    const read = yield* wait(validatedResult(schema, returned, RESULT_LIMITS));
    if ('value' in read) return completedWith(read.value, notes);
    return unmatched(parts, capability, 'issues' in read ? read.issues : [read.fault], notes);
  }
  const read = readForeignObject(returned, RESULT_LIMITS);
  if ('value' in read) return completedWith(read.value, notes);
  parts.log.error({ fault: read.fault }, 'a handler returned a result that cannot be sent');
  return { outcome: 'failed', failure: broke(), ...notes };
}

function completedWith(result: JsonObject, { reported, bindings }: Notes): Done {
  return { outcome: 'completed', result, reported, bindings };
}

function broken(parts: ServiceParts, work: Work, thrown: unknown, notes: Notes): Done {
  const { approval, failureTypes } = work;
  if (ApprovalNeeded.is(thrown) && approval === 'open') {
    const needed = failure(
      'approval_required',
      'Cannot continue: a person must approve the call first',
    );
    return { outcome: 'no_effect', failure: needed, needsApproval: true, bindings: [] };
  }
  const found = thrownFailure(parts, thrown, failureTypes);
  if (!found) {
    parts.log.error({ err: thrown, undeclared: undeclaredType(thrown) }, 'a handler broke');
    return { outcome: 'failed', failure: broke(), ...notes };
  }
  if (NoEffect.is(thrown)) return { outcome: 'no_effect', failure: found, bindings: [] };
  const outcome = found.type === 'outcome_unknown' ? 'indeterminate' : 'failed';
  return { outcome, failure: found, ...notes };
}

/** The error of a handler may contain internals, so the caller gets none of its text. */
function broke(): Failure {
  return failure('internal_error', 'Cannot complete the invocation: internal error');
}

export interface ComposedWork {
  /** Absent when the call was not admitted, because it only reads. */
  readonly operationId?: string | undefined;
  readonly deadline: Deadline;
  progress(event: JsonObject): Promise<void>;
}

/** Runs the steps of a composed call in place of a handler. */
type Compose = (parts: HandlerParts, call: CheckedCall, work: ComposedWork) => Promise<Done>;

/** The parts of an invocation. The runtime adds the composer. */
export interface InvokeParts extends HandlerParts {
  readonly compose: Compose;
}

/**
 * UTF-16 units of the detail of a failure, which is sent to a caller and stored with the answer.
 */
const DETAIL_LENGTH_MAX = 1_000;

/** UTF-16 units of a failure type in the log. */
const TYPE_LENGTH_MAX = 64;

/** Bounds advice: a few short texts. */
const ADVICE_LIMITS: JsonLimits = { bytes: 16_384, depth: 4, keys: 32 };
const REQUIRES_MAX = 16;
const REQUIRED_LENGTH_MAX = 256;
const AVAILABILITY_LENGTH_MAX = 64;

/**
 * The failure that a handler threw; `undefined` for any other value, or for a type that it may not
 * use.
 */
function thrownFailure(
  { log }: Pick<ServiceParts, 'log'>,
  thrown: unknown,
  declared: readonly FailureDeclaration[] = [],
): Failure | undefined {
  if (!NoEffect.is(thrown) && !HandlerFailure.is(thrown)) return undefined;
  const thrownType = foreignMember(thrown, 'type');
  if (typeof thrownType !== 'string') return undefined;
  const own = declared.find(({ type }) => type === thrownType);
  if (!own && (!isOfProtocol(thrownType) || isWithheld(thrownType, NoEffect.is(thrown))))
    return undefined;

  const detail = foreignText(foreignMember(thrown, 'message'), DETAIL_LENGTH_MAX);
  const { advice, faults } = readAdvice(foreignMember(thrown, 'advice'));
  if (faults.length > 0) log.error({ faults }, 'a handler attached advice that cannot be sent');
  return own ? ownFailure(own, detail, advice) : failure(thrownType as FailureType, detail, advice);
}

/** The type that a handler used without declaring it, so that its author finds it in the log. */
function undeclaredType(thrown: unknown): string | undefined {
  if (!NoEffect.is(thrown) && !HandlerFailure.is(thrown)) return undefined;
  return redactedText(foreignMember(thrown, 'type'), TYPE_LENGTH_MAX);
}

/**
 * Types that a handler may not use. `outcome_unknown` is for a handler that did something.
 * `service_unavailable` is for one that did nothing, and so is advice to call with another token:
 * an idempotency key belongs to a chain of principals, so under a token of another chain the call
 * would run again.
 */
function isWithheld(type: FailureType, isNoEffect: boolean): boolean {
  if (OF_THE_SERVICE.has(type)) return true;
  if (isNoEffect) return type === 'outcome_unknown';
  const isRedelegation = RECOVERY[GUIDANCE[type].action] === 'redelegation_then_retry';
  return type === 'service_unavailable' || isRedelegation;
}

/** Reads advice. It decides nothing, so unreadable parts are left out and the failure stays. */
function readAdvice(value: unknown): { advice: FailureAdvice; faults: string[] } {
  const reading = readForeignObject(value ?? {}, ADVICE_LIMITS);
  if ('fault' in reading) return { advice: {}, faults: [`advice: ${reading.fault}`] };
  const { requires, grantable_by, estimated_availability } = reading.value;
  const faults: string[] = [];
  const advice: FailureAdvice = {};
  if (isTextList(requires)) {
    const texts = requires.slice(0, REQUIRES_MAX);
    advice.requires = texts.map((text) => redactedText(text, REQUIRED_LENGTH_MAX));
  } else if (isPresent(requires)) faults.push('requires: expected a list of texts');
  const principal = Principal.safeParse(grantable_by);
  if (principal.success) advice.grantable_by = principal.data;
  else if (isPresent(grantable_by)) faults.push('grantable_by: expected a principal');
  if (typeof estimated_availability === 'string') {
    advice.estimated_availability = redactedText(estimated_availability, AVAILABILITY_LENGTH_MAX);
  } else if (isPresent(estimated_availability))
    faults.push('estimated_availability: expected a text');
  return { advice, faults };
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
