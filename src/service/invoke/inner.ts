/**
 * Inner calls: what the handler of a call may call, how often, and until when.
 *
 * An inner call is an invocation of its own (`invokeWithin` in `invoke.ts`). This file decides only whether the handler
 * may make it at all; where it may not, the promise rejects with a sentence, after a pause: a handler may catch
 * the error and try again in a loop. A call from outside and all calls below it share one count, so their number is
 * bounded whatever the handlers do. The slots belong to one handler: a call never waits for a slot that its own caller
 * holds.
 *
 * @module
 */

import { calledBy } from '../../domain/catalog/called.ts';
import { foreignMember, readForeignName, readForeignObject } from '../../domain/wire/foreign.ts';
import { BODY_LIMITS } from '../../domain/wire/json.ts';
import { pause } from '../../platform.ts';
import type { InvokeAnswer } from '../../protocol/invocation.ts';
import { ID_LENGTH_MAX, type JsonObject } from '../../protocol/primitives.ts';
import type { Eventual } from '../../steps.ts';
import { capabilityOf } from '../author/definition.ts';
import type { Enclosing, HandledCall } from '../call/call.ts';
import { presentedBy } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Deadline } from '../pace/deadline.ts';
import { containsLent, LENT } from './lent-tokens.ts';

/** Calls below one call from outside. More work than this belongs in a job that a capability starts. */
const CALLS_MAX = 100;

/** Calls of one handler at once: enough to wait for several, few enough that many handlers do not flood the store. */
const AT_ONCE_MAX = 8;

/** In milliseconds, before a refusal: timers and sockets run meanwhile. */
const REFUSAL_PAUSE_MS = 1;

/** The same after the deadline or the end of the handler. */
const LATE_PAUSE_MS = 100;

/** What the handler asks for, and the ids that tie it to the call of the handler. */
export interface InnerRequest {
  readonly capability: string;
  readonly parameters: JsonObject;
  readonly parent_invocation_id: string;
  readonly task_id?: string | undefined;
}

/** The parts of whatever runs handlers. The runtime adds the way back into an invocation. */
export interface HandlerParts extends ServiceParts {
  /** Answers; throws only for a defect. */
  readonly invokeWithin: (request: InnerRequest, within: Enclosing) => Eventual<InvokeAnswer>;
}

/** The handler that makes the calls. */
interface Maker {
  readonly capability: string;
  /** Absent for a call that was not admitted, because it only reads. */
  readonly operationId?: string | undefined;
}

/** How far the run of the handler has come. */
interface Run {
  readonly deadline: Deadline;
  /** The tokens of people that the handler got so far. */
  readonly lent: readonly string[];
  readonly hasEnded: boolean;
  /** A call that the handler made had an effect. */
  hasActed: boolean;
}

export interface InnerCalls {
  /** Begins a call. Both arguments are foreign values. */
  make(target: unknown, parameters: unknown): Promise<InvokeAnswer>;
  /** Resolves when every call that was made has ended. Never rejects. */
  ended(): Promise<void>;
}

export function createInnerCalls(
  parts: HandlerParts,
  call: HandledCall,
  maker: Maker,
  run: Run,
): InnerCalls {
  const { platform } = parts;
  const { ids, caller, within: outer } = call;
  const open = new Set<Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let running = 0;
  const hold = (work: Promise<unknown>) => {
    const done = () => void open.delete(work);
    open.add(work);
    work.then(done, done);
  };
  const within: Enclosing = {
    presented: outer?.presented ?? presentedBy(parts, caller),
    made: outer?.made ?? { count: 0 },
    leasedBy: outer?.leasedBy ?? maker.operationId,
    leftMs: () => run.deadline.endsAt - platform.monotonic(),
    acted: () => {
      run.hasActed = true;
    },
    hold,
  };

  const hasPassed = () => run.deadline.hasPassed || within.leftMs() <= 0;

  /** Why the handler may call nothing now. */
  function obstacle(): string | undefined {
    if (run.hasEnded) return 'its handler has ended';
    if (hasPassed()) return PASSED;
    return within.made.count < CALLS_MAX ? undefined : TOO_MANY;
  }

  /** Reads the parameters last: a call that is refused anyway costs no copy of them. */
  function requestOf(target: unknown, given: unknown): InnerRequest | { readonly fault: string } {
    const { capability, fault = obstacle() } = targetOf(parts, maker, target);
    const cannot = (why: string) => ({ fault: `Cannot call "${capability}": ${why}` });
    if (fault !== undefined) return cannot(fault);
    within.made.count += 1;
    const reading = readForeignObject(given ?? {}, BODY_LIMITS);
    if ('fault' in reading) return cannot(`its parameters: ${reading.fault}`);
    if (containsLent(run.lent, reading.value)) return cannot(LENT);
    const { invocation_id: parent_invocation_id, task_id } = ids;
    return { capability, parameters: reading.value, parent_invocation_id, task_id };
  }

  /** A slot goes from the call that ends to the one that waits longest. All end by the deadline. */
  async function inTurn(request: InnerRequest): Promise<InvokeAnswer> {
    if (running < AT_ONCE_MAX) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      if (hasPassed()) throw new Error(`Cannot call "${request.capability}": ${PASSED}`);
      return await parts.invokeWithin(request, within);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  }

  async function refused(fault: string): Promise<never> {
    const isLate = run.hasEnded || hasPassed();
    await pause(platform, isLate ? LATE_PAUSE_MS : REFUSAL_PAUSE_MS);
    throw new Error(fault);
  }

  return {
    make(target, given) {
      const request = requestOf(target, given);
      const making = 'fault' in request ? refused(request.fault) : inTurn(request);
      if (!('fault' in request)) hold(making);
      // A handler need not await its calls, so a rejection must not end the process.
      making.catch(() => undefined);
      return making;
    },
    async ended() {
      while (open.size > 0) await Promise.allSettled(open);
    },
  };
}

const PASSED = 'the deadline has passed';
const TOO_MANY = `a call makes at most ${CALLS_MAX} calls, together with those below it`;

/** The capability that a handler names, by its name or as `defineCapability()` returned it. */
function targetOf(
  { definition }: ServiceParts,
  { capability: maker }: Maker,
  target: unknown,
): { readonly capability: string; readonly fault?: string } {
  const named = typeof target === 'string' ? target : foreignMember(target, 'name');
  const name = readForeignName(named, ID_LENGTH_MAX);
  if ('fault' in name) return { capability: '', fault: `the name of a capability: ${name.fault}` };
  const capability = name.value;
  const declared = capabilityOf(definition, maker);
  if (declared && calledBy(declared).includes(capability)) return { capability };
  const fault = `"requires" of "${maker}" does not name it with called_by: "handler"`;
  return { capability, fault };
}
