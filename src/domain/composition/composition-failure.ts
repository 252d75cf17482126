/**
 * How a composed call fails: the failure that its caller gets, and whether any step had an effect.
 *
 * @module
 */

import type { Capability, SideEffectType } from '../../protocol/capability.ts';
import type { AnyFailureType, Failure } from '../../protocol/failure.ts';
import { failure } from '../failure.ts';

/** One step, or the compensation of one. Without an outcome its result is unknown. */
export interface TrailStep {
  readonly role: 'step' | 'compensation';
  readonly step_id: string;
  readonly capability: string;
  readonly outcome?: 'completed' | 'failed' | 'no_effect' | 'indeterminate' | undefined;
  readonly failure_type?: AnyFailureType | undefined;
  readonly drawn?: bigint | undefined;
}

export interface Stop {
  readonly failure: Failure;
  /** The step that did not complete; absent where the composed call itself stopped. */
  readonly step?: string | undefined;
  effects(capability: string): SideEffectType | undefined;
}

export interface ComposedFailure {
  readonly failure: Failure;
  readonly outcome: 'failed' | 'no_effect' | 'indeterminate';
}

export function composedFailure(
  capability: Capability,
  trail: readonly TrailStep[],
  stop: Stop,
): ComposedFailure {
  const undone = compensationText(capability, trail);
  const unknown = trail.find(isUnknown);
  if (unknown) {
    const what = unknown.role === 'step' ? 'step' : 'the compensation of step';
    const detail = `Cannot report the outcome of "${capability.name}": it is unknown how ${what} "${unknown.step_id}" ended${undone}`;
    return { outcome: 'indeterminate', failure: failure('outcome_unknown', detail) };
  }
  const acted = trail.some((step) => hasActed(step, stop));
  return {
    outcome: acted ? 'failed' : 'no_effect',
    failure: stepFailure(capability, { ...stop, acted }, undone),
  };
}

function isUnknown({ outcome }: TrailStep): boolean {
  return outcome === undefined || outcome === 'indeterminate';
}

/** A step counts as having acted even if it was compensated. */
function hasActed({ role, capability, outcome, drawn }: TrailStep, { effects }: Stop): boolean {
  if (drawn !== undefined && drawn > 0n) return true;
  const ran = outcome === 'completed' || outcome === 'failed';
  return role === 'step' && ran && effects(capability) !== 'read';
}

function stepFailure(
  { name, composition }: Capability,
  { failure: found, step, acted }: Stop & { acted: boolean },
  undone: string,
): Failure {
  const passes = composition?.failure_policy === 'propagate' && !(acted && invitesRepeat(found));
  // Without a step, the failure is the composed call's own.
  if (step === undefined || passes) {
    return { ...found, detail: `${found.detail}${undone}` };
  }
  const detail = `Cannot complete "${name}": step "${step}" failed: ${found.detail}${undone}`;
  return failure('composition_child_failed', detail);
}

/**
 * Whether the guidance of the failure leads a caller to make the call again: at once, later, or with
 * another token or binding. That is safe for the step, which did nothing. A composed call that acted before
 * the step would act twice.
 */
function invitesRepeat({ retry, resolution: { recovery_class } }: Failure): boolean {
  return retry || (recovery_class !== 'revalidate_then_retry' && recovery_class !== 'terminal');
}

/** Lists what was compensated where that is the policy; empty otherwise. */
function compensationText({ composition }: Capability, trail: readonly TrailStep[]): string {
  if (composition?.failure_policy !== 'compensate') return '';
  const compensations = trail.filter(({ role }) => role === 'compensation');
  const named = (done: boolean) =>
    compensations
      .filter(({ outcome }) => (outcome === 'completed') === done)
      .map(({ step_id }) => `"${step_id}"`)
      .join(', ');
  const parts = [
    ...(named(true) ? [`compensated: ${named(true)}`] : []),
    ...(named(false) ? [`not compensated: ${named(false)}`] : []),
  ];
  return `; ${parts.join('; ') || 'nothing had to be compensated'}`;
}
