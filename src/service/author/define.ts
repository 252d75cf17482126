/**
 * What a service author writes: the declaration of a capability and the code behind it.
 *
 * The declaration is public and goes into the manifest. Handler, price, deadline, preview and
 * predicates are private. The types of the handler follow from the declared inputs, output and
 * bindings, so a handler that reads an undeclared input does not compile.
 *
 * The other files of this room:
 *
 * 1. `handler.ts` has what a handler is given and what it may throw.
 * 2. `typed.ts` has the types that follow from a declaration.
 * 3. `schema.ts` derives a declaration from a schema. `schema-reading.ts` gets its JSON Schemas or the
 *    faults, in the words of `schema-library.ts`; `json-schema.ts` reads the JSON Schema,
 *    and `schema-defaults.ts` leaves out the defaults that functions make.
 * 4. `definition.ts` checks all capabilities of a service together and makes the definition that
 *    the other rooms use. `approval-policy.ts` checks approval policies.
 *
 * @module
 */

import type { Fault } from '../../domain/catalog/fault.ts';
import type { Operator } from '../../domain/conditions/condition.ts';
import type {
  BindingRequirement,
  DeclaredCapability as Declared,
  DeclaredApproval,
} from '../../protocol/capability.ts';
import type { DeclaredFailure } from '../../protocol/failure.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import type { CapabilityTypes } from '../../protocol/typed.ts';
import type { AnyBindings, Handler, Price, PriceContext } from './handler.ts';
import { declaredInputs, declaredOutput, type SchemaReader, unapprovable } from './schema.ts';
import type {
  BindingsOf,
  DeclaredInputs,
  DeclaredOutput,
  DetailsFor,
  DetailsOf,
  InputDetails,
  ListedField,
  Literals,
  ParametersOf,
  ReturnedFor,
  TypesOf,
  WithKnownFields,
} from './typed.ts';

/** An effect without details may be written as its type alone. */
type SideEffect = Declared['side_effect'] | Declared['side_effect']['type'];

type ConditionPolicy<Parameters> = {
  /** Text for the manifest. The predicate decides. */
  readonly condition: string;
  readonly needed: (parameters: Parameters) => boolean;
};

/**
 * Conditions on the arguments of a call, by the name of an input or a path below it; a value alone means exactly it.
 * All of them hold together. A list of such objects means that one of them is enough.
 *
 * @example
 * import type { ConditionsOn } from 'writ';
 *
 * const small: ConditionsOn<{ amount: number; to: string[] }> = {
 *   amount: { at_least: 0, at_most: 50 },
 *   'to.*': { email_domain: 'example.com' },
 * };
 */
export type ConditionsOn<Parameters> = {
  readonly [Path in InputPath<Parameters>]?: WrittenCondition;
};

type InputPath<Parameters> = keyof Parameters & string extends infer Name extends string
  ? Name | `${Name}.${string}` | '$cost'
  : never;

type Operand = string | number | boolean;

/** Operators on one value, which hold together. */
type WrittenCondition =
  | Operand
  | {
      readonly [Name in Operator]?: Name extends 'absent' | 'or_absent' | 'any'
        ? boolean
        : Operand | readonly Operand[];
    };

type OneOrMore<Parameters> = ConditionsOn<Parameters> | readonly ConditionsOn<Parameters>[];

type Unless<Parameters> = { readonly unless: OneOrMore<Parameters> };

/**
 * When a person has to approve, what the approver is shown, and who may approve.
 *
 * @example
 * import type { ApprovalPolicy } from 'writ';
 *
 * const large: ApprovalPolicy<{ amount: number }> = {
 *   when: { amount_above: 100, input: 'amount' },
 *   preview: ({ amount }) => ({ action: 'Refund', amount }),
 * };
 */
