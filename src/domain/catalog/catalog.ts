/**
 * The catalog: all capability declarations of a service, validated together.
 *
 * A service starts only with a catalog that keeps every rule of the specification. All faults are reported
 * at once, each with its capability and field, so that an author can correct a declaration in one pass.
 * Knows nothing of handlers or resolvers: those belong to the service.
 *
 * @module
 */

import {
  type Capability,
  CapabilityDeclaration,
  type Catalog,
  type Input,
} from '../../protocol/capability.ts';
import { isCurrency } from '../../protocol/currencies.ts';
import { CapabilityName } from '../../protocol/primitives.ts';
import { entitles } from '../authority/scope-pattern.ts';
import { needsPolicy, resolverOf } from '../invocation/inputs.ts';
import { parseDuration } from '../values/duration.ts';
import { amountFault } from '../values/money.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { calledFaults } from './called.ts';
import { compensationFaults } from './compensation.ts';
import { compositionFaults } from './composition.ts';
import { failureFaults } from './failures.ts';
import { duplicates, type Fault, type FaultRule, fault, serviceFault, similar } from './fault.ts';
import { inputFaults } from './inputs.ts';
import { issueFaults } from './issues.ts';
import { ruleFaults, withRules } from './rules.ts';
import { salvage } from './salvage.ts';
import { titleFaults } from './title.ts';

/** Keeps the manifest readable for a person and cheap to sign. */
export const CAPABILITIES_MAX = 1_000;

const FEWER = `at most ${CAPABILITIES_MAX}, or split the service`;

export type CatalogResult = { catalog: Catalog } | { faults: readonly Fault[] };

/** A capability's name and what was declared under it. */
export type Declared = readonly [name: string, declaration: unknown];

/** Validates the declarations and fills in all defaults. */
export function createCatalog(declared: readonly Declared[]): CatalogResult {
  const readings = declared.map(read);
  const sound = readings.filter(({ faults }) => faults.length === 0);
  const capabilities = new Map(
    sound.flatMap(({ judged: each }) => (each ? [[each.name, each]] : [])),
  );
  // A name whose declaration does not parse still counts as declared: it causes no faults elsewhere.
  const known = new Set(declared.map(([name]) => name));
  const all = { capabilities, known };
  const faults = [
    ...readings.flatMap((reading) => reading.faults),
    ...(declared.length > CAPABILITIES_MAX
      ? [serviceFault('', 'capabilities', `more than ${CAPABILITIES_MAX} are declared`, FEWER)]
      : []),
    ...readings.flatMap(({ judged: each, judges }) =>
      each ? RULES.flatMap((rule) => rule(each, all)).filter(judges) : [],
    ),
  ];
  if (faults.length > 0) return { faults };
  const complete = [...capabilities].map(([name, each]) => [name, withRules(each)] as const);
  return { catalog: { capabilities: new Map(complete) } };
}

interface Reading {
  /** What the rules look at: the declaration, or the usable rest of a malformed one. */
  readonly judged?: Capability | undefined;
  readonly faults: readonly Fault[];
  judges(found: Fault): boolean;
}

function read([name, declaration]: Declared): Reading {
  const named = CapabilityName.safeParse(name);
  const misnamed = named.success ? [] : issueFaults(name, named.error, CapabilityName, 'name');
  const parsed = CapabilityDeclaration.safeParse(declaration);
  if (parsed.success) {
    const unwritable = unwritableValues(name, parsed.data);
    // The rules compare values as JSON, so they skip a declaration with a value that has no JSON form.
    const judged = unwritable.length === 0 ? { name, ...parsed.data } : undefined;
    return { judged, faults: [...misnamed, ...unwritable], judges: () => true };
  }
  const rest = salvage(declaration);
  const left = rest ? unwritableValues(name, rest.declaration) : [];
  return {
    judged: rest && left.length === 0 ? { name, ...rest.declaration } : undefined,
    faults: [...misnamed, ...issueFaults(name, parsed.error, CapabilityDeclaration), ...left],
    judges: ({ field }) => rest?.judges(field) ?? false,
  };
}

/** The schema accepts any value here, but the manifest is JSON and the rules compare values as JSON. */
function unwritableValues(name: string, declared: CapabilityDeclaration): Fault[] {
  const open: [field: string, value: unknown][] = [
    ...declared.inputs.flatMap((input, index): [string, unknown][] => [
      [`inputs[${index}].default`, input.default],
      [`inputs[${index}].allowed_values`, input.allowed_values],
      [`inputs[${index}].input_meanings`, input.input_meanings],
    ]),
    ['input_schema', declared.input_schema],
    ['output_schema', declared.output_schema],
    ['cost.compute', declared.cost?.compute],
    ['composition.empty_result_output', declared.composition?.empty_result_output],
  ];
  return open
    .filter(([, value]) => value !== undefined && !isJson(value))
    .map(([field]) => fault(name, field, 'it has no JSON form', JSON_VALUE));
}

