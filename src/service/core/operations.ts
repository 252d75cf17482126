/**
 * How an operation is asked and answered, whatever the transport.
 *
 * A transport hands over what was presented and a way to read the input; a method checks who asks
 * before it reads, so a stranger learns nothing from the shape of a request. Every refusal, failure
 * of the store and defect becomes an answer here, once.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { Failure, FailureAnswer } from '../../protocol/failure.ts';
import type { InvokeAnswer } from '../../protocol/invocation.ts';
import { type OperationName, operations, type RequestOf } from '../../protocol/operations.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../storage/port/store.ts';
import type { Document } from './documents.ts';
import { newInvocationId } from './random.ts';
import type { EventSink } from './stream.ts';
import type { TraceParent } from './tracing.ts';
import { LogWithheld } from './withheld.ts';

export interface Ask {
  /** What was presented, if anything. Throws a `Refusal` when it is not one clear credential. */
  bearer(): string | undefined;
  /** Reads the fields of the request. Throws a `Refusal` when they cannot be read at all. */
  input(): unknown;
  /** Hears that the caller is known, or of a token that was issued to it, on transports that count strangers. */
  proved?(issued?: string): void;
  /** Ends when nobody is there to hear the answer, on the transports that can tell. */
  gone?(): AbortSignal;
  /**
   * Ends when the answer has left this process, or never will. Absent where the transport itself
   * bounds what waits to be read.
   */
  delivered?(): AbortSignal;
  /** The trace this call belongs to, where the caller named one. */
  readonly trace?: TraceParent | undefined;
}

export interface Answer {
  readonly body: object;
  /** The refusal that the body tells of; its type decides the status. */
  readonly failure?: Failure | undefined;
  /** The exact text of the body, where it was written before: what was stored is what is told. */
  readonly text?: string | undefined;
  /** The same as bytes, where the body is long. */
  readonly bytes?: Uint8Array | undefined;
  /** Headers on the transports that have them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where the answer is told as it happens: runs the call, and resolves with what was told last. */
  readonly stream?: ((sink: EventSink) => Promise<InvokeAnswer>) | undefined;
  /** Taken, but not complete: below the quorum of an approval. */
  readonly accepted?: boolean | undefined;
}

export type Method = (ask: Ask) => Promise<Answer | Document> | Answer | Document;

/** The operations a service offers. A row without a method does not exist for callers. */
export type Methods = Partial<Record<OperationName, Method>>;

export function isDocument(answer: Answer | Document): answer is Document {
  return 'etag' in answer;
}

/** Answers one call. Never rejects. */
export async function perform(
  name: OperationName,
  method: Method,
  ask: Ask,
  { log, platform }: { readonly log: Logger; readonly platform: Platform },
): Promise<Answer | Document> {
  try {
    return await method(ask);
  } catch (error) {
    const found = failureOf(name, error, log);
    const isInvocation = name === 'invoke' || name === 'test';
    return { body: failureAnswer(platform, found, isInvocation), failure: found };
  }
}

/** The request of an operation, checked against its row. */
export function requestOf<Name extends OperationName>(
  name: Name,
  ask: Pick<Ask, 'input'>,
): RequestOf<Name> {
  const parsed = operations[name].request.safeParse(ask.input());
  if (parsed.success) return parsed.data as RequestOf<Name>;

  const faults = parsed.error.issues.slice(0, FAULTS_SHOWN_MAX).map((issue) => {
    const place = issue.path.join('.');
    return shortened(place ? `${place}: ${issue.message}` : issue.message);
  });
  const detail = `Cannot read the request of ${name}: ${faults.join('; ')}`;
  throw new Refusal(failure('invalid_parameters', detail));
}

/** A body with a thousand faults is answered with the first few. */
const FAULTS_SHOWN_MAX = 8;

/** Characters of one fault. It may quote what was sent, and an entry has to hold it. */
const FAULT_LENGTH_MAX = 200;

function shortened(text: string): string {
  const letters = [...text];
  return letters.length <= FAULT_LENGTH_MAX
    ? text
    : `${letters.slice(0, FAULT_LENGTH_MAX).join('')}…`;
}

/** What a request gets that no operation answered. */
export function failureAnswer(
  platform: Platform,
  found: Failure,
  isInvocation: boolean,
): FailureAnswer {
  return isInvocation ? unreadFailure(platform, found) : { success: false, failure: found };
}

/** A call that ended before anything of it was read. It left no entry, but its answer has a name. */
export function unreadFailure(platform: Platform, found: Failure): FailureAnswer {
  return { success: false, invocation_id: newInvocationId(platform), failure: found };
}

export function failureOf(name: OperationName | 'metrics', error: unknown, log: Logger): Failure {
  if (error instanceof Refusal) return error.failure;
  if (error instanceof LogWithheld) {
    return failure('service_unavailable', `Cannot answer ${name}: ${error.message}`);
  }
  if (error instanceof StoreUnavailable) {
    log.error({ operation: name, err: error }, 'store unavailable');
    const detail = `Cannot answer ${name}: the store is not available; nothing happened`;
    return failure('service_unavailable', detail, { estimated_availability: 'PT1S' });
  }
  if (error instanceof OutcomeUnknown) {
    log.error({ operation: name, err: error }, 'outcome unknown');
    return failure(
      'outcome_unknown',
      `Cannot report the outcome of ${name}: the store did not answer`,
    );
  }
  log.error({ operation: name, err: error }, 'defect');
  return failure('internal_error', `Cannot complete ${name}: internal error`);
}
