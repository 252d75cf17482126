/**
 * Rules on compensations: which capabilities can undo a transactional call without a caller.
 *
 * The service runs a compensation on its own, with the values that the call left behind. The output or the
 * inputs of that call must therefore have everything it needs, and the compensation may not depend on a
 * caller.
 *
 * @module
 */

import type { Capability, Input } from '../../protocol/capability.ts';
import { rollbackNames } from '../composition/compensation.ts';
import { defaultApplies } from '../invocation/inputs.ts';
import { type Fault, type FaultRule, fault } from './fault.ts';

export const compensationFaults: FaultRule = (capability, { capabilities }) => {
  const compensation = capabilities.get(capability.side_effect.compensation ?? '');
  if (!compensation || compensation.name === capability.name) return [];

  const obstacles = CALLER_NEEDS.filter(([, needs]) => needs(compensation)).map(([words]) =>
    fault(
      capability.name,
      FIELD,
      `"${compensation.name}" ${words}`,
      'a capability that runs without a caller',
    ),
  );
  const missing = missingValues(capability, compensation);
  return [
    ...missing,
    ...obstacles,
    ...(missing.length > 0 ? [] : untied(capability, compensation)),
  ];
};

const FIELD = 'side_effect.compensation';

function missingValues(capability: Capability, compensation: Capability): Fault[] {
  const offered = new Set([
    ...capability.output.fields,
    ...capability.inputs.map(({ name }) => name),
  ]);
  return compensation.inputs
    .filter((input) => input.required && !defaultApplies(input) && !offered.has(input.name))
    .map(({ name }) =>
      fault(
        capability.name,
        FIELD,
        `"${compensation.name}" needs "${name}", which neither output nor inputs have`,
        `an output field "${name}" of "${capability.name}"`,
      ),
    );
}

/** Properties that need a caller, which a compensation does not have. */
const CALLER_NEEDS: readonly [words: string, needs: (capability: Capability) => boolean][] = [
  ['is composed', ({ kind }) => kind === 'composed'],
  ['may need approval', ({ approval }) => approval !== undefined],
  ['admits only some principal classes', (each) => each.principal_classes !== undefined],
  ['is for the root principal only', ({ delegable }) => !delegable],
  ['admits only some depths of delegation', (each) => each.max_delegation_depth !== undefined],
  ['derives an input from its caller', ({ inputs }) => inputs.some(isDerived)],
  ['requires a binding', ({ requires_binding: bindings = [] }) => bindings.length > 0],
  ['has control requirements', ({ control_requirements: list = [] }) => list.length > 0],
  ['only streams', ({ response_modes: modes }) => !modes.includes('unary')],
];

function isDerived({ resolution }: Input): boolean {
  return resolution?.mode === 'actor_policy' || resolution?.mode === 'actor_policy_or_explicit';
}

/** A rollback window can be enforced only if a call of the compensation identifies the call that it undoes. */
function untied(capability: Capability, compensation: Capability): Fault[] {
  if (capability.side_effect.rollback_window === undefined) return [];
  const tie = rollbackNames(capability, compensation);
  const resolved = compensation.inputs.find(
    ({ name, resolution }) => tie.includes(name) && resolution?.mode === 'backend_resolved',
  );
  if (tie.length > 0 && !resolved) return [];
  const found = resolved
    ? `"${resolved.name}" of "${compensation.name}" is resolved, so it does not tell which call it undoes`
    : `no input of "${compensation.name}" tells which call it undoes`;
  const write = 'a compensation that takes an output field of the call, or leave the window out';
  return [fault(capability.name, 'side_effect.rollback_window', found, write)];
}
