/**
 * Tracing: names the steps of a call, so that an operator sees where its time goes.
 *
 * This is a port: the tracer decides how spans travel. A span contains ids and names of the
 * service, never text of a caller. Without a tracer each step only runs.
 *
 * @module
 */

import { type Eventual, run, type Steps, wait } from '../../steps.ts';

/** The span of the caller, from its `traceparent` header. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

type Facts = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** Runs a function inside this span: steps that begin there are its children. */
  within<Result>(run: () => Result): Result;
  note(facts: Facts): void;
  end(): void;
}

export interface Tracer {
  /** The span of a whole call, a child of the span that the caller named. */
  call(name: string, parent?: TraceParent): Span;
  /** A step of the current call; no span outside of a call. */
  step(name: string): Span;
}

export const NO_SPAN: Span = {
  within: (run) => run(),
  note: () => undefined,
  end: () => undefined,
};

export const NO_TRACER: Tracer = { call: () => NO_SPAN, step: () => NO_SPAN };

/** Runs steps as a span, where there is a tracer. */
export function traced<Result>(tracer: Tracer, name: string, steps: Steps<Result>): Steps<Result> {
  if (tracer === NO_TRACER) return steps;
  return wait(spanned(tracer, name, () => run(steps)));
}

/** Runs steps inside a span. */
export function withinSpan<Result>(span: Span, steps: Steps<Result>): Steps<Result> {
  return span === NO_SPAN ? steps : wait(span.within(() => run(steps)));
}

/** Does one piece of work as a span. An error is noted by its name, never by its message. */
export async function spanned<Result>(
  tracer: Tracer,
  name: string,
  work: () => Eventual<Result>,
): Promise<Result> {
  const span = tracer.step(name);
  try {
    return await span.within(work);
  } catch (error) {
    span.note({ 'error.type': error instanceof Error ? error.name : 'unknown' });
    throw error;
  } finally {
    span.end();
  }
}
