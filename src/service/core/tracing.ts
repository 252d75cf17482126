/**
 * Tracing: names the steps of a call, for whoever wants to see where its time went.
 *
 * A port: nothing here knows how spans travel. Facts on a span are names of ours and ids, never a
 * caller's words. Without a tracer every step just runs.
 *
 * @module
 */

import type { Store } from '../../storage/port/store.ts';

/** The span of the caller that this call belongs to, as `traceparent` names it. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

type Facts = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** Runs something as part of it: steps that begin there stand below it. */
  within<Result>(run: () => Result): Result;
  note(facts: Facts): void;
  end(): void;
}

export interface Tracer {
  /** A whole call, below the span its caller named. */
  call(name: string, parent?: TraceParent): Span;
  /** A step of the current call; nothing where there is none. */
  step(name: string): Span;
}

export const NO_SPAN: Span = {
  within: (run) => run(),
  note: () => undefined,
  end: () => undefined,
};

export const NO_TRACER: Tracer = { call: () => NO_SPAN, step: () => NO_SPAN };

/** Runs one step as a span. What it throws is noted by its kind, never by its words. */
export function traced<Result>(
  tracer: Tracer,
  name: string,
  run: () => Promise<Result>,
): Promise<Result> {
  return tracer === NO_TRACER ? run() : spanned(tracer, name, run);
}

async function spanned<Result>(
  tracer: Tracer,
  name: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const span = tracer.step(name);
  try {
    return await span.within(run);
  } catch (error) {
    span.note({ 'error.type': error instanceof Error ? error.name : 'unknown' });
    throw error;
  } finally {
    span.end();
  }
}

/** The trips of a call to the store. */
const STEPS: ReadonlySet<PropertyKey> = new Set([
  'load',
  'admit',
  'settle',
  'beginStep',
  'endStep',
  'append',
  'takePermits',
  'requestApproval',
]);

/** The same store, whose trips are steps of the call that takes them. */
export function tracedStore(store: Store, tracer: Tracer): Store {
  if (tracer === NO_TRACER) return store;
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (!STEPS.has(name)) return value;
      return (...args: unknown[]) =>
        traced<unknown>(tracer, `store.${String(name)}`, async () =>
          Reflect.apply(value, target, args),
        );
    },
  });
}
