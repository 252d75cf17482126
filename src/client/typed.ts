/**
 * What the type checker knows of a service: the names, parameters and results of its capabilities.
 *
 * It follows from the type of the service, or from an interface that `writ types` writes. A client
 * without either takes every name and every object. Types only: nothing here exists at run time, so
 * no code of a service reaches its clients, and the client does not check results against them.
 *
 * @module
 */

import type { InvokeSuccess } from '../protocol/invocation.ts';
import type { InputOf, OperationName } from '../protocol/operations.ts';
import type { PermissionsAnswer } from '../protocol/permissions.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { CapabilityTypes, TypedService } from '../protocol/typed.ts';
import type { SuccessOf } from './reply.ts';

/**
 * The capabilities of a service that the type checker does not know.
 *
 * @example
 * import { type AnyCapabilities, type Client, createClient } from 'writ/client';
 *
 * const desks = new Map<string, Client<AnyCapabilities>>();
 * desks.set('north', createClient({ url: 'https://north.example' }));
 */
export interface AnyCapabilities {
  readonly [name: string]: { readonly parameters: JsonObject; readonly result: JsonObject };
}

/** Where the types come from: `typeof service`, or an interface of capabilities by name. */
export type TypeSource<Source> =
  | TypedService<unknown>
  | { readonly [Name in keyof Source]: CapabilityTypes };

/** An index signature says nothing about a name. */
type Known<Capabilities> = string extends keyof Capabilities ? AnyCapabilities : Capabilities;

type CapabilitiesIn<Source> = string extends keyof Source
  ? AnyCapabilities
  : '~capabilities' extends keyof Source
    ? Known<NonNullable<Source['~capabilities']>>
    : Source;

/** The names of the capabilities. */
export type NameIn<Source> = keyof CapabilitiesIn<Source> & string;

/** What a caller sends to a capability. */
export type ParametersIn<Source, Name> = PartIn<Source, Name, 'parameters'>;

/** What a capability returns. */
export type ResultIn<Source, Name> = PartIn<Source, Name, 'result'>;

type PartIn<Source, Name, Field extends keyof CapabilityTypes> =
  string extends NameIn<Source>
    ? JsonObject
    : Name extends keyof CapabilitiesIn<Source>
      ? CapabilitiesIn<Source>[Name] extends Readonly<Record<Field, infer Type>>
        ? Type
        : never
      : never;

/**
 * The input of `invoke`, `stream` and `withRecovery`.
 *
 * @example
 * import type { Call } from 'writ/client';
 *
 * interface Shop {
 *   ship: { parameters: { order_id: string }; result: { parcel_id: string } };
 * }
 * const ship: Call<Shop, 'ship'> = {
 *   capability: 'ship',
 *   parameters: { order_id: 'A-1' },
 *   idempotency_key: 'ship-A-1',
 * };
 */
export type Call<Source, Name> =
  string extends NameIn<Source> ? InputOf<'invoke'> : CallOf<Source, Name, 'invoke'>;

type CallOf<Source, Name, Operation extends 'invoke' | 'test'> = Omit<
  InputOf<Operation>,
  'capability' | 'parameters'
> & {
  capability: Name;
  parameters: ParametersIn<Source, Name>;
};

/**
 * The answer to an invocation that succeeded.
 *
 * @example
 * import type { Invoked } from 'writ/client';
 *
 * const shipped: Invoked<{ parcel_id: string }> = {
 *   invocation_id: 'inv-9f2c41d07ab3',
 *   success: true,
 *   result: { parcel_id: 'P-17' },
 * };
 * console.log(shipped.result.parcel_id.length);
 */
export interface Invoked<Result> extends Omit<InvokeSuccess, 'result'> {
  result: Result;
}

/** The input of an operation. */
export type AskedIn<Source, Operation extends OperationName> =
  string extends NameIn<Source>
    ? InputOf<Operation>
    : Operation extends 'invoke' | 'test'
      ? { [Name in NameIn<Source>]: CallOf<Source, Name, Operation> }[NameIn<Source>]
      : InputOf<Operation>;

/** The answer of an operation that succeeded. */
export type AnswerIn<Source, Operation extends OperationName> =
  string extends NameIn<Source>
    ? SuccessOf<Operation>
    : Operation extends 'invoke'
      ? Invoked<ResultIn<Source, NameIn<Source>>>
      : Operation extends 'permissions'
        ? PermissionsOf<NameIn<Source>>
        : SuccessOf<Operation>;

type PermissionsOf<Name> = {
  [List in keyof PermissionsAnswer]: (Omit<PermissionsAnswer[List][number], 'capability'> & {
    capability: Name;
  })[];
};
