/**
 * Types that follow from a declaration: the parameters and bindings of a handler, what it returns,
 * and what a caller sends and gets.
 *
 * @module
 */

import type { BindingRequirement, DeclaredInput as Input } from '../../protocol/capability.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import type { CapabilityTypes } from '../../protocol/typed.ts';

/** The TypeScript type of each declared type. */
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

/** A type of the protocol, or one of the author's own domain, such as `travel:iata`. */
type InputType = keyof TypeNames | `${string}:${string}`;

/** An input may come from a constant, whose lists are readonly. */
type ListedInput = Omit<Input, 'allowed_values' | 'type'> & {
  readonly type: InputType;
  readonly allowed_values?: readonly unknown[] | undefined;
};

/**
 * A schema of any library that implements Standard Schema and its JSON Schema, such as zod, valibot
 * or arktype. Only the part that the service uses.
 *
 * @example
 * import * as z from 'zod';
 * import type { Schema } from 'writ';
 *
 * const transfer: Schema = z.object({ to: z.string(), amount: z.number().min(1).max(500) });
 */
export interface Schema<Sent = object, Read = Sent> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Read> | Promise<SchemaResult<Read>>;
    readonly types?: { readonly input: Sent; readonly output: Read } | undefined;
  };
}

type SchemaResult<Read> =
  | { readonly value: Read; readonly issues?: undefined }
  | { readonly issues: readonly object[] };

// biome-ignore lint/suspicious/noExplicitAny: a schema of any two types.
export type AnySchema = Schema<any, any>;

/** An object with named properties: no list, no map. */
type Named = object & { readonly [Symbol.iterator]?: never };

type ObjectSchema = Schema<Named>;

type SentTo<S extends AnySchema> = NonNullable<S['~standard']['types']>['input'];
type ReadBy<S extends AnySchema> = NonNullable<S['~standard']['types']>['output'];

/** The inputs of a capability: a schema of an object, or a list. */
export type DeclaredInputs = readonly ListedInput[] | ObjectSchema;

/** The output of a capability: a schema of an object, or the names of its fields. */
export type DeclaredOutput =
  | ObjectSchema
  | { readonly type: string; readonly fields: readonly string[] };

/** The parameters of a handler: resolved and validated. */
export type ParametersOf<Inputs extends DeclaredInputs> = Inputs extends AnySchema
  ? ReadBy<Inputs>
  : Inputs extends readonly ListedInput[]
    ? ListedParameters<Inputs[number], AbsentNames<Inputs[number]>>
    : never;

/** The parameters that a caller sends. */
type SentParametersOf<Inputs extends DeclaredInputs, Details> = Inputs extends AnySchema
  ? WithOptional<SentTo<Inputs>, ResolvedNames<Details> | NullableNames<SentTo<Inputs>>>
  : Inputs extends readonly []
    ? Record<string, never>
    : Inputs extends readonly ListedInput[]
      ? ListedParameters<Inputs[number], OmittedNames<Inputs[number]>>
      : never;

/** Inputs beside a schema that the service resolves. */
type ResolvedNames<Details> = {
  [Name in keyof Details]: Details[Name] extends { resolution: NonNullable<unknown> }
    ? Name
    : never;
}[keyof Details];

/** Null counts as absent, so an input that takes null may be left out. */
type NullableNames<Sent> = keyof {
  [Name in keyof Sent as string extends Name ? never : null extends Sent[Name] ? Name : never]: 1;
};

type WithOptional<Sent, Names> = [Names & keyof Sent] extends [never]
  ? Sent
  : { [Name in keyof Sent as Name extends Names ? never : Name]: Sent[Name] } & {
      [Name in keyof Sent as Name extends Names ? Name : never]?: Sent[Name];
    };

/** What a handler returns. */
export type ReturnedFor<Output extends DeclaredOutput> = Output extends AnySchema
  ? SentTo<Output>
  : JsonObject;

declare const NO_VALUE: unique symbol;

/**
 * No value has this type. Beside the type of a result it tells the compiler, which infers that type later, to keep the
 * literals that a handler returns: "open" stays "open" and does not become a text.
 */
export interface Literals {
  readonly [NO_VALUE]: never;
  readonly [name: string]: '' | 0 | true | Literals | readonly Literals[];
}

/** The result that a caller gets. */
type ResultOf<Output extends DeclaredOutput> = Output extends AnySchema
  ? ReadBy<Output>
  : JsonObject;