export interface ApprovalPolicy<Parameters = JsonObject, Bindings = AnyBindings> {
  /**
   * When a person has to approve: `always`, above an amount of the cost or of an input, by conditions on the arguments
   * (`unless` they are certainly so, `where` they may be so), or where your predicate says so. @example { amount_above: 100 }
   */
  readonly when:
    | Exclude<
        DeclaredApproval['when'],
        { condition: string } | { unless: unknown } | { where: unknown }
      >
    | Unless<Parameters>
    | { readonly where: OneOrMore<Parameters> }
    | ConditionPolicy<Parameters>;
  /** What one approval may allow. Without it: this call, once, within 15 minutes. @example { allowed_grant_types: ['one_time'], default_grant_type: 'one_time', expires_in_seconds: 900, max_uses: 1 } */
  readonly grant_policy?: DeclaredApproval['grant_policy'];
  /** How many different people have to approve. @example 2 */
  readonly approvals_required?: number;
  /** `passkey`: each approver confirms with a passkey, on the pages of the service. @example 'passkey' */
  readonly require?: 'passkey';
  /**
   * When the bindings of an approved call must be fresh. `at_request`, the default, honours a quote that was fresh when
   * the agent asked, until the grant expires; `at_run` refuses one that is too old when the call runs. @example 'at_run'
   */
  readonly binding_age?: DeclaredApproval['binding_age'];
  /**
   * The service makes the preview from the resolved parameters and from what the bindings pinned, never from a text of
   * the caller. It may wait, for a name from a database, at most as long as the handler (`deadline`). What it returns is digested.
   * @example ({ amount }) => ({ action: 'Refund', amount })
   */
  readonly preview?: Preview<Parameters, Bindings>;
  /** `root`: the root principal of the requester may not approve either. @example 'root' */
  readonly separation?: 'root';
  /** Patterns of agents that may approve. Without a matching pattern, agents may not. @example ['agent:reviewer'] */
  readonly approvers?: readonly string[];
  /** How long a request waits for its decision. @example 'PT1H' */
  readonly request_lifetime?: string;
  /**
   * Inputs whose values notifications in Slack and by email show. Without it they show none: those messages stay in
   * places that the service does not control. @example ['amount']
   */
  readonly card_inputs?: readonly (keyof Parameters & string)[];
}

type Preview<Parameters, Bindings> = (
  parameters: Parameters,
  context: PriceContext<Bindings>,
) => JsonObject | Promise<JsonObject>;

/** A policy with its defaults. */
export type CompletePolicy = ApprovalPolicy & Required<Pick<ApprovalPolicy, 'grant_policy'>>;

export interface CapabilityDefinition<
  Name extends string,
  Inputs extends DeclaredInputs,
  Output extends DeclaredOutput,
  Bindings extends readonly BindingRequirement[],
  Details extends DetailsFor<Inputs> = Readonly<Record<never, InputDetails>>,
