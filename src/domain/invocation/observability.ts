/**
 * Observability: the risk class of a call's entry, and which parameters and results the entry contains.
 *
 * Every entry has the digest of the parameters. It has values only of the fields that the capability
 * lists. A value that is too long for an entry is replaced by its digest.
 *
 * @module
 */

import type { EventClass } from '../../protocol/audit.ts';
import type { Capability, SideEffectType } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { canonicalJson, textDigest } from '../wire/canonical.ts';
import { utf8 } from '../wire/hash.ts';

/**
 * Bytes of one value's canonical form. A call has at most 32 fields of parameters and 32 of its result:
 * together they take at most half of the 64 KiB of a leaf.
 */
const VALUE_BYTES_MAX = 512;

/** Fields of one call. More would make the log a copy of the call. */
const FIELDS_MAX = 32;

export interface Observed {
  readonly parameters?: JsonObject | undefined;
  readonly result?: JsonObject | undefined;
}

/** The detail of an entry; `undefined` where no field of the call is logged. */
export function observedDetail(
  capability: Capability | undefined,
  { parameters, result }: Observed,
): JsonObject | undefined {
  const { logged = true, fields_logged: fields = [] } = capability?.observability ?? {};
  // Most capabilities list no fields, so return before building the sets.
  if (!capability || !logged || fields.length === 0) return undefined;
  const inputs = new Set(capability.inputs.map(({ name }) => name));
  const outputs = new Set(capability.output.fields);
  const kept = fields.slice(0, FIELDS_MAX);
  const detail = {
    ...section(
      'parameters',
      parameters,
      kept.filter((name) => inputs.has(name)),
    ),
    ...section(
      'result',
      result,
      kept.filter((name) => outputs.has(name)),
    ),
  };
  return Object.keys(detail).length > 0 ? detail : undefined;
}

/** Own properties only: a field may be called "constructor". */
function section(name: string, values: JsonObject | undefined, fields: readonly string[]) {
  const present = fields.filter((field) => values && Object.hasOwn(values, field));
  if (!values || present.length === 0) return {};
  return { [name]: Object.fromEntries(present.map((field) => [field, short(values[field])])) };
}

function short(value: unknown): unknown {
  const text = canonicalJson(value);
  return utf8(text).length <= VALUE_BYTES_MAX ? value : { digest: textDigest(text) };
}

/** From weakest to strongest. A composed capability is at least as strong as each of its steps. */
export const SIDE_EFFECT_STRENGTH: Record<SideEffectType, number> = {
  read: 0,
  write: 1,
  transactional: 2,
  irreversible: 3,
};

/** Has a side effect or costs money. */
export function isHighRisk(capability: Capability): boolean {
  return capability.side_effect.type !== 'read' || capability.cost?.financial !== undefined;
}

/** An unknown capability cannot do harm, so its calls are low risk. */
export function eventClassOf(capability: Capability | undefined, success: boolean): EventClass {
  const risk = capability && isHighRisk(capability) ? 'high' : 'low';
  return `${risk}_risk_${success ? 'success' : 'failure'}`;
}
