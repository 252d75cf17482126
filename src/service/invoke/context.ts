/**
 * The context of a handler: what it is given, and what it may pass back while it runs.
 *
 * Everything a handler passes is untrusted. It is read once, within limits, before it is stored. A
 * value that cannot be stored throws inside the handler. Every method of the context is bounded, so
 * a handler that loops over one neither blocks the event loop nor fills the memory.
 *
 * @module
 */

import type { BindingFacts } from '../../domain/invocation/bindings.ts';
import { type Charge, chargeFrom } from '../../domain/invocation/budget.ts';
import {
  foreignMember,
  isForeignError,
  readForeign,
  readForeignName,
  readForeignObject,
} from '../../domain/wire/foreign.ts';
import { copyOf, type JsonLimits } from '../../domain/wire/json.ts';
import { redactedText, redactedValue } from '../../domain/wire/redaction.ts';
import { type Platform, pause } from '../../platform.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { BindingRecord } from '../../storage/port/records.ts';
import {
  ApprovalNeeded,
  type Handler,
  type HandlerContext,
  type InnerAnswer,
} from '../author/handler.ts';
import type { Call, HandledCall } from '../call/call.ts';
import { boundViews } from '../call/price-context.ts';
import type { TokenCaller } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newBindingId } from '../operations/random.ts';
import type { Deadline } from '../pace/deadline.ts';
import { createInnerCalls, type HandlerParts, type InnerCalls } from './inner.ts';
import { containsLent, isErrorWithLent, LENT } from './lent-tokens.ts';

/** Bounds what one call can store. */
const BINDINGS_PER_CALL_MAX = 1_000;

/** Bounds the data of one binding. All bindings of a call are stored in one transaction. */
const BINDING_LIMITS: JsonLimits = { bytes: 8_192, depth: 32, keys: 1_000 };

/** UTF-16 units of the type of a binding and of its capability. */
const BINDING_NAME_LENGTH_MAX = 256;

/** Cost reports in one call. The last one counts; more than this is a defect of the handler. */
const COSTS_PER_CALL_MAX = 1_000;

/**
 * Bounds one progress event, which proxies pass in one piece. Larger data belongs in the result.
 */
const EVENT_LIMITS: JsonLimits = { bytes: 65_536, depth: 32, keys: 10_000 };

/** Events of one call that wait to be sent. More are dropped (decision 03). */
const EVENTS_WAITING_MAX = 16;

/** Events sent in the next turn. Later ones of the same call are a millisecond apart. */
const EVENTS_AT_ONCE_MAX = 100;

/** In milliseconds: slows a handler that sends events after its deadline. */
const LATE_PAUSE_MS = 100;

/** Facts of one line of a handler's log, and lines of one call. */
const LINE_LIMITS: JsonLimits = { bytes: 8_192, depth: 8, keys: 200 };
const LINE_LENGTH_MAX = 1_000;
const LINES_PER_CALL_MAX = 1_000;

/** Tokens of people that one call gets. */
const ACCOUNTS_PER_CALL_MAX = 100;

/** What a call runs with. */
export interface Given {
  readonly deadline: Deadline;
  readonly notes: Notes;
  /** The tokens of people that the handler got so far. */
  readonly lent: string[];
  /** The calls that the handler made so far. */
  inner?: InnerCalls | undefined;
  /** The handler has returned or thrown. It may still have its context. */
  hasEnded: boolean;
  /** A call that the handler made had an effect. */
  hasActed: boolean;
}

/** What a handler has reported and issued so far. */
export interface Notes {
  reported?: Charge | undefined;
  readonly bindings: BindingRecord[];
}

export function handlerContext(
  parts: HandlerParts,
  call: HandledCall,
  work: Work,
  given: Given,
): HandlerContext {
  const { ids, caller } = call;
  const { deadline, notes, lent } = given;
  const { token } = caller;
  const context = {
    [SIGNAL_OF]: () => deadline.signal,
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
    log: logOf(parts, ids, lent),
    issueBinding: (wanted) => issueBinding(parts, caller, { notes, lent }, wanted),
    progress: progressOf(parts.platform, work, { deadline, lent }),
    cost: costOf(notes),
    requireApproval: () => requireApproval(work),
    account: (name) => tokenFor(parts, caller, lent, name),
    invoke: (capability: unknown, parameters: unknown) => {
      given.inner ??= createInnerCalls(parts, call, work, given);
      // Safe: the types of the parameters and of the result are those that the capability declares.
      return given.inner.make(capability, parameters) as Promise<InnerAnswer<never>>;
    },
  } satisfies Omit<HandlerContext, 'signal' | keyof Call['ids']> & Aborted;
  Object.assign(context, ids);
  Object.defineProperty(context, 'signal', SIGNAL);
  return Object.freeze(context as typeof context & Call['ids'] & Pick<HandlerContext, 'signal'>);
}

