/**
 * The code behind a capability: its handler, what the handler is given, and what it may throw.
 *
 * @module
 */

import type { FailureType, OwnFailureType } from '../../protocol/failure.ts';
import type { InvokeFailure, InvokeSuccess } from '../../protocol/invocation.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import type { CapabilityTypes } from '../../protocol/typed.ts';
import type { PinnedBinding } from './typed.ts';

/** The bindings of a capability whose requirements the type checker does not know. */
export type AnyBindings = Readonly<Record<string, PinnedBinding>>;

/**
 * Does the work of a capability, after every check has passed.
 *
 * @example
 * import { type Handler, NoEffect } from 'writ';
 *
 * const cancel: Handler<{ order_id: string }> = ({ order_id }, context) => {
 *   if (order_id === '') throw new NoEffect('Cannot cancel: there is no such order');
 *   context.log.info({ order_id }, 'cancelled');
 *   return { order_id, state: 'cancelled' };
 * };
 */
export type Handler<Parameters = JsonObject, Returned = JsonObject, Bindings = AnyBindings> = (
  parameters: Parameters,
  context: HandlerContext<Bindings>,
) => Returned | Promise<Returned>;

/**
 * Returns what exactly this call costs, before anything happens. The amount lies within the declared
 * range.
 *
 * @example
 * import type { Price } from 'writ';
 *
 * const fare: Price<{ km: number }> = ({ km }) => ({ currency: 'USD', amount: 5 + km * 2 });
 */
export type Price<Parameters = JsonObject, Bindings = AnyBindings> = (
  parameters: Parameters,
  context: PriceContext<Bindings>,
) => Money | Promise<Money>;

/**
 * Who asks for a price, and what the required bindings pinned.
 *
 * @example
 * import type { PriceContext } from 'writ';
 *
 * const isPartner = ({ caller_class }: PriceContext) => caller_class === 'partner';
 */
export type PriceContext<Bindings = AnyBindings> = Pick<
  HandlerContext<Bindings>,
  'principal' | 'root_principal' | 'caller_class' | 'bindings'
>;

/**
 * What a handler is given besides its parameters. Nothing here widens authority.
 *
 * @example
 * import type { HandlerContext } from 'writ';
 *
 * function charge({ cost, log }: HandlerContext, amount: number) {
 *   log.info({ amount }, 'charged');
 *   cost({ currency: 'USD', amount });
 * }
 */
export interface HandlerContext<Bindings = AnyBindings> {
  readonly invocation_id: string;
  readonly client_reference_id?: string | undefined;
  readonly task_id?: string | undefined;
  readonly parent_invocation_id?: string | undefined;
  readonly principal: string;
  readonly root_principal: string;
  readonly caller_class: string;
  readonly token: {
    readonly token_id: string;
    readonly scope: readonly string[];
    readonly purpose: Readonly<JsonObject>;
    readonly depth: number;
    readonly expires_at: Date;
  };
  /** Aborts at the deadline. The caller has then been answered that the outcome is unknown. */
  readonly signal: AbortSignal;
  /** What the required bindings pinned, by the field that carried them. */
  readonly bindings: Bindings;
  readonly log: {
    info(facts: object, message: string): void;
    warn(facts: object, message: string): void;
  };
  /** Pins a price or a fact for a later call of `capability` by the same root principal. */
  issueBinding(binding: {
    type: string;
    capability: string;
    price?: Money;
    data?: JsonObject;
  }): string;
  /**
   * Sends a progress event to a streaming caller. Resolves when the event was taken or dropped,
   * never in the same turn of the event loop. Rejects once the deadline has passed.
   */
  progress(event: JsonObject): Promise<void>;
  /**
   * Reports what the call really cost. At most the reserved amount is charged; the rest becomes
   * debt.
   */
  cost(amount: Money): void;
  /**
   * Returns when this call was approved. Otherwise it throws, and the call ends without effect and
   * asks for approval. Only for a capability that declares an approval policy.
   */
  requireApproval(): void;
  /**
   * The access token of the person at the root of the delegation, for an account that the service declares. It is
   * for requests to that other service only: the service refuses a result that contains it. Without a connected
   * account it throws, and the call ends without effect and tells the caller where the person connects one; so call
   * it before anything has an effect.
   */
  account(name: string): Promise<string>;
  /**
   * Calls another capability of this service, under the same token and task, with every check, budget and entry of a
   * call of its own. The capability stands in `requires` with `called_by: 'handler'`. Resolves with its answer, also
   * with that of a refused or failed call. Rejects where the handler may not make the call at all.
   */
  invoke<Types extends CapabilityTypes>(
    capability: Callable<Types>,
    parameters: Types['parameters'],
  ): Promise<InnerAnswer<Types['result']>>;
  invoke(capability: string, parameters: JsonObject): Promise<InnerAnswer>;
}