> extends Omit<
    Partial<Declared>,
    | 'approval'
    | 'cost'
    | 'description'
    | 'failure_types'
    | 'input_schema'
    | 'inputs'
    | 'minimum_scope'
    | 'output'
    | 'output_schema'
    | 'refuse'
    | 'requires_binding'
    | 'side_effect'
  > {
  /** The name under which callers know it. @example 'refund' */
  readonly name: Name;
  /** What a call does, in words for agents and people. @example 'Refund a booking' */
  readonly description: string;
  /** The inputs: a schema of an object (zod, valibot, arktype), or a list. Without it a call has none. @example z.object({ booking_id: z.string() }) */
  readonly inputs?: WithKnownFields<Inputs, ListedField>;
  /** What a schema cannot say of an input, by its name. @example { booking_id: { entity_reference: true } } */
  readonly input_details?: DetailsOf<Inputs, Details>;
  /** The result: a schema of an object, or a type with the names of its fields. @example z.object({ refund_id: z.string() }) */
  readonly output?: WithKnownFields<Output, 'type' | 'fields'>;
  /** What a call changes; the type alone may stand for an effect without details. @example 'write' */
  readonly side_effect: SideEffect;
  /** The scopes that a token needs, all of them. @example ['travel.book'] */
  readonly minimum_scope: readonly string[];
  /** What a call costs; an amount alone is a fixed cost. Without it a call is free. @example { currency: 'USD', amount: 25 } */
  readonly cost?: Declared['cost'] | Money;
  /** Failures of its own, beside those of the protocol; several capabilities may share one list. @example [{ type: 'seat_taken', description: 'another booking has the seat', retry: false, action: 'revalidate_state' }] */
  readonly failure_types?: readonly Readonly<DeclaredFailure>[];
  /** Handles that a call has to carry. @example [{ type: 'quote', field: 'quote', max_age: 'PT15M' }] */
  readonly requires_binding?: WithKnownFields<Bindings, keyof BindingRequirement>;
  /** When a person has to approve a call, and what the approver is shown. @example { when: { amount_above: 100 } } */
  readonly approval?: ApprovalPolicy<ParametersOf<Inputs>, BindingsOf<Bindings>>;
  /** Calls that are refused, whoever makes them: `unless` the arguments are certainly so, or `when` they may be so. @example { unless: { currency: 'USD' } } */
  readonly refuse?:
    | Unless<ParametersOf<Inputs>>
    | { readonly when: OneOrMore<ParametersOf<Inputs>> };
  /** What exactly this call costs. Only for a cost that is `estimated`. @example ({ km }) => usd(5 + km) */
  readonly price?: Price<ParametersOf<Inputs>, BindingsOf<Bindings>>;
  /** Looks up handles that another issuer gave out. Returns `undefined` for an unknown handle. @example (handle) => fares.get(handle) */
  readonly resolveBinding?: ResolveBinding;
  /** How long the handler may take before the outcome counts as unknown. @example 'PT10S' */
  readonly deadline?: string;
  /** Does the work. A composed capability has none: its steps do it. @example ({ booking_id }) => ({ refund_id: `R-${booking_id}` }) */
  readonly handler?: Handler<
    ParametersOf<Inputs>,
    ReturnedFor<Output> | Literals,
    BindingsOf<Bindings>
  >;
}

/**
 * Looks up a handle of another issuer.
 *
 * @example
 * import type { ResolveBinding } from 'writ';
 *
 * const fares: ResolveBinding = (handle) =>
 *   handle === 'F-1' ? { issued_at: new Date(), price: { currency: 'USD', amount: 90 } } : undefined;
 */
export type ResolveBinding = (
  handle: string,
  requirement: BindingRequirement,
) => ExternalBinding | undefined | Promise<ExternalBinding | undefined>;

/**
 * What a handle of another issuer pins. Its age counts from `issued_at`.
 *
 * @example
 * import type { ExternalBinding } from 'writ';
 *
 * const fare: ExternalBinding = { issued_at: new Date(), data: { flight_number: 'KX101' } };
 */
export interface ExternalBinding {
  readonly issued_at: Date;
  readonly price?: Money;
  readonly data?: JsonObject;
}

/**
 * A capability as `createService()` takes it.
 *
 * @example
 * import { type DefinedCapability, defineCapability } from 'writ';
 *
 * const capabilities: DefinedCapability[] = ['north', 'south'].map((side) =>
 *   defineCapability({
 *     name: `look_${side}`,
 *     description: `Look ${side}`,
 *     side_effect: 'read',
 *     minimum_scope: ['view.look'],
 *     handler: () => ({ side }),
 *   }),
 * );
 */
export interface DefinedCapability<
  Name extends string = string,
  Types extends CapabilityTypes = CapabilityTypes,
> {
  readonly name: Name;
  readonly declaration: unknown;
  /** What the schemas cannot declare. */
  readonly faults: readonly Fault[];
  readonly handler?: Handler | undefined;
  readonly price?: Price | undefined;
  readonly readInputs?: SchemaReader | undefined;
  readonly readOutput?: SchemaReader | undefined;
  readonly approval?: CompletePolicy | undefined;
  readonly deadline?: string | undefined;
  readonly resolveBinding?: ResolveBinding | undefined;
  /** For the type checker. Never set. */
  readonly '~types'?: Types | undefined;
}