const SIGNAL_OF = Symbol('signal');

/** A function: a handler can read every member of its context, and could end a deadline that it reaches. */
interface Aborted {
  readonly [SIGNAL_OF]: () => AbortSignal;
}

/**
 * Created on first use: most handlers never read it. All contexts share one getter: with one of its own, each context
 * would get a hidden class of its own.
 */
const SIGNAL = {
  get(this: Aborted): AbortSignal {
    return this[SIGNAL_OF]();
  },
  enumerable: true,
};

/**
 * Sends progress events. A handler may await them in a loop, and promises alone never let timers
 * and sockets run. So each event waits at least for the next turn. The deadline ends such a loop.
 */
function progressOf(
  platform: Platform,
  { progress }: Work,
  { deadline, lent }: Pick<Given, 'deadline' | 'lent'>,
): HandlerContext['progress'] {
  let waiting = 0;
  let begun = 0;
  let turn: Promise<void> | undefined;

  function nextTurn(): Promise<void> {
    turn ??= new Promise((resolve) => {
      platform.turn(() => {
        turn = undefined;
        resolve();
      });
    });
    return turn;
  }

  async function send(event: JsonObject): Promise<void> {
    if (waiting >= EVENTS_WAITING_MAX) return nextTurn();
    const reading = readForeign(event, EVENT_LIMITS);
    waiting += 1;
    begun += 1;
    try {
      // Waits before a refusal too: a handler may catch the error and go on.
      await (begun > EVENTS_AT_ONCE_MAX ? pause(platform, 1) : nextTurn());
      if (!deadline.hasPassed) {
        if ('fault' in reading) throw new RangeError(`Cannot send progress: ${reading.fault}`);
        if (containsLent(lent, reading.value)) throw new Error(`Cannot send progress: ${LENT}`);
        return await progress(reading.value as JsonObject);
      }
      await pause(platform, LATE_PAUSE_MS);
    } finally {
      waiting -= 1;
    }
    throw new Error('Cannot send progress: the deadline has passed');
  }

  return (event) => {
    const sending = send(event);
    // A handler need not await its events, so a rejection must not end the process.
    sending.catch(() => undefined);
    return sending;
  };
}

function costOf(notes: Notes): HandlerContext['cost'] {
  let reports = 0;
  return (amount) => {
    reports += 1;
    if (reports > COSTS_PER_CALL_MAX) {
      throw new Error(`Cannot report another cost: one call reports ${COSTS_PER_CALL_MAX}`);
    }
    notes.reported = foreignCharge(amount);
  };
}

/** Reads an amount from author code. Throws inside that code when it cannot be read. */
export function foreignCharge(amount: unknown): Charge {
  return chargeFrom({
    currency: foreignMember(amount, 'currency') as string,
    amount: foreignMember(amount, 'amount') as number,
  });
}

function issueBinding(
  parts: ServiceParts,
  { root_principal }: TokenCaller,
  { notes, lent }: Pick<Given, 'notes' | 'lent'>,
  wanted: unknown,
): string {
  if (notes.bindings.length >= BINDINGS_PER_CALL_MAX) {
    throw new Error(`Cannot issue another binding: one call issues ${BINDINGS_PER_CALL_MAX}`);
  }
  const name = (field: string) => {
    const reading = readForeignName(foreignMember(wanted, field), BINDING_NAME_LENGTH_MAX);
    if ('value' in reading) return reading.value;
    throw new TypeError(`Cannot issue a binding: "${field}": ${reading.fault}`);
  };
  const price = foreignMember(wanted, 'price') ?? undefined;
  const now = parts.store.now();
  const binding: BindingRecord = {
    binding_id: newBindingId(parts.platform, now),
    type: name('type'),
    capability: name('capability'),
    root_principal,
    price: price === undefined ? undefined : foreignCharge(price),
    data: bindingData(foreignMember(wanted, 'data')),
    issued_at: now,
  };
  const { type, capability, data } = binding;
  if (containsLent(lent, [type, capability, data])) {
    throw new Error(`Cannot issue a binding: ${LENT}`);
  }
  notes.bindings.push(binding);
  return binding.binding_id;
}