/** A capability that carries its types, as `defineCapability()` returns it. */
interface Callable<Types extends CapabilityTypes> {
  readonly name: string;
  readonly '~types'?: Types | undefined;
}

/**
 * The answer to a call that a handler made: that of a success with the result, or that of a failure.
 *
 * @example
 * import { HandlerFailure, type InnerAnswer } from 'writ';
 *
 * function receiptOf(sent: InnerAnswer<{ receipt: string }>): string {
 *   if (sent.success) return sent.result.receipt;
 *   throw new HandlerFailure(`Cannot confirm: ${sent.failure.detail}`, 'outcome_unknown');
 * }
 */
export type InnerAnswer<Result = JsonObject> =
  | (Omit<InvokeSuccess, 'result'> & { readonly result: Result })
  | InvokeFailure;

/** A list as a capability declares it in `failure_types`. */
type Declared = readonly { readonly type: string }[];

/** A type of the protocol, or one of the list that the type argument names. */
type NamedFailure<Own extends Declared> =
  | FailureType
  | OwnFailureType
  | NoInfer<Own[number]['type']>;

/**
 * Advice for the next step of the caller. Parts that cannot be read are left out of the answer.
 *
 * @example
 * import { type Advice, NoEffect } from 'writ';
 *
 * const soon: Advice = { requires: ['a free seat'], estimated_availability: 'PT5M' };
 * const full = new NoEffect('Cannot book: the flight is full', 'service_unavailable', soon);
 */
export interface Advice {
  /** What the caller needs first, each in a few words. At most sixteen. */
  readonly requires?: readonly string[];
  /** The principal that could lift the restriction. */
  readonly grantable_by?: string;
  /** `immediate`, a duration such as `PT5M`, or a time. */
  readonly estimated_availability?: string;
}

/**
 * Thrown by a handler that did nothing. The service gives back everything reserved for the call. A type of the
 * capability's own compiles only with the list that declares it.
 *
 * @example
 * import { type DeclaredFailure, NoEffect } from 'writ';
 *
 * const failures = [
 *   { type: 'sold_out', description: 'no seat is left', retry: false, action: 'revalidate_state' },
 * ] as const satisfies readonly DeclaredFailure[];
 *
 * function take(seats: Set<string>, id: string) {
 *   if (!seats.has(id)) throw new NoEffect(`Cannot find seat "${id}"`);
 *   if (!seats.delete(id)) throw new NoEffect<typeof failures>('Cannot book: no seat', 'sold_out');
 * }
 */
export class NoEffect<Own extends Declared = readonly []> extends Error {
  // Recognised by a private field: `instanceof` runs code of the thrown value, which may throw.
  readonly #isOurs = true;
  override readonly name = 'NoEffect';
  readonly type: string;
  readonly advice: Advice;

  static is(value: unknown): value is NoEffect {
    return typeof value === 'object' && value !== null && #isOurs in value;
  }

  constructor(detail: string, type: NamedFailure<Own> = 'invalid_parameters', advice: Advice = {}) {
    super(detail);
    this.type = type;
    this.advice = advice;
  }
}

/** Thrown by `requireApproval()`, for the service to catch. */
export class ApprovalNeeded extends Error {
  readonly #isOurs = true;
  override readonly name = 'ApprovalNeeded';

  static is(value: unknown): value is ApprovalNeeded {
    return typeof value === 'object' && value !== null && #isOurs in value;
  }
}

/**
 * Thrown by a handler that failed after it may have acted. The caller gets exactly this failure.
 *
 * @example
 * import { HandlerFailure } from 'writ';
 *
 * function refuse(): never {
 *   throw new HandlerFailure('Cannot tell whether the bank has paid', 'outcome_unknown');
 * }
 */
export class HandlerFailure<Own extends Declared = readonly []> extends Error {
  readonly #isOurs = true;
  override readonly name = 'HandlerFailure';
  readonly type: string;
  readonly advice: Advice;

  static is(value: unknown): value is HandlerFailure {
    return typeof value === 'object' && value !== null && #isOurs in value;
  }

  constructor(detail: string, type: NamedFailure<Own>, advice: Advice = {}) {
    super(detail);
    this.type = type;
    this.advice = advice;
  }
}
