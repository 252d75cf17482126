/**
 * What a service author writes: a capability's declaration together with the code behind it.
 *
 * The declaration is the public half and goes into the manifest; handler, deadline, preview and
 * predicates are the private half. Parameter types of the handler are inferred from the declared
 * inputs, so a handler that reads an input nobody declared does not compile.
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

/** An input may also come out of a constant, whose lists cannot be written to. */
type DeclaredInput = Omit<Input, 'allowed_values'> & {
  readonly allowed_values?: readonly unknown[] | undefined;
};

/** Two spellings for the common case: an effect without details is its type alone. */
type SideEffect = Declared['side_effect'] | Declared['side_effect']['type'];

type ConditionPolicy<Parameters> = {
  /** In words, for the manifest; the predicate decides. */
  readonly condition: string;
  readonly needed: (parameters: Parameters) => boolean;
};

/** When a person has to approve, what that person is shown, and who may be that person. */
export interface ApprovalPolicy<Parameters = JsonObject> {
  readonly when:
    | Exclude<DeclaredApproval['when'], { condition: string }>
    | ConditionPolicy<Parameters>;
  readonly grant_policy: DeclaredApproval['grant_policy'];
  readonly approvals_required?: number;
  /**
   * Made by the service from the resolved parameters; a caller's words are never the preview. Answers
   * at once: a promise is a defect, and the call is refused.
   */
  readonly preview?: (parameters: Parameters) => JsonObject;
  /** `root` also keeps the requester's root principal from approving. */
  readonly separation?: 'root';
  /** Principal patterns that may approve although their class alone would not let them. */
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
  /** Knows handles that were issued elsewhere; `undefined` for one it does not know. */
  readonly resolveBinding?: ResolveBinding;
  /** How long the handler may take before the outcome counts as unknown. */
  readonly deadline?: string;
  /** A composed capability has none: its steps do the work. */
  readonly handler?: Handler<ParametersOf<Inputs>>;
}

/** What a handle of another issuer pins. Its age counts from when that issuer gave it out. */
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

/** What a handler may know and do besides its work. Nothing here widens authority. */
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
  /** Aborts at the deadline: the call has been answered as unknown, and going on helps nobody. */
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
   * Tells a streaming caller how far the work is. Resolves when the event was taken or dropped, never
   * in the same turn of the event loop; rejects once the deadline has passed.
   */
  progress(event: JsonObject): Promise<void>;
  /** What the call really cost; never charged above what was reserved: the rest becomes debt. */
  cost(amount: Money): void;
  /**
   * Goes on when this call was approved. Otherwise it throws, and the call ends as one that had no
   * effect and needs approval. Only where the capability declares a policy.
   */
  requireApproval(): void;
}

/** A type of the protocol, or one that the capability declares in `failure_types`. */
type NamedFailure = FailureType | (string & Record<never, never>);

/** What helps a caller with the next step. What cannot be told of it is left out of the answer. */
export interface Advice {
  /** What the caller has to have or to do first, each in a few words; sixteen at most. */
  readonly requires?: readonly string[];
  /** The principal that could lift the restriction. */
  readonly grantable_by?: string;
  /** `immediate`, a duration such as `PT5M`, or a time. */
  readonly estimated_availability?: string;
}

/** Thrown by a handler that did nothing: whatever was reserved for the call is given back. */
export class NoEffect extends Error {
  // Known by a private name: `instanceof` would ask the thrown value itself, and that may throw.
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

/** Thrown by a handler that failed after it may have acted: the caller gets this very failure. */
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

/** A capability ready to be put into a service. */
export interface DefinedCapability {
  readonly name: string;
  readonly declaration: unknown;
  readonly handler?: Handler | undefined;
  readonly approval?: ApprovalPolicy | undefined;
  readonly deadline?: string | undefined;
  readonly resolveBinding?: ResolveBinding | undefined;
}

/** Declares one capability. Faults are found when the service is created, all of them at once. */
export function defineCapability<const Inputs extends readonly DeclaredInput[] = readonly []>(
  definition: CapabilityDefinition<Inputs>,
): DefinedCapability {
  const { name, handler, deadline, approval, side_effect, resolveBinding, ...declared } =
    definition;
  return {
    name,
    deadline,
    resolveBinding,
    // The parameters are what the declared inputs admit; that is checked before a handler is called.
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

/** The type behind a declared type's name; a name of the author's own says nothing to the compiler. */
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

/** Without a default, an input that is not required may be absent. */
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

/** The author's own way to know a credential: a principal, or null for an unknown one. */
export type Authenticate = (bearer: string) => string | null | Promise<string | null>;