/** The name of an input, to add details beside a schema. */
type InputNameOf<Inputs extends DeclaredInputs> = Inputs extends AnySchema
  ? keyof SentTo<Inputs> & string
  : never;

/** Details by the name of an input that the schema has. */
export type DetailsFor<Inputs extends DeclaredInputs> = {
  readonly [Name in InputNameOf<Inputs>]?: InputDetails;
};

/** The name of the type is what an editor shows. An object, because a plain `never` would reach the fields beside it. */
interface NoSuchInput {
  readonly 'no such input': never;
}
interface NoSuchField {
  readonly 'no such field': never;
}

type Unknown<Given, Known, Shown> = {
  readonly [Key in Exclude<keyof Given, Known>]?: Shown;
};

/** Refuses names that the schema does not have, and fields that no detail has. */
export type DetailsOf<Inputs extends DeclaredInputs, Details> = Details &
  Unknown<Details, InputNameOf<Inputs>, NoSuchInput> & {
    readonly [Name in keyof Details]?: KnownFields<Details[Name], keyof InputDetails>;
  };

/**
 * Refuses fields that no input of a list, output or binding has. TypeScript checks a literal for such fields only where its
 * type is given, and here it is inferred from the literal.
 */
export type WithKnownFields<Given, Known> = Given &
  (Given extends readonly unknown[]
    ? CheckedItems<Given, keyof Given & `${number}`, Known>
    : Given extends AnySchema
      ? unknown
      : KnownFields<Given, Known>);

/** A list that begins with others (`[...more, last]`) has no item at a known place, and stays the list that it is. */
type CheckedItems<Given, Index extends keyof Given, Known> = [Index] extends [never]
  ? unknown
  : { readonly [At in Index]: KnownFields<Given[At], Known> };

type KnownFields<Given, Known> = Unknown<Given, Known, NoSuchField> & {
  readonly resolution?: Given extends { resolution: infer Resolution }
    ? Unknown<Resolution, keyof NonNullable<InputDetails['resolution']>, NoSuchField>
    : unknown;
};

export type ListedField = keyof ListedInput;

/**
 * What only the protocol knows of an input, beside its schema.
 *
 * @example
 * import type { InputDetails } from 'writ';
 *
 * const booking: InputDetails = { entity_reference: true, description: 'Such as BK-1000' };
 */
export type InputDetails = Pick<
  ListedInput,
  | 'description'
  | 'semantic_type'
  | 'entity_reference'
  | 'catalog_ref'
  | 'input_meanings'
  | 'resolution'
>;

/**
 * What a required binding pinned.
 *
 * @example
 * import type { PinnedBinding } from 'writ';
 *
 * const amountOf = ({ price }: PinnedBinding) => price?.amount ?? 0;
 */
export interface PinnedBinding {
  readonly data: JsonObject;
  readonly price?: Money;
}

/** What the required bindings pinned, by the field that carries the handle. */
export type BindingsOf<Required extends readonly BindingRequirement[]> = {
  readonly [B in Required[number] as B['field']]: PinnedBinding;
};

export interface TypesOf<Inputs extends DeclaredInputs, Output extends DeclaredOutput, Details>
  extends CapabilityTypes {
  readonly parameters: SentParametersOf<Inputs, Details> & object;
  readonly result: ResultOf<Output> & object;
}

type ValueOf<I extends ListedInput> = I extends { allowed_values: readonly (infer Value)[] }
  ? Value
  : I['type'] extends keyof TypeNames
    ? TypeNames[I['type']]
    : unknown;

type WithDefault = { default: NonNullable<unknown> | null };

/** The names of inputs that a handler may not get: not required, and without a default. */
type AbsentNames<I extends ListedInput> = I extends WithDefault
  ? never
  : I extends { required: false }
    ? I['name']
    : never;

/** The names of inputs that a caller may leave out. The service resolves some of them. */
type OmittedNames<I extends ListedInput> = I extends
  | WithDefault
  | { required: false }
  | { resolution: NonNullable<unknown> }
  ? I['name']
  : never;

type ListedParameters<I extends ListedInput, Optional> = {
  readonly [Each in I as Exclude<Each['name'], Optional>]: ValueOf<Each>;
} & {
  readonly [Each in I as Extract<Each['name'], Optional>]?: ValueOf<Each>;
};
