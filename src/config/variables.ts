/**
 * Variables that begin with `WRIT_` and are no setting: which of them stop a start, and which are ignored. Also the
 * messages about settings: what is expected, and which setting may be meant.
 *
 * A name near that of a setting is a mistake of the operator, and would silently leave the default in force. Other names come from elsewhere,
 * such as those that Kubernetes adds to every container beside a Service called `writ`. No message repeats a value: it may be a secret.
 *
 * @module
 */

import type * as z from 'zod';
import { KINDS } from '../domain/values/kinds.ts';
import { nearestName } from '../domain/values/nearest.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The variable of each setting; a list has none. */
type VariableOf = Readonly<Record<string, string | undefined>>;

/** Variables of commands and tests, which are no settings. */
const OF_COMMANDS = /^WRIT_(?:(?:TEST|CLIENT)_|LOGINS$)/;

/** What Kubernetes makes of a Service called `writ` or `writ-…`. */
const OF_KUBERNETES =
  /^WRIT_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$/;

/** The faults of variables that were meant as settings, and the names of those that are ignored. */
export function strayVariables(
  environment: Environment,
  variableOf: VariableOf,
): { faults: string[]; ignored: string[] } {
  const known = new Set(Object.values(variableOf));
  const stray = Object.entries(environment).filter(
    ([name]) => name.startsWith('WRIT_') && !OF_COMMANDS.test(name) && !known.has(name),
  );
  const found = stray.map(([name, value]) => ({
    name,
    meant: isOfKubernetes(name, value) ? undefined : settingMeant(name, variableOf),
  }));
  return {
    faults: found.flatMap(({ name, meant }) =>
      meant === undefined ? [] : [`Cannot use variable "${name}": ${meant}`],
    ),
    ignored: found.flatMap(({ name, meant }) => (meant === undefined ? [name] : [])),
  };
}

/** What to do about ignored variables. */
export function variableAdvice(ignored: readonly string[]): string {
  return ignored.some((name) => isOfKubernetes(name, 'tcp://'))
    ? 'Kubernetes adds them for a Service whose name begins with "writ": set enableServiceLinks: false in the pod'
    : 'docs/configuration.md lists the settings';
}

/** `WRIT_PORT` is also what a person writes who means the setting. Kubernetes gives it an address. */
function isOfKubernetes(name: string, value = ''): boolean {
  return OF_KUBERNETES.test(name) && (name !== 'WRIT_PORT' || /^\w+:\/\//.test(value));
}

/** Some settings have a variable with another name, and lists have none. The prefix is the same in all, so it does not make names similar. */
function settingMeant(name: string, variableOf: VariableOf): string | undefined {
  const setting = name.slice('WRIT_'.length).toLowerCase();
  if (Object.hasOwn(variableOf, setting)) {
    const variable = variableOf[setting];
    return variable === undefined
      ? `the setting "${setting}" is for the configuration file`
      : `the variable of the setting "${setting}" is ${variable}`;
  }
  const nearest = nearestName(setting, Object.keys(variableOf));
  return nearest && `there is no such setting; did you mean "${variableOf[nearest] ?? nearest}"?`;
}

type Issue = z.core.$ZodIssue;

const LISTED = 'docs/configuration.md lists the settings';

/** The message of the schema if it has one, else its rule in words. */
export function expectedBy(issue: Issue): string {
  if (!/^(?:Invalid|Too (?:big|small))\b/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'too_big':
      return `expected at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'too_small':
      return tooSmall(issue);
    case 'invalid_type':
      return `expected ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `expected ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'invalid_format':
      return issue.format === 'url'
        ? 'expected an address such as https://desk.example.com'
        : issue.message;
    default:
      return issue.message;
  }
}

function tooSmall({ origin, minimum, inclusive }: z.core.$ZodIssueTooSmall): string {
  if (origin === 'string' && minimum === 1) return 'expected a text, not an empty one';
  return `expected ${inclusive ? 'at least' : 'more than'} ${minimum}${unitOf(origin)}`;
}

function unitOf(origin: string): string {
  return { string: ' characters', array: ' items' }[origin] ?? '';
}

/** For an unknown setting: a similar name, or the page with all settings. */
export function noSuchSetting(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  const hint = nearest ? `did you mean "${nearest}"?` : LISTED;
  return `there is no such setting; ${hint}`;
}
