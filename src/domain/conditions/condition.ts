/**
 * The vocabulary of conditions on the arguments of a call: who reads, judges, compares or prints them uses these names.
 *
 * All paths of an object hold together, and so do all operators of a path. There is no negation and no pattern: for
 * every two conditions it can be decided whether one is narrower.
 *
 * @module
 */

export type Scalar = string | number | boolean;

/** In canonical form: lists are sorted, without repeats, and never empty. */
export interface Condition {
  readonly is?: Scalar;
  readonly one_of?: readonly Scalar[];
  /** A number, a date, or a time with its zone; inclusive. */
  readonly at_least?: number | string;
  readonly at_most?: number | string;
  readonly starts_with?: readonly string[];
  readonly under?: readonly string[];
  readonly email_domain?: readonly string[];
  readonly url_under?: readonly string[];
  /** There is no value. */
  readonly absent?: true;
  /** Or there is no value. */
  readonly or_absent?: true;
  /** Of a region: the value has this digest. */
  readonly same?: string;
  /** Of a region: any value, or none. */
  readonly any?: true;
}

export type Operator = keyof Condition;

/** By the path of the value, such as `amount` or `to.*`. */
export type Conditions = Readonly<Record<string, Condition>>;

/** The charge that the service checks against a budget, as the path of a condition. */
export const COST_PATH = '$cost';

/** The segment of a path that stands for every element of a list. */
export const EACH = '*';

export function admitsAbsence({ absent, or_absent, any }: Condition): boolean {
  return Boolean(absent ?? or_absent ?? any);
}

/** The only values that a condition admits, or `undefined` where it does not list them. */
export function listedValues({ is, one_of }: Condition): readonly Scalar[] | undefined {
  return is === undefined ? one_of : [is];
}
