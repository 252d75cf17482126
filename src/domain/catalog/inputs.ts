/**
 * Rules on the inputs of a declaration: names, defaults, closed sets, and how a value is resolved.
 *
 * @module
 */

import type { Input, ResolutionBehavior } from '../../protocol/capability.ts';
import { wrongType } from '../invocation/inputs.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { duplicates, type FaultRule, fault } from './fault.ts';

/** Names with this prefix carry continuation data on some transports. Handlers never receive them. */
export const RESERVED_INPUT_PREFIX = 'svc_';

export const inputFaults: FaultRule = (capability) => [
  ...duplicates(capability.inputs.map(({ name }) => name)).map((name) =>
    fault(capability.name, 'inputs', `"${name}" appears twice`, 'each name once'),
  ),
  ...capability.inputs.flatMap((input, index) =>
    INPUT_RULES.flatMap((rule) => rule(input)).map(([field, found, write]) =>
      fault(capability.name, [`inputs[${index}]`, field].filter(Boolean).join('.'), found, write),
    ),
  ),
];

/** `write`: what to write instead. */
export type Found = [field: string, found: string, write: string];
type InputRule = (input: Input) => Found[];

const reservedName: InputRule = ({ name }) =>
  name.startsWith(RESERVED_INPUT_PREFIX)
    ? [['name', `"${RESERVED_INPUT_PREFIX}" is reserved`, 'a name without this prefix']]
    : [];

const unusableDefault: InputRule = (input) => {
  if (input.default === undefined) return [];
  const wrong = wrongType(input.type, input.default);
  if (wrong) return [['default', wrong, `a value of type "${input.type}"`]];
  if (!input.allowed_values || includesJson(input.allowed_values, input.default)) return [];
  const strange = `${JSON.stringify(input.default)} is not among allowed_values`;
  return [['default', strange, 'one of allowed_values']];
};

const unusableAllowedValues: InputRule = (input) => {
  const values = input.allowed_values ?? [];
  return [
    ...values.flatMap((value): Found[] => {
      const wrong = wrongType(input.type, value);
      return wrong ? [['allowed_values', wrong, `values of type "${input.type}"`]] : [];
    }),
    ...duplicates(values.map(canonicalJson)).map(
      (text): Found => ['allowed_values', `${text} appears twice`, 'each value once'],
    ),
  ];
};

const unusableResolution: InputRule = (input) => {
  const { resolution } = input;
  if (!resolution) return [];
  const found: Found[] = [];
  if (resolution.mode === 'closed_values' && !input.allowed_values) {
    found.push(['allowed_values', 'mode "closed_values" needs them', 'the list of values']);
  }
  if (resolution.mode === 'backend_resolved' && !resolution.resolver_ref && !input.catalog_ref) {
    const nameless = 'mode "backend_resolved" needs a resolver_ref or a catalog_ref';
    found.push(['resolution', nameless, 'resolver_ref: the name of a resolver']);
  }
  if (input.default === undefined) {
    for (const [field] of behaviors(input).filter(([, behavior]) => behavior === 'use_default')) {
      const write = 'a default of the input, or another behavior';
      found.push([`resolution.${field}`, '"use_default" needs a default', write]);
    }
  }
  return found;
};

/** Decision 14: a reference has the form of a name and contains no word for a secret. */
const unusableReference: InputRule = (input) => {
  const references: [field: string, text: string | undefined][] = [
    ['catalog_ref', input.catalog_ref],
    ['resolution.resolver_ref', input.resolution?.resolver_ref],
  ];
  return references.flatMap(([field, text]): Found[] => {
    const found = text === undefined ? undefined : referenceFault(text);
    return found === undefined ? [] : [[field, found, 'a name without a word for a secret']];
  });
};

const INPUT_RULES: readonly InputRule[] = [
  reservedName,
  unusableDefault,
  unusableAllowedValues,
  unusableResolution,
  unusableReference,
];

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

/** Digits may only end a word ("iso4217", "v2"). "b2b" is the one other form. */
const WORD = '(?:[a-z]{1,24}\\d{0,4}|[a-z]\\d[a-z]|\\d{1,4})';

/** Such as "s3:" or "crm.eu:". */
const NAMESPACE = '[a-z]{1,24}\\d{0,4}(?:[._-][a-z]{1,24}\\d{0,4})*:';

/**
 * A word for an account at the start or end of the part before the first ":" or "/" suggests that a
 * password follows: "root:toor" and "root.x/toor" are refused, "crm:customers" is not.
 */
const ACCOUNT = '(?:user|username|root|admin|administrator|login|basic|email)';
const LOGIN = `(?:${ACCOUNT}(?:[._-][^:/]*)?|[^:/]*[._-]${ACCOUNT})[:/]`;

const REFERENCE = new RegExp(`^(?!${LOGIN})(?:${NAMESPACE})?${WORD}(?:[._/-]${WORD})*$`);

/** Words for a secret, also in the plural or with a number. "passengers" and "turkey" do not match. */
const SECRET_WORD = new RegExp(
  `(?:^|[._/:-])(?:${[
    '[a-z]*(?:password|passwd|passphrase|passcode|pwd|credential)[a-z]*',
    '[a-z]*(?:secret|token|bearer|jwt|creds)',
    '(?:api|ssh|pgp|gpg|aws|access|account|client|pass|private|public|secret|session|sign|signing|encryption|master|host|auth)?key',
    'cred|pass|pw|pin|otp|totp|auth',
  ].join('|')})s?\\d*(?=$|[._/:-])`,
);

/** Key prefixes of well-known issuers, at the start of any part of a name. */
const KEY_PREFIX =
  /(?:^|[./:])(?:(?:sk|pk|rk)[-_](?:live|test|proj|ant)[-_]|gh[pousr]_|github_pat_|glpat-|shpat_|whsec_|npm_|hf_|dop_v1_|xox[abeprs]-)/;

function referenceFault(reference: string): string | undefined {
  // Splits camel case: "customerDirectory" is two words. Capitals in other places suggest a key.
  const words = reference.replace(/(?<=[a-z])(?=[A-Z][a-z])/g, '-');
  if (/[A-Z]{7}|[a-z][A-Z]/.test(words) || !REFERENCE.test(words.toLowerCase())) {
    return 'expected a name such as "airports", "travel/airports.v2" or "crm:customers"';
  }
  const text = words.toLowerCase();
  if (!SECRET_WORD.test(text) && !KEY_PREFIX.test(reference)) return undefined;
  return 'it looks like secret material';
}
