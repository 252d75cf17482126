/**
 * Rules on compositions: which steps a composed capability may have, and how data flows through it.
 *
 * All rules run before the service starts, so that a composition cannot reach a capability, a property or
 * an effect that its declaration does not show.
 *
 * @module
 */

import type { Capability, Cost, Input } from '../../protocol/capability.ts';
import type { Composition, CompositionStep } from '../../protocol/composition.ts';
import { uncovered } from '../authority/scope-pattern.ts';
import { defaultApplies } from '../invocation/inputs.ts';
import { SIDE_EFFECT_STRENGTH } from '../invocation/observability.ts';
import { formatMinor, toMinor } from '../values/money.ts';
import { type Declarations, duplicates, type FaultRule, fault, similar } from './fault.ts';

export const compositionFaults: FaultRule = (capability, all) => {
  const { composition } = capability;
  if (!composition) return [];

  const steps = composition.steps.map((step) => all.capabilities.get(step.capability));
  const view: View = { parent: capability, composition, steps, all };
  return RULES.flatMap((rule) => rule(view)).map(([field, found, write]) =>
    fault(capability.name, field, found, write),
  );
};

interface View {
  readonly parent: Capability;
  readonly composition: Composition;
  /** The capability of each step, where it is declared and well-formed. */
  readonly steps: readonly (Capability | undefined)[];
  readonly all: Declarations;
}

/** `write`: what to write instead. */
type Found = [field: string, found: string, write: string];
type Rule = (view: View) => Found[];

const ATOMIC = 'an atomic capability with the response mode "unary"';

const unusableSteps: Rule = ({ parent, composition, steps, all }) => [
  ...duplicates(composition.steps.map(({ id }) => id)).map(
    (id): Found => ['composition.steps', `step "${id}" appears twice`, 'each id once'],
  ),
  ...composition.steps.flatMap((step, index): Found[] => {
    const field = `composition.steps[${index}].capability`;
    if (!all.known.has(step.capability)) {
      const write = similar(step.capability, all.known) ?? 'a capability of this service';
      return [[field, `step "${step.id}": "${step.capability}" is not declared here`, write]];
    }
    if (step.capability === parent.name || steps[index]?.kind === 'composed') {
      return [[field, `step "${step.id}": "${step.capability}" is not atomic`, ATOMIC]];
    }
    if (steps[index]?.response_modes.includes('unary') === false) {
      const found = `step "${step.id}": "${step.capability}" only streams, and a step is unary`;
      return [[field, found, ATOMIC]];
    }
    return [];
  }),
];

const SOURCE = 'an input of this capability, or an output field of an earlier step';

const unusableInputMapping: Rule = ({ parent, composition, steps }) => [
  ...Object.keys(composition.input_mapping)
    .filter((id) => !composition.steps.some((step) => step.id === id))
    .map((id): Found => {
      const write =
        similar(
          id,
          composition.steps.map((step) => step.id),
        ) ?? 'the id of a step';
      return [`composition.input_mapping.${id}`, `there is no step "${id}"`, write];
    }),
  ...composition.steps.flatMap((step, index) => {
    const target = steps[index];
    // Own entries only: a step may be called "constructor".
    const mapped = Object.hasOwn(composition.input_mapping, step.id);
    const mapping = (mapped ? composition.input_mapping[step.id] : undefined) ?? {};
    const at = `composition.input_mapping.${step.id}`;
    return [
      ...Object.entries(mapping).flatMap(([parameter, path]): Found[] => {
        const wrong = unreachable(path, parent, composition.steps.slice(0, index), steps);
        return wrong ? [[`${at}.${parameter}`, wrong, SOURCE]] : [];
      }),
      ...(target ? mismatchedParameters(target, mapping, at) : []),
    ];
  }),
];

const unusableOutputMapping: Rule = ({ parent, composition, steps }) => [
  ...Object.entries(composition.output_mapping).flatMap(([field, path]): Found[] => {
    const at = `composition.output_mapping.${field}`;
    const wrong = unreachable(path, parent, composition.steps, steps);
    return [
      ...(parent.output.fields.includes(field)
        ? []
        : [[at, 'it is not an output field', 'a field of output.fields'] as Found]),
      ...(wrong ? [[at, wrong, SOURCE] as Found] : []),
    ];
  }),
  ...parent.output.fields
    .filter((field) => !Object.hasOwn(composition.output_mapping, field))
    .map((field): Found => {
      const write = `${field}: where its value comes from`;
      return ['composition.output_mapping', `output field "${field}" has no source`, write];
    }),
];

const SOURCE_OR_NOTHING = 'empty_result_source: true at the step, or leave it out';