/** A copy that every store can store. Data that cannot be stored fails here, before the effect. */
export function bindingData(data: unknown): JsonObject {
  const reading = readForeignObject(data ?? {}, BINDING_LIMITS);
  if ('value' in reading) return reading.value;
  throw new TypeError(`Cannot issue a binding: "data": ${reading.fault}`);
}

async function tokenFor(
  { accounts }: ServiceParts,
  { root_principal }: TokenCaller,
  lent: string[],
  name: unknown,
): Promise<string> {
  if (lent.length >= ACCOUNTS_PER_CALL_MAX) {
    throw new Error(`Cannot use another account: one call uses ${ACCOUNTS_PER_CALL_MAX}`);
  }
  if (!accounts) throw new Error('Cannot use an account: the service declares none');
  const token = await accounts.tokenOf(root_principal, String(name));
  lent.push(token);
  return token;
}

function requireApproval({ approval }: Work): void {
  if (approval === 'granted') return;
  if (approval === 'open')
    throw new ApprovalNeeded('Cannot continue: a person must approve the call first');
  throw new Error('Cannot ask for approval: the capability declares no policy');
}

/**
 * The log of a handler. Each line has the id of the call. The logger is created for the first line:
 * most handlers write none.
 */
function logOf(
  parts: ServiceParts,
  { invocation_id }: Call['ids'],
  lent: readonly string[],
): HandlerContext['log'] {
  let child: ServiceParts['log'] | undefined;
  let lines = 0;
  const write = (level: 'info' | 'warn', facts: unknown, message: unknown) => {
    lines += 1;
    if (lines > LINES_PER_CALL_MAX) return;
    child ??= parts.log.child({ invocation_id });
    if (lent.length > 0 && isLentIn(lent, facts, message)) {
      child.warn({}, 'a line of a handler is left out: it contains the token of a person');
    } else if (lines < LINES_PER_CALL_MAX) {
      child[level](lineFacts(facts), redactedText(message, LINE_LENGTH_MAX));
    } else {
      child.warn({}, `a handler wrote ${LINES_PER_CALL_MAX} lines; the rest is left out`);
    }
  };
  return Object.freeze({
    info: (facts: object, message: string) => write('info', facts, message),
    warn: (facts: object, message: string) => write('warn', facts, message),
  });
}

/** Whether a line would show a token. The log also writes the text of an error. */
function isLentIn(lent: readonly string[], facts: unknown, message: unknown): boolean {
  const reading = readForeignObject(facts, LINE_LIMITS);
  const texts = [
    'value' in reading ? reading.value : {},
    typeof message === 'string' ? message : '',
  ];
  return containsLent(lent, texts) || isErrorWithLent(lent, foreignMember(facts, 'err'));
}

/** The log formats an error by its own rules; JSON would lose it. */
function lineFacts(facts: unknown): object {
  const reading = readForeignObject(facts, LINE_LIMITS);
  const err = foreignMember(facts, 'err');
  return {
    ...('value' in reading ? redactedValue(reading.value) : { unreadable: reading.fault }),
    ...(isForeignError(err) && { err }),
  };
}

export interface Work {
  readonly handler: Handler;
  readonly parameters: JsonObject;
  readonly bound: ReadonlyMap<string, BindingFacts>;
  /** Whether the capability declares an approval policy, and whether this call has a grant. */
  readonly approval: 'undeclared' | 'open' | 'granted';
  /** Failure types of the capability, besides those of the protocol. */
  readonly failureTypes?: Capability['failure_types'];
  readonly capability: string;
  /** Absent when the call was not admitted, because it only reads. */
  readonly operationId?: string | undefined;
  /** Sends an event that was read. Never rejects. */
  progress(event: JsonObject): Promise<void>;
}
