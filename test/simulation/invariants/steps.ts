/**
 * Steps of composed calls: each runs once, by the process that owns the call, and is undone where the policy says so.
 *
 * @module
 */

import { broken } from '../broken.ts';
import {
  addRun,
  type Call,
  callOf,
  closedBy,
  type Executed,
  type Run,
  type Shadow,
  type Subject,
} from './shadow.ts';
import { endedBy } from './transitions.ts';

export function steps(shadow: Shadow): Subject {
  return {
    store: {
      beginStep(event) {
        if (event.result) begin(shadow, event);
      },
      endStep(event) {
        const [{ outcome }, instance] = event.args;
        const run = endedBy(shadow, event);
        if (!run) return;
        refuseForeign(run.call, instance, `ended "${run.invocation}"`);
        run.outcome = outcome;
      },
      settle(event) {
        const call = closedBy(shadow, event);
        if (call) refuseStanding(shadow, call, event);
      },
    },
  };
}

function begin(shadow: Shadow, { args: [step, instance] }: Executed<'beginStep'>): void {
  const { operation_id, role, step_id, invocation_id, capability } = step;
  const call = callOf(shadow, operation_id);
  refuseForeign(call, instance, `began "${invocation_id}"`);
  const same = call.runs.find((run) => run.role === role && run.step === step_id);
  // The invocation that holds the claim may ask again.
  if (same?.invocation === invocation_id) return;
  if (same) {
    const both = `as "${same.invocation}" and as "${invocation_id}"`;
    broken('step-once', `${role} "${step_id}" of operation "${operation_id}" was claimed ${both}`);
  }
  if (role === 'step' && call.outcome !== undefined) {
    broken('step-once', `step "${step_id}" began after operation "${operation_id}" was closed`);
  }
  addRun(shadow, { invocation: invocation_id, call, role, capability, step: step_id });
}

function refuseForeign({ id, instance: owner }: Call, instance: string, what: string): void {
  if (owner === instance) return;
  broken('step-once', `process "${instance}" ${what} of operation "${id}", which "${owner}" owns`);
}

/** A composed call that ends with a known failure has undone, or has tried to undo, each completed step. */
function refuseStanding(
  { options: { capabilities } }: Shadow,
  { id, runs, admission }: Call,
  { args: [{ outcome }] }: Executed<'settle'>,
): void {
  if (outcome !== 'failed' && outcome !== 'no_effect') return;
  const composition = capabilities?.get(admission.intent.capability)?.composition;
  if (composition?.failure_policy !== 'compensate') return;
  const undone = new Set(runs.flatMap(({ role, step }) => (role === 'compensation' ? [step] : [])));
  const isDue = ({ role, outcome: ended, capability, step }: Run) =>
    role === 'step' &&
    ended === 'completed' &&
    capabilities?.get(capability)?.side_effect.compensation !== undefined &&
    !undone.has(step);
  const standing = runs.find(isDue);
  if (!standing) return;
  broken(
    'compensated',
    `operation "${id}" ended as ${outcome}, and step "${standing.step}" was not undone`,
  );
}
