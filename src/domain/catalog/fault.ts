/**
 * Faults: what is wrong with a declaration, where, why, and what to write instead.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import { nearestName } from '../values/nearest.ts';

export interface Fault {
  /** The name of the capability; for a fault of the service, its id. */
  readonly capability: string;
  readonly subject?: 'service' | undefined;
  /** A path into the declaration, such as `inputs[2].default`. */
  readonly field: string;
  /** Why it is wrong; in the form `expected …`, what belongs there. */
  readonly fault: string;
  /** What to write instead. */
  readonly write?: string | undefined;
  /** What the author wrote there, such as `is "x"`. */
  readonly written?: string | undefined;
}

export interface Declarations {
  /** The well-formed declarations. */
  readonly capabilities: ReadonlyMap<string, Capability>;
  /** Every declared name, well-formed or not. */
  readonly known: ReadonlySet<string>;
}

/** Checks one capability in the context of all. Returns every fault it finds. */
export type FaultRule = (capability: Capability, all: Declarations) => Fault[];

export function fault(capability: string, field: string, found: string, write?: string): Fault {
  return { capability, field, fault: found, write };
}

export function serviceFault(id: string, field: string, found: string, write?: string): Fault {
  return { capability: id, subject: 'service', field, fault: found, write };
}

/** One line for a person: `capability refund: inputs[2].default is "x", because …; write …`. */
export function faultText({ capability, subject, field, ...found }: Fault): string {
  const { fault: why, write, written = 'is refused' } = found;
  const who = `${subject ?? 'capability'} ${nameText(capability)}`.trimEnd();
  const [because, instead] = why.startsWith(EXPECTED)
    ? ['another form is expected', why.slice(EXPECTED.length)]
    : [why, write];
  return `${who}: ${field} ${written}, because ${because}${instead ? `; write ${instead}` : ''}`;
}

const EXPECTED = 'expected ';

/** A name that is no word is quoted. */
function nameText(name: string): string {
  return /^[\w.:/-]*$/.test(name) ? name : JSON.stringify(name);
}

/** The known name that a misspelt one probably means, quoted. */
export function similar(name: string, known: Iterable<string>): string | undefined {
  const nearest = nearestName(name, known);
  return nearest === undefined ? undefined : `"${nearest}"`;
}

export function duplicates(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** A path into a declaration, as a fault names it. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}
