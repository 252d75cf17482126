/**
 * Conditions of a token: how a request states them, and what a child inherits.
 *
 * A token keeps, for each capability with conditions, the inputs that the capability had when the first of them were
 * written. A child has those of its parent, because fresh ones would admit an input that its parent does not know.
 * `domain/conditions` reads and compares; `domain/invocation/conditions.ts` judges a call.
 *
 * Invariant: every call within the conditions of a child is within those of its parent.
 *
 * @module
 */

import type { CapabilityDeclaration } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { WireConditions } from '../../protocol/token.ts';
import type { Conditions } from '../conditions/condition.ts';
import { misfits } from '../conditions/fits.ts';
import { widerPaths } from '../conditions/narrower.ts';
import { type ConditionFault, PATHS_MAX, readConditions } from '../conditions/read.ts';
import { conditionWords } from '../conditions/words.ts';
import { failure } from '../failure.ts';
import { canonicalJson, digestOf } from '../wire/canonical.ts';
import { utf8 } from '../wire/hash.ts';
import { isObject } from '../wire/json.ts';
import { type InputTypes, inputTypes } from './input-types.ts';

/** Conditions by capability, in canonical form. */
export type ConditionsOf = Readonly<Record<string, Conditions>>;

/** The conditions on one capability. */
export interface HeldConditions {
  /** The inputs that the capability had when the first conditions were written. */
  readonly inputs: InputTypes;
  readonly where: Conditions;
}

/** By capability; never empty. */
export type TokenConditions = Readonly<Record<string, HeldConditions>>;

/** The claims of a token have room for so much. */
const CAPABILITIES_MAX = 8;
const CONDITIONS_BYTES_MAX = 2_048;

/** Faults in one message, and characters of one, which may quote a value of the caller. */
const FAULTS_SHOWN_MAX = 3;
const EXCERPT_LENGTH_MAX = 200;

type Named = (capability: string) => CapabilityDeclaration | undefined;

export type StatedRead =
  | { readonly conditions: TokenConditions | undefined }
  | { readonly failure: Failure };

/** Reads what a request states. A capability without conditions states nothing: they are inherited. */
export function readStated(written: JsonObject, named: Named): StatedRead {
  const stated = Object.entries(written).filter(([, each]) => !isNothing(each));
  if (stated.length > CAPABILITIES_MAX) return { failure: tooMany(stated.length) };
  const held: [string, HeldConditions][] = [];
  for (const [name, each] of stated) {
    const capability = named(name);
    if (!capability) {
      const detail = `Cannot condition "${name}": the service has no such capability`;
      return { failure: failure('unknown_capability', detail) };
    }
    const read = readConditionsOf(each, capability);
    if ('faults' in read) {
      const detail = `Cannot condition "${name}": ${faultText(read.faults)}`;
      return { failure: failure('invalid_parameters', detail) };
    }
    held.push([name, { inputs: inputTypes(capability), where: read.conditions }]);
  }
  return { conditions: tokenConditions(held) };
}

/** Reads conditions on a capability, and compares them with its declaration. */
function readConditionsOf(
  written: unknown,
  capability: CapabilityDeclaration,
): ReturnType<typeof readConditions> {
  const read = readConditions(written);
  if ('faults' in read) return read;
  const faults = [...regionFaults(read.conditions), ...misfits(read.conditions, capability)];
  return faults.length > 0 ? { faults } : read;
}

/** Reads conditions by capability, of settings or of an app; the catalog is not known yet. */
export function readEntitled(
  written: unknown,
): { readonly conditions: ConditionsOf } | { readonly fault: string } {
  if (!isObject(written)) return { fault: 'expected conditions by capability' };
  const conditions: Record<string, Conditions> = {};
  for (const [name, each] of Object.entries(written)) {
    const read = readConditions(each);
    const faults = 'faults' in read ? read.faults : regionFaults(read.conditions);
    if (faults.length > 0) return { fault: `"${excerpt(name)}": ${faultText(faults)}` };
    if ('conditions' in read) conditions[name] = read.conditions;
  }
  const found = oversized(entitledConditions(conditions, () => undefined));
  return found ? { fault: found.detail } : { conditions };
}

/** Conditions of an entitlement with further ones; `undefined` where one of these is wider. */
export function conditionsWithin(
  held: ConditionsOf | undefined,
  stated: ConditionsOf,
): { readonly conditions: ConditionsOf } | undefined {
  const [above, own] = [held, stated].map((each) => entitledConditions(each, () => undefined));
  const narrowed = narrowedConditions(above, own, (detail) => failure('not_entitled', detail));
  if ('failure' in narrowed) return undefined;
  const merged = Object.entries(narrowed.conditions ?? {});
  return { conditions: Object.fromEntries(merged.map(([name, { where }]) => [name, where])) };
}

/**
 * What an entitlement adds to the conditions of a token that was made under another one: the paths that the token
 * leaves wider.
 */
export function addedByEntitlement(
  held: TokenConditions | undefined,
  entitled: TokenConditions | undefined,
): TokenConditions | undefined {
  const added = Object.entries(entitled ?? {}).flatMap(([name, { inputs, where }]) => {
    const own = heldOn(held, name)?.where ?? {};
    const wider = widerPaths(own, where).map((path) => [path, where[path]] as const);
    const missing: Conditions = Object.fromEntries(wider) as Conditions;
    return wider.length === 0
      ? []
      : [[name, { inputs, where: missing }] as [string, HeldConditions]];
  });
  return tokenConditions(added);
}

