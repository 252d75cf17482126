/**
 * Rules on the inputs of a declaration: names, defaults, closed sets, and how a value is resolved.
 *
 * @module
 */

import type { Capability, Input, ResolutionBehavior } from '../protocol/capability.ts';
import { canonicalJson } from './canonical.ts';
import { type Fault, type FaultRule, fault, repeated } from './catalog-fault.ts';
import { wrongType } from './input-type.ts';

/** Names that carry continuation data on some transports; a handler never gets one. */
export const RESERVED_INPUT_PREFIX = 'svc_';

export const inputFaults: FaultRule = (capability) => [
  ...repeated(capability.inputs.map(({ name }) => name)).map((name) =>
    fault(capability.name, 'inputs', `"${name}" stands twice`),
  ),
  ...capability.inputs.flatMap((input, index) =>
    INPUT_RULES.flatMap((rule) => rule(input)).map(([field, found]) =>
      fault(capability.name, [`inputs[${index}]`, field].filter(Boolean).join('.'), found),
    ),
  ),
  ...unusableThreshold(capability),
];

export type Found = [field: string, found: string];
type InputRule = (input: Input) => Found[];

const reservedName: InputRule = ({ name }) =>
  name.startsWith(RESERVED_INPUT_PREFIX)
    ? [['name', `"${RESERVED_INPUT_PREFIX}" is reserved`]]
    : [];

const unusableDefault: InputRule = (input) => {
  if (input.default === undefined) return [];
  const wrong = wrongType(input.type, input.default);
  if (wrong) return [['default', wrong]];
  if (!input.allowed_values || includesJson(input.allowed_values, input.default)) return [];
  return [['default', `${JSON.stringify(input.default)} is not among allowed_values`]];
};

const unusableAllowedValues: InputRule = (input) => {
  const values = input.allowed_values ?? [];
  return [
    ...values.flatMap((value): Found[] => {
      const wrong = wrongType(input.type, value);
      return wrong ? [['allowed_values', wrong]] : [];
    }),
    ...repeated(values.map(canonicalJson)).map(
      (text): Found => ['allowed_values', `${text} stands twice`],
    ),
  ];
};

const unusableResolution: InputRule = (input) => {
  const { resolution } = input;
  if (!resolution) return [];
  const found: Found[] = [];
  if (resolution.mode === 'closed_values' && !input.allowed_values) {
    found.push(['allowed_values', 'mode "closed_values" needs them']);
  }
  if (resolution.mode === 'backend_resolved' && !resolution.resolver_ref && !input.catalog_ref) {
    found.push(['resolution', 'mode "backend_resolved" needs a resolver_ref or a catalog_ref']);
  }
  if (input.default === undefined) {
    for (const [field] of behaviors(input).filter(([, behavior]) => behavior === 'use_default')) {
      found.push([`resolution.${field}`, '"use_default" needs a default']);
    }
  }
  return found;
};

/** An identifier is short and readable; what looks like a key or a password is neither. */
const secretReference: InputRule = (input) => {
  const references: [field: string, text: string | undefined][] = [
    ['catalog_ref', input.catalog_ref],
    ['resolution.resolver_ref', input.resolution?.resolver_ref],
  ];
  return references
    .filter(([, text]) => text !== undefined && looksSecret(text))
    .map(([field]): Found => [field, 'it looks like secret material, not like an identifier']);
};

const INPUT_RULES: readonly InputRule[] = [
  reservedName,
  unusableDefault,
  unusableAllowedValues,
  unusableResolution,
  secretReference,
];

/** An approval threshold on an input needs a number to compare; on the cost, a cost. */
function unusableThreshold(capability: Capability): Fault[] {
  const when = capability.approval?.when;
  if (typeof when !== 'object' || !('amount_above' in when)) return [];
  const at = 'approval.when';
  if (when.input === undefined) {
    return capability.cost?.financial
      ? []
      : [fault(capability.name, at, 'there is no cost to compare')];
  }
  const input = capability.inputs.find(({ name }) => name === when.input);
  if (input?.type === 'number' || input?.type === 'integer') return [];
  return [fault(capability.name, `${at}.input`, `"${when.input}" is no input of type number`)];
}

function behaviors({ resolution }: Input): [string, ResolutionBehavior | undefined][] {
  return [
    ['on_missing', resolution?.on_missing],
    ['on_ambiguous', resolution?.on_ambiguous],
    ['on_unresolved', resolution?.on_unresolved],
  ];
}

function includesJson(values: readonly unknown[], value: unknown): boolean {
  const text = canonicalJson(value);
  return values.some((each) => canonicalJson(each) === text);
}

/** Prefixes under which well-known issuers hand out keys, wherever a name begins. */
const KEY_PREFIX =
  /(?:^|[./:])(?:(?:sk|pk|rk)[-_](?:live|test|proj|ant)[-_]|gh[pousr]_|github_pat_|glpat-|shpat_|A[KS]IA|AIza|xox[abeprs]-|eyJ)/;

/** Words that announce a secret. Plurals do not, and "turkey" is no key. */
const ANNOUNCED =
  '(?:(?<![a-z])pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|bearer|(?:(?<![a-z])|api|access|private|secret)key)';

/**
 * A colon joins a name and a value, whichever comes first. A word that goes on ("password_policies")
 * announces nothing. The schema of a reference has no "=".
 */
const ASSIGNED = new RegExp(`${ANNOUNCED}:|:(?:[a-z]+[-_.]?)?${ANNOUNCED}(?=[./:]|$)`, 'i');

/** Other separators also join the words of a name, so only a part with letters and digits is a value. */
const VALUE = '(?=[a-z\\d]*\\d)(?=\\d*[a-z])[a-z\\d]{6,}';
const JOINED = new RegExp(
  `${ANNOUNCED}[-_./]${VALUE}|(?<![a-z\\d])${VALUE}[-_./](?:api[-_.]?)?${ANNOUNCED}(?![a-z])`,
  'i',
);

/** An id that names something and opens nothing. */
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;

function looksSecret(reference: string): boolean {
  if ([KEY_PREFIX, ASSIGNED, JOINED].some((pattern) => pattern.test(reference))) return true;
  return reference
    .replaceAll(UUID, '')
    .split(/[./:_-]/)
    .some(isRandom);
}

/** Digits end a word ("iso4217", "v2"). A part in which words go on after digits is hardly a name. */
function isRandom(part: string): boolean {
  if (part.length >= 20) return /\d/.test(part) && /[A-Za-z]/.test(part);
  return part.length >= 8 && /\d[A-Za-z].*\d[A-Za-z]/.test(part);
}
