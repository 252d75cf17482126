/**
 * Runs a handler: with its context, within its deadline, and with every way it can end told apart.
 *
 * @module
 */

import { amended } from '../domain/amended.ts';
import type { BindingFacts } from '../domain/bindings.ts';
import { type Charge, chargeFrom } from '../domain/budget.ts';
import { failure } from '../domain/failure.ts';
import { copyOf, isObject, type JsonLimits, readJson } from '../domain/json.ts';
import { fromMinor } from '../domain/money.ts';
import { type Failure, FailureType } from '../protocol/failure.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { BindingRecord } from '../storage/records.ts';
import type { Call } from './call.ts';
import type { TokenCaller } from './caller.ts';
import { beforeLate, createDeadline, type Deadline, LATE } from './deadline.ts';
import {
  ApprovalNeeded,
  type Handler,
  type HandlerContext,
  HandlerFailure,
  NoEffect,
} from './define.ts';
import type { Parts } from './parts.ts';
import { newId } from './random.ts';

/**
 * A result is an answer in memory and perhaps in the store; more belongs behind a link in it. Every
 * reader has to read it alike, and clients read no more levels and keys than twice and ten times this.
 */
const RESULT_LIMITS: JsonLimits = { bytes: 1_048_576, depth: 32, keys: 100_000 };

/** A call that pins more is a catalog, and a catalog is no binding. */
const BINDINGS_PER_CALL_MAX = 1_000;

/** A binding pins a few facts; all those of a call are kept in one step. */
const BINDING_LIMITS: JsonLimits = { bytes: 8_192, depth: 32, keys: 1_000 };

