/**
 * How an operation is called and answered, independent of the transport.
 *
 * A transport passes the presented credential and a function that reads the input. A method checks
 * who asks before it reads the input, so an unknown caller learns nothing from the shape of a
 * request. Every refusal, store failure and defect becomes an answer in this file.
 *
 * @module
 */

import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import {
  type ConsoleMethodName,
  type ConsoleRequest,
  consoleMethods,
} from '../../protocol/console/methods.ts';
import type { Failure, FailureAnswer } from '../../protocol/failure.ts';
import type { InvokeAnswer } from '../../protocol/invocation.ts';
import {
  type Operation,
  type OperationName,
  operations,
  type RequestOf,
} from '../../protocol/operations.ts';
import { type Eventual, run, type Steps, stepsOf } from '../../steps.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../storage/port/store.ts';
import type { Document } from './documents.ts';
import { newInvocationId } from './random.ts';
import { readSent } from './sent-fields.ts';
import type { EventSink } from './stream.ts';
import type { TraceParent } from './tracing.ts';
import { LogWithheld } from './withheld.ts';

export interface Ask {
  /** The presented credential, if any. Throws a `Refusal` when it is not exactly one credential. */
  bearer(): string | undefined;
  /**
   * Asks the app around a mounted service for the principal of a caller that presents no credential. Author
   * code: it may throw, and may return anything.
   */
  readonly byApp?: (() => unknown) | undefined;
  /**
   * What the person of a browser session is entitled to, asked again each time; `undefined` once the session is
   * over. Only the routes of the console set it.
   */
  readonly bySession?: (() => Promise<Entitlement | undefined>) | undefined;
  /** Reads the fields of the request. Throws a `Refusal` when they cannot be read at all. */
  input(): unknown;
  /**
   * Called when the caller is known, or with a token that was issued to it. For transports that
   * count unknown callers.
   */
  proved?(issued?: string): void;
  /** Aborts when the client has left, on the transports that can tell. */
  gone?(): AbortSignal;
  /**
   * Aborts when the answer has left this process, or never will. Absent where the transport itself
   * bounds unread answers.
   */
  delivered?(): AbortSignal;
  /** The trace of the caller that this call belongs to, if it sent one. */
  readonly trace?: TraceParent | undefined;
}

export interface Answer {
  readonly body: object;
  /** The failure in the body. Its type decides the status. */
  readonly failure?: Failure | undefined;
  /** The exact text of the body, where it is stored for replay or was made before. */
  readonly text?: string | undefined;
  /** The text as bytes, for a long body. */
  readonly bytes?: Uint8Array | undefined;
  /** Headers on the transports that have them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** For a streamed answer: runs the call and resolves with the last event. */
  readonly stream?: ((sink: EventSink) => Promise<InvokeAnswer>) | undefined;
  /** The request was accepted and is incomplete: an approval below its quorum. */
  readonly accepted?: boolean | undefined;
}

/** A method that every call passes through is written as steps. */
export type Method = (ask: Ask) => Eventual<Answer | Document> | Steps<Answer>;

/** The operations of a service. An operation without a method is unknown to callers. */
export type Methods = Partial<Record<OperationName, Method>>;

export function isDocument(answer: Answer | Document): answer is Document {
  return 'etag' in answer;
}

/** Answers one call. Never throws. */
export function* performing(
  name: OperationName | ConsoleMethodName,
  method: Method,
  ask: Ask,
  { log, platform }: { readonly log: Logger; readonly platform: Platform },
): Steps<Answer | Document> {
  try {
    return yield* stepsOf(method(ask));
  } catch (error) {
    const found = failureOf(name, error, log, ask.trace);
    const isInvocation = name === 'invoke' || name === 'test';
    return { body: failureAnswer(platform, found, isInvocation), failure: found };
  }
}

/** Answers one call. Never rejects. */
export async function perform(...call: Parameters<typeof performing>): Promise<Answer | Document> {
  return run(performing(...call));
}

/** The input of an operation, parsed by the schema of its row. */
export function requestOf<Name extends OperationName>(
  name: Name,
  ask: Pick<Ask, 'input'>,
): RequestOf<Name> {
  return parsed(name, operations[name].request, ask) as RequestOf<Name>;
}

/** The input of a method of the console. */
export function consoleRequestOf<Name extends ConsoleMethodName>(
  name: Name,
  ask: Pick<Ask, 'input'>,
): ConsoleRequest<Name> {
  return parsed(name, consoleMethods[name], ask) as ConsoleRequest<Name>;
}

function parsed(name: string, schema: Operation['request'], ask: Pick<Ask, 'input'>): unknown {
  const input = ask.input();
  const read = readSent(schema, input);
  if (read) return read;
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;

  const faults = parsed.error.issues.slice(0, FAULTS_SHOWN_MAX).map((issue) => {
    const path = issue.path.join('.');
    return shortened(path ? `${path}: ${issue.message}` : issue.message);
  });
  const detail = `Cannot read the request of ${name}: ${faults.join('; ')}`;
  throw new Refusal(failure('invalid_parameters', detail));
}

/** Faults shown in one answer. */
const FAULTS_SHOWN_MAX = 8;

/** Characters of one fault. It may quote the input, and an entry stores it. */
const FAULT_LENGTH_MAX = 200;

function shortened(text: string): string {
  const letters = [...text];
  return letters.length <= FAULT_LENGTH_MAX
    ? text
    : `${letters.slice(0, FAULT_LENGTH_MAX).join('')}…`;
}

/** The body for a request that failed before any method answered it. */
export function failureAnswer(
  platform: Platform,
  found: Failure,
  isInvocation: boolean,
): FailureAnswer {
  return isInvocation ? unreadFailure(platform, found) : { success: false, failure: found };
}

/** A call that ended before its request was read. It has no entry, but its answer has an id. */
export function unreadFailure(platform: Platform, found: Failure): FailureAnswer {
  return { success: false, invocation_id: newInvocationId(platform), failure: found };
}

export function failureOf(
  name: OperationName | ConsoleMethodName | 'metrics' | 'sign-in',
  error: unknown,
  log: Logger,
  trace?: TraceParent,
): Failure {
  if (error instanceof Refusal) return error.failure;
  if (error instanceof LogWithheld) {
    return failure('service_unavailable', `Cannot answer ${name}: ${error.message}`);
  }
  const ids = trace && { trace_id: trace.traceId, span_id: trace.spanId };
  const facts = { operation: name, ...ids };
  if (error instanceof StoreUnavailable) {
    log.error({ ...facts, err: error }, 'store unavailable');
    const detail = `Cannot answer ${name}: the store is not available; nothing happened`;
    return failure('service_unavailable', detail, { estimated_availability: 'PT1S' });
  }
  if (error instanceof OutcomeUnknown) {
    log.error({ ...facts, err: error }, 'outcome unknown');
    return failure(
      'outcome_unknown',
      `Cannot report the outcome of ${name}: the store did not answer`,
    );
  }
  log.error({ ...facts, err: error }, 'defect');
  return failure('internal_error', `Cannot complete ${name}: internal error`);
}
