/**
 * Watches one invocation for operators: its span, its time and its outcome.
 *
 * @module
 */

import type { RateState } from '../domain/rate.ts';
import type { InvokeAnswer } from '../protocol/invocation.ts';
import type { Call } from './call.ts';
import type { Ask } from './operations.ts';
import type { Parts } from './parts.ts';
import type { Span } from './tracing.ts';

export interface Watch {
  readonly span: Span;
  /** Filled in while the call is counted. */
  readonly rates: RateState[];
  /** Looks on while what is known of the call grows. */
  saw(call: Call): Call;
  end(answer: InvokeAnswer): void;
}

export function watchCall({ tracer, ended }: Parts, ask: Ask): Watch {
  const begun = performance.now();
  const span = tracer.call('invoke', ask.trace);
  let seen: Call | undefined;
  return {
    span,
    rates: [],
    saw(call) {
      seen = call;
      return call;
    },
    end(answer) {
      const capability = seen?.capability?.name;
      const outcome = answer.success ? 'success' : answer.failure.type;
      span.note({
        'writ.invocation_id': answer.invocation_id,
        'writ.outcome': outcome,
        ...(capability !== undefined && { 'writ.capability': capability }),
      });
      span.end();
      ended({ capability, outcome, seconds: (performance.now() - begun) / 1_000 });
    },
  };
}