/** The faults, with what to write instead, as the end of a detail. */
export function faultText(faults: readonly ConditionFault[]): string {
  const shown = faults.slice(0, FAULTS_SHOWN_MAX).map(({ path, fault, write }) => {
    const where = path === '' ? '' : `"${excerpt(path)}": `;
    return `${where}${excerpt(fault)}; write ${write}`;
  });
  return shown.join('. ');
}

/** Without the half of a surrogate pair that a cut leaves: strict readers refuse it. */
function excerpt(text: string): string {
  return text.slice(0, EXCERPT_LENGTH_MAX).replaceAll(/\p{Surrogate}/gu, '');
}

/** A digest, or any value, says nothing outside of an approval. */
function regionFaults(conditions: Conditions): ConditionFault[] {
  return Object.entries(conditions).flatMap(([path, { same, any }]) => {
    if (same === undefined && !any) return [];
    const fault = `"${any ? 'any' : 'same'}" belongs to approvals`;
    return [{ path, fault, write: any ? 'no condition on this path' : 'another operator' }];
  });
}

function isNothing(written: unknown): boolean {
  return written === null || (isObject(written) && Object.keys(written).length === 0);
}

function tokenConditions(held: readonly [string, HeldConditions][]): TokenConditions | undefined {
  return held.length === 0 ? undefined : Object.fromEntries(held);
}

/** Conditions of an entitlement, with the inputs that its capabilities have now; none for one that is switched off. */
export function entitledConditions(
  conditions: ConditionsOf | undefined,
  named: Named,
): TokenConditions | undefined {
  if (!conditions) return undefined;
  return tokenConditions(
    Object.entries(conditions).map(([name, where]) => {
      const capability = named(name);
      return [name, { inputs: capability ? inputTypes(capability) : {}, where }];
    }),
  );
}

/** What a child of `held` gets that states these conditions. `wider` makes the failure for one that is no narrower. */
export function narrowedConditions(
  held: TokenConditions | undefined,
  stated: TokenConditions | undefined,
  wider: (detail: string) => Failure,
): StatedRead {
  if (!stated) return { conditions: held };
  const merged: Record<string, HeldConditions> = { ...held };
  for (const [name, own] of Object.entries(stated)) {
    const above = heldOn(held, name);
    const where = { ...above?.where, ...own.where };
    const beyond = above ? widerPaths(where, above.where) : [];
    if (above && beyond.length > 0) {
      const allowed = wordsAt(above.where, beyond);
      return {
        failure: wider(`Cannot condition "${name}" so: it is allowed only where ${allowed}`),
      };
    }
    merged[name] = { inputs: above?.inputs ?? own.inputs, where };
  }
  const found = oversized(merged);
  return found ? { failure: found } : { conditions: merged };
}

/** The conditions on some paths, in words. */
export function wordsAt(where: Conditions, paths: readonly string[]): string {
  const some = paths.map((path) => [path, where[path]] as const);
  return conditionWords(Object.fromEntries(some) as Conditions).join(' and ');
}

function oversized(conditions: TokenConditions | undefined): Failure | undefined {
  const held = Object.values(conditions ?? {});
  if (held.length > CAPABILITIES_MAX) return tooMany(held.length);
  const paths = Math.max(0, ...held.map(({ where }) => Object.keys(where).length));
  if (paths > PATHS_MAX) {
    const detail = `Cannot condition ${paths} paths of a capability: at most ${PATHS_MAX}`;
    return failure('invalid_parameters', detail);
  }
  const { length } = utf8(canonicalJson(conditionsView(conditions)));
  if (length <= CONDITIONS_BYTES_MAX) return undefined;
  const detail = `Cannot issue a token with ${length} bytes of conditions: at most ${CONDITIONS_BYTES_MAX}`;
  return failure('invalid_parameters', detail);
}

function tooMany(count: number): Failure {
  const detail = `Cannot condition ${count} capabilities in one token: at most ${CAPABILITIES_MAX}`;
  return failure('invalid_parameters', detail);
}

/** Whether a child could not have come from this parent. Rows may have been changed, so nothing about their form is known. */
export function isWiderThan(
  parent: TokenConditions | undefined,
  child: TokenConditions | undefined,
): boolean {
  return Object.entries(parent ?? {}).some(([name, above]) => {
    const own = heldOn(child, name);
    if (!own || canonicalJson(own.inputs ?? null) !== canonicalJson(above.inputs)) return true;
    const [read, known] = [readConditions(own.where), readConditions(above.where)];
    if ('faults' in read || 'faults' in known) return true;
    return widerPaths(read.conditions, known.conditions).length > 0;
  });
}

/** As the claims have them: the shape is the digest of the inputs, so a row with other inputs has other claims. */
export function conditionClaims(
  conditions: TokenConditions,
): Record<string, { shape: string; where: JsonObject }> {
  return Object.fromEntries(
    Object.entries(conditions).map(([name, held]) => [
      name,
      { shape: digestOf(held?.inputs ?? {}), where: { ...held?.where } },
    ]),
  );
}

/** As an answer has them: without the inputs. */
export function conditionsView(conditions: TokenConditions | undefined): WireConditions | null {
  if (!conditions) return null;
  const views = Object.entries(conditions).map(([name, { where }]) => [name, where] as const);
  return Object.fromEntries(views) as object as WireConditions;
}

/** The conditions on one capability. A name such as "constructor" is inherited by every object. */
export function heldOn(
  conditions: TokenConditions | undefined,
  capability: string,
): HeldConditions | undefined {
  return conditions && Object.hasOwn(conditions, capability) ? conditions[capability] : undefined;
}
