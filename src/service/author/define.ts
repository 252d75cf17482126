/**
 * What a service author writes: the declaration of a capability and the code behind it.
 *
 * The declaration is public and goes into the manifest. Handler, deadline, preview and predicates
 * are private. The parameter types of the handler are inferred from the declared inputs, so a
 * handler that reads an undeclared input does not compile.
 *
 * The room has two more files. `definition.ts` checks all capabilities of a service together and
 * makes the definition that the other rooms use. `approval-policy.ts` checks approval policies.
 *
 * @module
 */

import type {
  BindingRequirement,
  DeclaredCapability as Declared,
  DeclaredApproval,
  DeclaredInput as Input,
} from '../../protocol/capability.ts';
import type { FailureType } from '../../protocol/failure.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';

/** An input may come from a constant, whose lists are readonly. */
type DeclaredInput = Omit<Input, 'allowed_values'> & {
  readonly allowed_values?: readonly unknown[] | undefined;
};

/** An effect without details may be written as its type alone. */
type SideEffect = Declared['side_effect'] | Declared['side_effect']['type'];

type ConditionPolicy<Parameters> = {
  /** Text for the manifest. The predicate decides. */
  readonly condition: string;
  readonly needed: (parameters: Parameters) => boolean;
};

/** When a person has to approve, what the approver is shown, and who may approve. */
export interface ApprovalPolicy<Parameters = JsonObject> {
  readonly when:
    | Exclude<DeclaredApproval['when'], { condition: string }>
    | ConditionPolicy<Parameters>;
  readonly grant_policy: DeclaredApproval['grant_policy'];
  readonly approvals_required?: number;
  /**
   * The service makes the preview from the resolved parameters, never from a text of the caller.
   * The function returns at once: a promise is a defect, and the call is refused.
   */
  readonly preview?: (parameters: Parameters) => JsonObject;
  /** `root`: the root principal of the requester may not approve either. */
  readonly separation?: 'root';
  /** Patterns of agents that may approve. Without a matching pattern, agents may not. */
  readonly approvers?: readonly string[];
  /** How long a request waits for its decision. */
  readonly request_lifetime?: string;
}

export interface CapabilityDefinition<Inputs extends readonly DeclaredInput[]>
  extends Omit<
    Partial<Declared>,
    'description' | 'inputs' | 'side_effect' | 'minimum_scope' | 'approval'
  > {
  readonly name: string;
  readonly description: string;
  readonly inputs?: Inputs;
  readonly side_effect: SideEffect;
  readonly minimum_scope: readonly string[];
  readonly approval?: ApprovalPolicy<ParametersOf<Inputs>>;
  /** Looks up handles that another issuer gave out. Returns `undefined` for an unknown handle. */
  readonly resolveBinding?: ResolveBinding;
  /** How long the handler may take before the outcome counts as unknown. */
  readonly deadline?: string;
  /** A composed capability has none: its steps do the work. */
  readonly handler?: Handler<ParametersOf<Inputs>>;
}

/** What a handle of another issuer pins. Its age counts from `issued_at`. */
export type ResolveBinding = (
  handle: string,
  requirement: BindingRequirement,
) => ExternalBinding | undefined | Promise<ExternalBinding | undefined>;

export interface ExternalBinding {
  readonly issued_at: Date;
  readonly price?: Money;
  readonly data?: JsonObject;
}

export type Handler<Parameters = JsonObject> = (
  parameters: Parameters,
  context: HandlerContext,
) => JsonObject | Promise<JsonObject>;

/** What a handler is given besides its parameters. Nothing here widens authority. */
export interface HandlerContext {
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
  readonly bindings: Readonly<
    Record<string, { readonly data: JsonObject; readonly price?: Money }>
  >;
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
}

/** A type of the protocol, or one that the capability declares in `failure_types`. */
type NamedFailure = FailureType | (string & Record<never, never>);