export interface Work {
  readonly handler: Handler;
  readonly parameters: JsonObject;
  readonly bound: ReadonlyMap<string, BindingFacts>;
  /** Whether the capability declares a policy, and whether this call has a grant in hand. */
  readonly approval: 'undeclared' | 'open' | 'granted';
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

/** Runs a handler to its end, however long it takes. Never rejects. */
export function runHandler(
  parts: Parts,
  call: Pick<Call, 'ids'> & { caller: TokenCaller },
  work: Work,
  deadline: Deadline,
): Promise<Done> {
  const notes: Notes = { bindings: [] };
  const context = contextOf(parts, call, work, { deadline, notes });
  // The handler starts in a promise, so that one that throws at once ends like one that rejects.
  return Promise.resolve()
    .then(() => work.handler(copyOf(work.parameters), context))
    .then(
      (result) => completed(parts, result, noted(notes)),
      (error: unknown) => broken(parts, error, noted(notes)),
    );
}

/** Lets something run until its deadline; what then becomes of it is told later. */
export async function withinDeadline(
  deadlineMs: number,
  run: (deadline: Deadline) => Promise<Done>,
): Promise<Done> {
  const deadline = createDeadline();
  const ended = run(deadline);
  const first = await beforeLate(ended, deadlineMs);
  if (first !== LATE) return first;

  deadline.pass(new Error(`Cannot go on: the deadline of ${deadlineMs} ms has passed`));
  const detail = `Cannot say what became of the call: the handler took longer than ${deadlineMs} ms`;
  return {
    outcome: 'indeterminate',
    failure: failure('outcome_unknown', detail),
    bindings: [],
    late: ended,
  };
}

interface Notes {
  reported?: Charge | undefined;
  readonly bindings: BindingRecord[];
}

/** As they stand when the handler ends: one that goes on in secret pins and reports nothing more. */
function noted({ bindings, ...rest }: Notes): Notes {
  return amended(rest, { bindings: [...bindings] });
}

/** A result as it will be answered, or the failure of one that cannot be. */
export function completed(parts: Parts, returned: unknown, notes: Notes): Done {
  const read = readResult(returned);
  if ('result' in read) return { outcome: 'completed', result: read.result, ...notes };
  parts.log.error({ fault: read.fault }, 'a handler returned what cannot be answered');
  return { outcome: 'failed', failure: broke(), ...notes };
}

function broken(parts: Parts, error: unknown, notes: Notes): Done {
  if (error instanceof ApprovalNeeded) {
    const needed = failure('approval_required', error.message);
    return { outcome: 'no_effect', failure: needed, needsApproval: true, bindings: [] };
  }
  // Code without types may name a failure that does not exist; that is a defect like any other.
  const spoken = error instanceof NoEffect || error instanceof HandlerFailure ? error : undefined;
  const type = FailureType.safeParse(spoken?.type);
  if (!spoken || !type.success || !maySay(spoken, type.data)) {
    parts.log.error({ err: error }, 'a handler broke');
    return { outcome: 'failed', failure: broke(), ...notes };
  }
  const told = failure(type.data, readable(spoken.message));
  if (spoken instanceof NoEffect) return { outcome: 'no_effect', failure: told, bindings: [] };
  const outcome = type.data === 'outcome_unknown' ? 'indeterminate' : 'failed';
  return { outcome, failure: told, ...notes };
}

/** Words may come from anywhere; what no reader takes stands replaced in them. */
function readable(message: string): string {
  return Buffer.from(String(message).replaceAll('\0', '\ufffd')).toString();
}

/** What only the service can mean: who asks, what was approved, which call a key belongs to. */
const OF_THE_SERVICE: ReadonlySet<FailureType> = new Set([
  'authentication_required',
  'invalid_token',
  'token_expired',
  'approval_required',
  'approval_grant_invalid',
  'approval_request_decided',
  'approval_request_expired',
  'frozen',
  'idempotency_in_progress',
  'idempotency_mismatch',
]);

/** "Nothing ran" is for a handler that did nothing, and "nobody knows" for one that did something. */
function maySay(error: NoEffect | HandlerFailure, type: FailureType): boolean {
  if (OF_THE_SERVICE.has(type)) return false;
  return type !== (error instanceof NoEffect ? 'outcome_unknown' : 'service_unavailable');
}

/** A handler's own words may carry what is inside; the caller gets none of them. */
function broke(): Failure {
  return failure('internal_error', 'Cannot complete the invocation: internal error');
}

function contextOf(
  parts: Parts,
  { ids, caller }: Pick<Call, 'ids'> & { caller: TokenCaller },
  work: Work,
  { deadline, notes }: { deadline: Deadline; notes: Notes },
): HandlerContext {
  const { token } = caller;
  return Object.freeze({
    principal: caller.principal,
    root_principal: caller.root_principal,
    caller_class: caller.caller_class,
    token: Object.freeze({
      token_id: token.token_id,
      scope: Object.freeze([...token.scope]),
      purpose: copyOf(token.purpose),
      depth: token.depth,
      expires_at: new Date(token.expires_at),
    }),
    bindings: boundViews(work.bound),
    log: logOf(parts, ids),
    issueBinding: (wanted) => issueBinding(parts, caller, notes, wanted),
    progress: (event) => work.progress(event),
    cost(amount) {
      notes.reported = chargeFrom(amount);
    },
    requireApproval: () => requireApproval(work),
    // Made when it is asked for: most handlers end without a look at it.
    get signal() {
      return deadline.signal;
    },
    ...ids,
  } satisfies HandlerContext);
}

/** Names the call in each line. The logger that does is made for the first: most handlers say nothing. */
function logOf(parts: Parts, { invocation_id }: Call['ids']): HandlerContext['log'] {
  let child: HandlerContext['log'] | undefined;
  const log = () => {
    child ??= parts.log.child({ invocation_id });
    return child;
  };
  return Object.freeze({
    info: (facts: object, message: string) => log().info(facts, message),
    warn: (facts: object, message: string) => log().warn(facts, message),
  });
}

function requireApproval({ approval }: Work): void {
  if (approval === 'granted') return;
  if (approval === 'open') throw new ApprovalNeeded('Cannot go on: a person has to approve first');
  throw new Error('Cannot ask for approval: the capability declares no policy');
}

function issueBinding(
  parts: Parts,
  { root_principal }: TokenCaller,
  notes: Notes,
  wanted: Parameters<HandlerContext['issueBinding']>[0],
): string {
  if (notes.bindings.length >= BINDINGS_PER_CALL_MAX) {
    throw new Error(`Cannot issue another binding: one call issues ${BINDINGS_PER_CALL_MAX}`);
  }
  const binding_id = newId('bnd_');
  notes.bindings.push({
    binding_id,
    type: String(wanted.type),
    capability: String(wanted.capability),
    root_principal,
    price: wanted.price && chargeFrom(wanted.price),
    data: keepable(wanted.data ?? {}),
    issued_at: parts.store.now(),
  });
  return binding_id;
}

/** A copy that every store can keep: what cannot be kept must fail here, not after the effect. */
function keepable(data: JsonObject): JsonObject {
  const reading = readJson(JSON.stringify(data), BINDING_LIMITS);
  if ('fault' in reading) throw new Error(`Cannot issue a binding: ${reading.fault}`);
  return reading.value as JsonObject;
}

function boundViews(bound: ReadonlyMap<string, BindingFacts>): HandlerContext['bindings'] {
  return Object.fromEntries(
    [...bound].map(([field, { data, price }]) => [
      field,
      {
        data: copyOf(data),
        ...(price && {
          price: { currency: price.currency, amount: fromMinor(price.amount, price.currency) },
        }),
      },
    ]),
  );
}

/** The result as it will be read: a copy, so that nothing the handler keeps can change it any more. */
function readResult(returned: unknown): { result: JsonObject } | { fault: string } {
  try {
    const reading = readJson(JSON.stringify(returned), RESULT_LIMITS);
    if ('fault' in reading) return reading;
    return isObject(reading.value) ? { result: reading.value } : { fault: 'expected an object' };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