/**
 * Declares one capability. `createService()` reports all faults at once.
 *
 * @example
 * import { defineCapability } from 'writ';
 * import * as z from 'zod';
 *
 * const transfer = defineCapability({
 *   name: 'transfer',
 *   description: 'Send money to an account',
 *   inputs: z.object({ to: z.string(), amount: z.number().min(1).max(500) }),
 *   output: z.object({ transfer_id: z.string() }),
 *   side_effect: 'irreversible',
 *   minimum_scope: ['bank.transfer'],
 *   handler: ({ to, amount }) => ({ transfer_id: `${to}-${amount}` }),
 * });
 */
export function defineCapability<
  const Name extends string,
  const Inputs extends DeclaredInputs = readonly [],
  const Output extends DeclaredOutput = { type: 'object'; fields: [] },
  const Bindings extends readonly BindingRequirement[] = readonly [],
  const Details extends DetailsFor<Inputs> = Readonly<Record<never, InputDetails>>,
>(
  definition: CapabilityDefinition<Name, Inputs, Output, Bindings, Details>,
): DefinedCapability<Name, TypesOf<Inputs, Output, Details>> {
  const { name, inputs, input_details, output, handler, price, ...more } = definition;
  const { deadline, approval, side_effect, cost, resolveBinding, ...declared } = more;
  const taken = declaredInputs(name, inputs ?? [], input_details ?? {});
  const given = declaredOutput(name, output ?? { type: 'object', fields: [] });
  const policy = approval && completed(approval as ApprovalPolicy);
  return {
    name,
    deadline,
    resolveBinding,
    faults: [
      ...taken.faults,
      ...(policy ? unapprovable(name, taken.made ?? []) : []),
      ...given.faults,
    ],
    readInputs: taken.read,
    readOutput: given.read,
    // Safe: parameters are checked against the declared inputs before these are called.
    handler: handler as Handler | undefined,
    price: price as Price | undefined,
    approval: policy,
    declaration: {
      contract_version: '1.0.0',
      ...taken.declared,
      ...given.declared,
      ...declared,
      side_effect: typeof side_effect === 'string' ? { type: side_effect } : side_effect,
      ...(cost !== undefined && { cost: costOf(cost) }),
      ...(policy && { approval: publicPart(policy) }),
    },
  };
}

function completed(policy: ApprovalPolicy): CompletePolicy {
  return { ...policy, grant_policy: policy.grant_policy ?? GRANT_POLICY_DEFAULT };
}

/** The narrowest grant: for this call, once, while the approver still remembers it. */
const GRANT_POLICY_DEFAULT: DeclaredApproval['grant_policy'] = {
  allowed_grant_types: ['one_time'],
  default_grant_type: 'one_time',
  expires_in_seconds: 900,
  max_uses: 1,
};

/** An amount alone is a fixed cost. Anything else stays as written, and the catalog checks it. */
function costOf(cost: NonNullable<Declared['cost']> | Money): unknown {
  const isAmount = typeof cost === 'object' && cost !== null && !('certainty' in cost);
  return isAmount ? { certainty: 'fixed', financial: cost } : cost;
}

function publicPart(policy: CompletePolicy) {
  const { when, grant_policy, approvals_required = 1, require, binding_age } = policy;
  const condition = typeof when === 'object' && 'condition' in when;
  return {
    when: condition ? { condition: when.condition } : when,
    grant_policy,
    approvals_required,
    ...(require !== undefined && { require }),
    ...(binding_age !== undefined && { binding_age }),
  };
}

/**
 * Looks up a credential for the author: returns a principal, or null for an unknown one.
 *
 * @example
 * import type { Authenticate } from 'writ';
 *
 * const authenticate: Authenticate = async (bearer) =>
 *   bearer === 'key-of-ann' ? 'human:ann@example.com' : null;
 */
export type Authenticate = (bearer: string) => string | null | Promise<string | null>;