/** Advice for the next step of the caller. Parts that cannot be read are left out of the answer. */
export interface Advice {
  /** What the caller needs first, each in a few words. At most sixteen. */
  readonly requires?: readonly string[];
  /** The principal that could lift the restriction. */
  readonly grantable_by?: string;
  /** `immediate`, a duration such as `PT5M`, or a time. */
  readonly estimated_availability?: string;
}

/**
 * Thrown by a handler that did nothing. The service gives back everything reserved for the call.
 */
export class NoEffect extends Error {
  // Recognised by a private field: `instanceof` runs code of the thrown value, which may throw.
  readonly #isOurs = true;
  override readonly name = 'NoEffect';
  readonly type: string;
  readonly advice: Advice;

  static is(value: unknown): value is NoEffect {
    return typeof value === 'object' && value !== null && #isOurs in value;
  }

  constructor(detail: string, type: NamedFailure = 'invalid_parameters', advice: Advice = {}) {
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
 */
export class HandlerFailure extends Error {
  readonly #isOurs = true;
  override readonly name = 'HandlerFailure';
  readonly type: string;
  readonly advice: Advice;

  static is(value: unknown): value is HandlerFailure {
    return typeof value === 'object' && value !== null && #isOurs in value;
  }

  constructor(detail: string, type: NamedFailure, advice: Advice = {}) {
    super(detail);
    this.type = type;
    this.advice = advice;
  }
}

/** A capability as `createService()` takes it. */
export interface DefinedCapability {
  readonly name: string;
  readonly declaration: unknown;
  readonly handler?: Handler | undefined;
  readonly approval?: ApprovalPolicy | undefined;
  readonly deadline?: string | undefined;
  readonly resolveBinding?: ResolveBinding | undefined;
}

/** Declares one capability. `createService()` reports all faults at once. */
export function defineCapability<const Inputs extends readonly DeclaredInput[] = readonly []>(
  definition: CapabilityDefinition<Inputs>,
): DefinedCapability {
  const { name, handler, deadline, approval, side_effect, resolveBinding, ...declared } =
    definition;
  return {
    name,
    deadline,
    resolveBinding,
    // Safe: parameters are checked against the declared inputs before a handler is called.
    handler: handler as Handler | undefined,
    approval: approval as ApprovalPolicy | undefined,
    declaration: {
      contract_version: '1.0.0',
      inputs: [],
      output: { type: 'object', fields: [] },
      ...declared,
      side_effect: typeof side_effect === 'string' ? { type: side_effect } : side_effect,
      ...(approval && { approval: publicPart(approval as ApprovalPolicy) }),
    },
  };
}

function publicPart({ when, grant_policy, approvals_required = 1 }: ApprovalPolicy) {
  const condition = typeof when === 'object' && 'condition' in when;
  return {
    when: condition ? { condition: when.condition } : when,
    grant_policy,
    approvals_required,
  };
}

/** The TypeScript type of each declared type. A type name of the author is `unknown`. */
interface TypeNames {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  date: string;
  datetime: string;
  array: unknown[];
  object: JsonObject;
}

type ValueOf<I extends DeclaredInput> = I extends { allowed_values: readonly (infer Value)[] }
  ? Value
  : I['type'] extends keyof TypeNames
    ? TypeNames[I['type']]
    : unknown;

/** An input that is not required and has no default may be absent. */
type MayBeAbsent<I extends DeclaredInput> = I extends { default: NonNullable<unknown> | null }
  ? false
  : I extends { required: false }
    ? true
    : false;

type ParametersOf<Inputs extends readonly DeclaredInput[]> = {
  readonly [I in Inputs[number] as MayBeAbsent<I> extends false ? I['name'] : never]: ValueOf<I>;
} & {
  readonly [I in Inputs[number] as MayBeAbsent<I> extends true ? I['name'] : never]?: ValueOf<I>;
};

/** Looks up a credential for the author: returns a principal, or null for an unknown one. */
export type Authenticate = (bearer: string) => string | null | Promise<string | null>;