const JSON_VALUE = 'a text, a finite number, true, false, null, or a list or object of these';

function isJson(value: unknown): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}

const unknownNames: FaultRule = (capability, { known }) => {
  const named: [field: string, name: string | undefined][] = [
    ...(capability.requires ?? []).map((required, index): [string, string] => [
      `requires[${index}].capability`,
      required.capability,
    ]),
    ...(capability.refresh_via ?? []).map((name, i): [string, string] => [
      `refresh_via[${i}]`,
      name,
    ]),
    ...(capability.verify_via ?? []).map((name, i): [string, string] => [`verify_via[${i}]`, name]),
    ...(capability.requires_binding ?? []).map((binding, index): [string, string | undefined] => [
      `requires_binding[${index}].source_capability`,
      binding.source_capability,
    ]),
    ['side_effect.compensation', capability.side_effect.compensation],
  ];
  return named.flatMap(([field, name]) => {
    if (name === undefined) return [];
    if (!known.has(name)) {
      const others = [...known].filter((each) => each !== capability.name);
      const write = similar(name, others) ?? 'the name of a capability of this service';
      return [fault(capability.name, field, `"${name}" is not declared here`, write)];
    }
    // An artifact may be made fresh by the capability that uses it.
    if (name === capability.name && !field.startsWith('refresh_via')) {
      return [fault(capability.name, field, 'it names itself', 'the name of another capability')];
    }
    return [];
  });
};

const SOME_DURATION = 'a duration such as "PT15M"';

const unreadableDurations: FaultRule = (capability) => {
  const durations: [field: string, text: string | undefined][] = [
    ['side_effect.rollback_window', capability.side_effect.rollback_window],
    ['cost.compute.expected_duration', capability.cost?.compute?.expected_duration],
    ['observability.retention', capability.observability?.retention],
    ['rate_limit.window', capability.rate_limit?.window],
    ...(capability.requires_binding ?? []).map((binding, index): [string, string | undefined] => [
      `requires_binding[${index}].max_age`,
      binding.max_age,
    ]),
  ];
  return durations
    .filter(([, text]) => text !== undefined && !((parseDuration(text) ?? 0) > 0))
    .map(([field, text]) =>
      fault(capability.name, field, `"${text}" is not a positive duration`, SOME_DURATION),
    );
};

const repeatedNames: FaultRule = (capability) => {
  const lists: [field: string, names: readonly string[]][] = [
    ['output.fields', capability.output.fields],
    ['minimum_scope', capability.minimum_scope],
    ['response_modes', capability.response_modes],
    ['principal_classes', capability.principal_classes ?? []],
    ['control_requirements', (capability.control_requirements ?? []).map(({ type }) => type)],
    ['requires_binding', (capability.requires_binding ?? []).map(({ field }) => field)],
    ['approval.grant_policy.allowed_grant_types', grantTypes(capability)],
  ];
  return lists.flatMap(([field, names]) =>
    duplicates(names).map((name) =>
      fault(capability.name, field, `"${name}" appears twice`, 'each of them once'),
    ),
  );
};

/** Finds scopes that no entitlement can allow, not even one of the same text. */
const unholdableScopes: FaultRule = (capability) =>
  capability.minimum_scope.flatMap((scope, index) => {
    if (entitles(scope, scope)) return [];
    const found = `no token can hold "${scope}": the only wildcard is "word:*"`;
    return [
      fault(capability.name, `minimum_scope[${index}]`, found, 'a scope such as "travel.book"'),
    ];
  });

const misplacedSideEffect: FaultRule = (capability) => {
  const { type, ...rest } = capability.side_effect;
  if (type === 'transactional') return [];
  return (['rollback_window', 'compensation'] as const)
    .filter((field) => rest[field] !== undefined)
    .map((field) =>
      fault(
        capability.name,
        `side_effect.${field}`,
        `only a transactional effect has it, not "${type}"`,
        'type: "transactional", or leave it out',
      ),
    );
};

const HANDLE = 'the name of an input of type "string" without default, resolver and policy';

const unusableBinding: FaultRule = (capability) =>
  (capability.requires_binding ?? []).flatMap(({ field }, index) => {
    const input = capability.inputs.find(({ name }) => name === field);
    const found = input ? unfitForHandle(input) : `"${field}" is not an input`;
    return found ? [fault(capability.name, `requires_binding[${index}].field`, found, HANDLE)] : [];
  });

/**
 * A handle is looked up as the caller sent it, while an approval covers the resolved parameters. If the two
 * could differ, a call could run with another binding than the approved one.
 */