const unusableEmptyResult: Rule = ({ parent, composition, steps }) => {
  const sources = composition.steps.filter((step) => step.empty_result_source);
  const found: Found[] = [];
  if (
    composition.empty_result_policy === 'return_success_no_results' &&
    sources.length > 0 &&
    !composition.empty_result_output
  ) {
    const text = 'policy "return_success_no_results" needs it';
    found.push(['composition.empty_result_output', text, 'the output of an empty result']);
  }
  for (const field of Object.keys(composition.empty_result_output ?? {})) {
    if (parent.output.fields.includes(field)) continue;
    const at = `composition.empty_result_output.${field}`;
    found.push([at, 'it is not an output field', 'a field of output.fields']);
  }
  for (const [index, step] of composition.steps.entries()) {
    if (step.empty_result_path === undefined) continue;
    const at = `composition.steps[${index}].empty_result_path`;
    const [head = ''] = step.empty_result_path.split('.');
    if (!step.empty_result_source)
      found.push([at, `step "${step.id}" is not an empty_result_source`, SOURCE_OR_NOTHING]);
    if (steps[index] && !steps[index].output.fields.includes(head)) {
      found.push([
        at,
        `step "${step.id}" has no output field "${head}"`,
        'an output field of the step',
      ]);
    }
  }
  return found;
};

const weakScope: Rule = ({ parent, composition, steps }) => {
  if (composition.step_authority === 'service') return [];
  return composition.steps.flatMap((step, index): Found[] => {
    const missing = uncovered(parent.minimum_scope, steps[index]?.minimum_scope ?? []);
    if (missing.length === 0) return [];
    const text = `step "${step.id}" needs "${missing.join('", "')}"`;
    return [['minimum_scope', text, 'these scopes too, or step_authority: "service"']];
  });
};

const weakSideEffect: Rule = ({ parent, composition, steps }) =>
  composition.steps.flatMap((step, index): Found[] => {
    const effect = steps[index]?.side_effect.type ?? 'read';
    if (SIDE_EFFECT_STRENGTH[effect] <= SIDE_EFFECT_STRENGTH[parent.side_effect.type]) return [];
    const text = `"${parent.side_effect.type}" is weaker than "${effect}" of step "${step.id}"`;
    return [['side_effect.type', text, `"${effect}"`]];
  });

const missingCost: Rule = ({ parent, composition, steps }) =>
  composition.steps.flatMap((step, index): Found[] => {
    const currency = steps[index]?.cost?.financial?.currency;
    const declared = parent.cost?.financial?.currency;
    if (!currency || currency === declared) return [];
    const write = `a cost in ${currency}`;
    if (!declared) {
      return [['cost', `step "${step.id}" costs money, so the whole declares a cost`, write]];
    }
    const found = `step "${step.id}" costs ${currency}, the whole ${declared}`;
    return [['cost.financial.currency', found, `"${currency}"`]];
  });

/**
 * The steps draw from the amount that the whole reserves, so it must cover every price known now. An
 * estimate is not a price. A dynamic step may cost less than its bound, so bounds are not added up. But a
 * dynamic step whose bound does not fit after the fixed prices before it can never run.
 */
const lowCost: Rule = ({ parent, composition, steps }) => {
  const whole = ceilingOf(parent.cost);
  if (!whole) return [];
  const paid = composition.steps.flatMap((step, index) => {
    const cost = steps[index]?.cost;
    if (cost?.certainty !== 'fixed' || cost.financial?.currency !== whole.currency) return [];
    const minor = toMinor(cost.financial.amount ?? 0, whole.currency) ?? 0n;
    return minor > 0n ? [{ id: step.id, minor }] : [];
  });
  const sumOf = (priced: readonly PricedStep[]) =>
    priced.reduce((total, { minor }) => total + minor, 0n);
  const tooMuch = [paid, ...boundedSteps(composition, steps, whole.currency)].find(
    (priced) => sumOf(priced) > whole.minor,
  );
  if (!tooMuch) return [];

  const ids = tooMuch.map(({ id }) => id).join('", "');
  const who = tooMuch.length === 1 ? `step "${ids}" costs` : `steps "${ids}" together cost`;
  const amounts = [sumOf(tooMuch), whole.minor].map((minor) => formatMinor(minor, whole.currency));
  const text = `${who} ${amounts[0]} ${whole.currency}, the whole only ${amounts[1]}`;
  return [[`cost.financial.${whole.field}`, text, `at least ${amounts[0]}`]];
};

interface PricedStep {
  readonly id: string;
  readonly minor: bigint;
}

/** For each dynamic step: the fixed prices before it, and its own bound. */
function boundedSteps(
  composition: Composition,
  steps: View['steps'],
  currency: string,
): PricedStep[][] {
  const fixed: PricedStep[] = [];
  return composition.steps.flatMap(({ id }, index): PricedStep[][] => {
    const { certainty, financial } = steps[index]?.cost ?? {};
    if (financial?.currency !== currency) return [];
    const amount = certainty === 'fixed' ? financial.amount : financial.upper_bound;
    const minor = toMinor(amount ?? 0, currency) ?? 0n;
    if (certainty === 'dynamic') return [[...fixed, { id, minor }]];
    if (certainty === 'fixed' && minor > 0n) fixed.push({ id, minor });
    return [];
  });
}

