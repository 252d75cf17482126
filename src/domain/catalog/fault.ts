/**
 * Faults: what is wrong with a declaration, and where.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';

export interface Fault {
  readonly capability: string;
  /** A path into the declaration, such as `inputs[2].default`. */
  readonly field: string;
  readonly fault: string;
}

export interface Declarations {
  /** The well-formed declarations. */
  readonly capabilities: ReadonlyMap<string, Capability>;
  /** Every declared name, well-formed or not. */
  readonly known: ReadonlySet<string>;
}

/** Checks one capability in the context of all. Returns every fault it finds. */
export type FaultRule = (capability: Capability, all: Declarations) => Fault[];

export function fault(capability: string, field: string, found: string): Fault {
  return { capability, field, fault: found };
}

/** One line for a person. */
export function faultText({ capability, field, fault: found }: Fault): string {
  return `Cannot declare "${capability}": ${field}: ${found}`;
}

/** The part of a schema error that is used here. */
interface SchemaError {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** The issues of a schema as faults. `root` is the field for an empty path. */
export function issueFaults(capability: string, error: SchemaError, root = 'declaration'): Fault[] {
  return error.issues.map(({ path, message }) =>
    fault(capability, path.length > 0 ? pathText(path) : root, message),
  );
}

export function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** A path into a declaration, as a fault names it. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}
