/**
 * Types that a service carries for the type checker: what each capability takes and returns.
 *
 * They exist at compile time only, so a client that imports them loads no code of the service.
 *
 * @module
 */

/** What a caller sends to a capability, and the result that it gets. */
export interface CapabilityTypes {
  readonly parameters: object;
  readonly result: object;
}

/** The capabilities of a service, by name. */
export type CapabilityMap = Readonly<Record<string, CapabilityTypes>>;

/** A service whose capabilities the type checker knows. The field is never set. */
export interface TypedService<Capabilities> {
  readonly '~capabilities'?: Capabilities | undefined;
}