/** A step that may need approval must not follow a step with an effect. */
const lateApproval: Rule = ({ parent, composition, steps }) =>
  composition.steps.flatMap((step, index): Found[] => {
    if (!steps[index]?.approval) return [];
    const before = steps
      .slice(0, index)
      .findIndex((each) => each && each.side_effect.type !== 'read');
    const effect = composition.steps[before]?.id;
    const late = `step "${step.id}" may need approval, but step "${effect}" has an effect before it`;
    return [
      ...(parent.approval
        ? []
        : [
            [
              'approval',
              `step "${step.id}" may need approval, so the whole declares a policy`,
              'an approval policy',
            ] as Found,
          ]),
      ...(before < 0
        ? []
        : [[`composition.steps[${index}]`, late, 'it before the steps with an effect'] as Found]),
    ];
  });

const missingCompensation: Rule = ({ composition, steps, all }) => {
  if (composition.failure_policy !== 'compensate') return [];
  return composition.steps.flatMap((step, index): Found[] => {
    const effect = steps[index]?.side_effect;
    if (effect?.type !== 'transactional') return [];
    const at = `composition.steps[${index}]`;
    if (!effect.compensation) {
      const found = `step "${step.id}" is transactional and has no compensation`;
      return [[at, found, 'side_effect.compensation at the capability of the step']];
    }
    // The reservation covers only the steps, so no money is left for a compensation that costs.
    const compensation = all.capabilities.get(effect.compensation);
    if (!compensation?.cost?.financial || compensation === steps[index]) return [];
    const found = `step "${step.id}": "${effect.compensation}" costs money, and nothing pays it`;
    return [[at, found, 'a compensation without a cost']];
  });
};

const RULES: readonly Rule[] = [
  unusableSteps,
  unusableInputMapping,
  unusableOutputMapping,
  unusableEmptyResult,
  weakScope,
  weakSideEffect,
  missingCost,
  lowCost,
  lateApproval,
  missingCompensation,
];

function mismatchedParameters(
  target: Capability,
  mapping: Readonly<Record<string, string>>,
  at: string,
): Found[] {
  const unusable = Object.keys(mapping).flatMap((name): Found[] => {
    const input = target.inputs.find((each) => each.name === name);
    if (!input) {
      const write =
        similar(
          name,
          target.inputs.map((each) => each.name),
        ) ?? 'an input of the step';
      return [[`${at}.${name}`, `"${target.name}" has no input "${name}"`, write]];
    }
    if (input.resolution?.mode !== 'actor_policy') return [];
    const text = `"${target.name}" derives input "${name}" from the actor and takes no value for it`;
    return [[`${at}.${name}`, text, 'nothing: leave it out']];
  });
  const missing = target.inputs.filter(
    (input) => !Object.hasOwn(mapping, input.name) && !suppliesItself(input),
  );
  return [
    ...unusable,
    ...missing.map(({ name }): Found => {
      return [at, `"${target.name}" needs input "${name}"`, `${name}: where its value comes from`];
    }),
  ];
}

/**
 * Whether an input that the mapping omits gets a value by itself or may stay absent. A step cannot ask for
 * clarification: it has no caller to answer. A "use_default" without a default is a fault of the step's own
 * declaration.
 */
function suppliesItself(input: Input): boolean {
  const { mode, on_missing } = input.resolution ?? {};
  if (mode === 'actor_policy' || mode === 'actor_policy_or_explicit') return true;
  if (on_missing) return ['use_default', 'use_actor_scope', 'omit'].includes(on_missing);
  return defaultApplies(input) || !input.required;
}

/** The most that a cost reserves and the field that declares it, where the declaration has an exact amount. */
function ceilingOf(
  cost: Cost | undefined,
): { field: string; minor: bigint; currency: string } | undefined {
  if (!cost?.financial || cost.certainty === 'estimated') return undefined;
  const field = cost.certainty === 'fixed' ? 'amount' : 'upper_bound';
  const { currency, [field]: amount } = cost.financial;
  const minor = amount === undefined ? undefined : toMinor(amount, currency);
  return minor === undefined ? undefined : { field, minor, currency };
}

/** Why a path leads nowhere, or `undefined`. A path may read only the steps in `before`. */
function unreachable(
  path: string,
  parent: Capability,
  before: readonly CompositionStep[],
  steps: readonly (Capability | undefined)[],
): string | undefined {
  const [, source, first, , field] = path.split('.');
  if (source === 'input') {
    if (first === undefined || parent.inputs.some(({ name }) => name === first)) return undefined;
    return `"${path}": "${parent.name}" has no input "${first}"`;
  }
  const index = before.findIndex(({ id }) => id === first);
  if (index < 0) return `"${path}": no step "${first}" comes before`;
  const target = steps[index];
  if (field === undefined || !target || target.output.fields.includes(field)) return undefined;
  return `"${path}": "${target.name}" has no output field "${field}"`;
}