function unfitForHandle(input: Input): string | undefined {
  const { name, type, resolution } = input;
  if (type !== 'string') return `input "${name}" is "${type}", not "string"`;
  const isResolved = resolverOf(input) !== undefined || needsPolicy(input);
  if (input.default === undefined && !isResolved && !resolution?.on_missing) return undefined;
  return `input "${name}" carries a handle, which is used as it is sent: it has no default, no resolver and no policy`;
}

const unknownLoggedFields: FaultRule = (capability) => {
  const fields = new Set([
    ...capability.inputs.map(({ name }) => name),
    ...capability.output.fields,
  ]);
  return (capability.observability?.fields_logged ?? [])
    .filter((field) => !fields.has(field))
    .map((field) =>
      fault(
        capability.name,
        'observability.fields_logged',
        `"${field}" is neither input nor output`,
        similar(field, fields) ?? 'the name of an input or of an output field',
      ),
    );
};

const unusableGrantPolicy: FaultRule = (capability) => {
  const policy = capability.approval?.grant_policy;
  if (!policy) return [];
  const faults: Fault[] = [];
  const at = 'approval.grant_policy';
  if (!policy.allowed_grant_types.includes(policy.default_grant_type)) {
    faults.push(
      fault(
        capability.name,
        `${at}.default_grant_type`,
        `"${policy.default_grant_type}" is not allowed`,
        'a type of allowed_grant_types',
      ),
    );
  }
  if (policy.max_uses > 1 && !policy.allowed_grant_types.includes('session_bound')) {
    faults.push(
      fault(
        capability.name,
        `${at}.max_uses`,
        'a one_time grant has one use',
        '1, or allow the type "session_bound"',
      ),
    );
  }
  return faults;
};

/** A composed capability has a composition; an atomic one has none. */
const misplacedComposition: FaultRule = (capability) => {
  if ((capability.kind === 'composed') === (capability.composition !== undefined)) return [];
  const [found, write] = capability.composition
    ? ['only a composed capability has one', 'kind: "composed", or leave it out']
    : ['a composed capability needs one', 'its steps and mappings, or kind: "atomic"'];
  return [fault(capability.name, 'composition', found, write)];
};

function grantTypes(capability: Capability): readonly string[] {
  return capability.approval?.grant_policy.allowed_grant_types ?? [];
}

const AMOUNTS = ['amount', 'upper_bound', 'range_min', 'range_max', 'typical'] as const;

const costFaults: FaultRule = (capability) => {
  const { cost } = capability;
  const financial = cost?.financial;
  if (!cost || !financial) {
    const needless = 'nothing can be overrun: the capability has no financial cost';
    return capability.on_overrun
      ? [fault(capability.name, 'on_overrun', needless, 'a cost with financial, or leave it out')]
      : [];
  }

  const found = (field: string, text: string, write: string) =>
    fault(capability.name, `cost.financial.${field}`, text, write);
  if (!isCurrency(financial.currency)) {
    return [
      found(
        'currency',
        `"${financial.currency}" is not an ISO 4217 currency`,
        'a code such as "USD"',
      ),
    ];
  }
  const unreadable = AMOUNTS.flatMap((field) => {
    const amount = financial[field];
    const wrong = amount === undefined ? undefined : amountFault(amount, financial.currency);
    return wrong ? [found(field, wrong, `an amount that ${financial.currency} has`)] : [];
  });
  const { range_min = 0, range_max = Number.POSITIVE_INFINITY, typical } = financial;
  const misplaced = [
    cost.certainty === 'fixed' && financial.amount === undefined
      ? found('amount', 'a fixed cost needs it', 'what one call costs')
      : undefined,
    cost.certainty !== 'fixed' && financial.amount !== undefined
      ? found(
          'amount',
          `only a fixed cost has it, not "${cost.certainty}"`,
          'certainty: "fixed", or leave it out',
        )
      : undefined,
    cost.certainty === 'dynamic' && financial.upper_bound === undefined
      ? found('upper_bound', 'a dynamic cost needs it', 'the most that one call costs')
      : undefined,
    range_min > range_max
      ? found('range_min', 'it is above range_max', 'at most range_max')
      : undefined,
    typical !== undefined && (typical < range_min || typical > range_max)
      ? found('typical', 'it lies outside the range', 'an amount from range_min to range_max')
      : undefined,
  ];
  return [...unreadable, ...misplaced.filter((each) => each !== undefined)];
};

const RULES: readonly FaultRule[] = [
  unknownNames,
  repeatedNames,
  unholdableScopes,
  unreadableDurations,
  misplacedSideEffect,
  compensationFaults,
  unusableBinding,
  unknownLoggedFields,
  unusableGrantPolicy,
  misplacedComposition,
  failureFaults,
  inputFaults,
  ruleFaults,
  titleFaults,
  costFaults,
  compositionFaults,
  calledFaults,
];
