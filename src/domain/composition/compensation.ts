/**
 * Compensation: which parameters a compensation gets, and how it is matched with the call that it undoes.
 *
 * Parameters are taken by equal name from the result of the call, then from its parameters. A call can be
 * undone within its rollback window. The values that both sides share identify the call.
 *
 * @module
 */

import type { Capability, Catalog } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { failure } from '../failure.ts';
import { parseDuration } from '../values/duration.ts';
import { digestOf } from '../wire/canonical.ts';
import type { TrailStep } from './composition-failure.ts';

/** A call that completed: its resolved parameters and its result. */
export interface CompletedCall {
  readonly parameters: JsonObject;
  readonly output: JsonObject;
}

/** The parameters for a compensation of the call. It omits an input that neither side has. */
export function compensationParameters(
  compensation: Capability,
  { parameters, output }: CompletedCall,
): JsonObject {
  const values = compensation.inputs.flatMap(({ name }): [string, unknown][] => {
    const source = [output, parameters].find((each) => Object.hasOwn(each, name));
    return source ? [[name, source[name]]] : [];
  });
  return Object.fromEntries(values);
}

/** One completed step and the capability that undoes it. */
export interface Due<Step> {
  readonly undone: Step;
  readonly compensation: string;
}

/** The compensations to run, last step first: of completed steps that have one, unless it has begun before. */
export function dueCompensations<Step extends TrailStep>(
  trail: readonly Step[],
  compensationOf: (capability: string) => string | undefined,
): Due<Step>[] {
  const begun = new Set(trail.flatMap((each) => (each.role === 'step' ? [] : [each.step_id])));
  const due = trail.flatMap((undone): Due<Step>[] => {
    const compensation = compensationOf(undone.capability);
    const isDone = undone.role === 'step' && undone.outcome === 'completed';
    return isDone && compensation && !begun.has(undone.step_id) ? [{ undone, compensation }] : [];
  });
  return due.reverse();
}

/**
 * The inputs of a compensation that identify the call it undoes. Output fields of the call are preferred to
 * its inputs, because a caller chooses the inputs. Of these, required inputs are preferred to all.
 */
export function rollbackNames(capability: Capability, compensation: Capability): string[] {
  const given = capability.inputs.map(({ name }) => name);
  const made = sharedBy(compensation, capability.output.fields);
  const shared = made.length > 0 ? made : sharedBy(compensation, given);
  const needed = shared.filter(({ required }) => required);
  return (needed.length > 0 ? needed : shared).map(({ name }) => name).sort();
}

function sharedBy({ inputs }: Capability, names: readonly string[]): Capability['inputs'] {
  return inputs.filter(({ name }) => names.includes(name));
}

/** For each capability that undoes others within a window: the identifying inputs, by undone capability. */
export function rollbackTies({ capabilities }: Catalog): Map<string, string[][]> {
  const ties = new Map<string, string[][]>();
  for (const capability of capabilities.values()) {
    const compensation = capabilities.get(capability.side_effect.compensation ?? '');
    if (!compensation || capability.side_effect.rollback_window === undefined) continue;
    const known = ties.get(compensation.name) ?? [];
    ties.set(compensation.name, [...known, rollbackNames(capability, compensation)]);
  }
  return ties;
}

/** Equal for a call and for the compensation that undoes it. */
export function rollbackDigest(names: readonly string[], values: JsonObject): string {
  const members = names.map((name): [string, unknown] => [
    name,
    Object.hasOwn(values, name) ? (values[name] ?? null) : null,
  ]);
  return digestOf(Object.fromEntries(members));
}

/** When the rollback window of a call that completed at `now` closes; `undefined` where it has none. */
export function windowEnd({ side_effect }: Capability, now: Date): Date | undefined {
  if (side_effect.compensation === undefined || side_effect.rollback_window === undefined) {
    return undefined;
  }
  return new Date(now.getTime() + (parseDuration(side_effect.rollback_window) as number));
}

export function closedWindow(
  { name }: Capability,
  until: Date | undefined,
  now: Date,
): Failure | undefined {
  if (!until || until > now) return undefined;
  const detail = `Cannot invoke "${name}": the rollback window of the call it undoes closed at ${until.toISOString()}`;
  return failure('rollback_window_closed', detail);
}
