/**
 * Conditions in words, for pages, messages and descriptions. Conditions that differ have different words.
 *
 * @module
 */

import type { ApprovalCondition, Regions } from '../../protocol/capability.ts';
import {
  COST_PATH,
  type Condition,
  type Conditions,
  listedValues,
  type Scalar,
} from './condition.ts';

/** What happens to calls by their arguments: `when` they may be within a region, `unless` they are within one. */
export type Rule = { readonly when: Regions } | { readonly unless: Regions };

/** The catalog has read them: they are in canonical form. */
export function regionsOf(rule: Rule): readonly Conditions[] {
  const regions = 'when' in rule ? rule.when : rule.unless;
  return (Array.isArray(regions) ? regions : [regions]) as readonly Conditions[];
}

/** The rule of an approval; none where a person always approves, or where a predicate of the author decides. */
export function approvalRule(when: ApprovalCondition | undefined): Rule | undefined {
  if (typeof when !== 'object' || 'condition' in when) return undefined;
  return 'where' in when ? { when: when.where } : when;
}

/** Longer words are no help to the reader of a message. */
const WORDS_LENGTH_MAX = 600;

/** "unless path is in docs/", "when amount is from 0 to 5, or currency is "EUR"". */
export function ruleWords(rule: Rule): string {
  const cases = regionsOf(rule).map((each) => conditionWords(each).join(', and '));
  const words = cases.join(', or ');
  const position = 'when' in rule ? 'when' : 'unless';
  return words.length > WORDS_LENGTH_MAX
    ? `${position} its arguments are as the manifest says`
    : `${position} ${words}`;
}

/** One sentence for each path, such as `amount is from 0 to 50`. */
export function conditionWords(conditions: Conditions): string[] {
  // A database may have the paths in an order of its own.
  const paths = Object.keys(conditions).sort();
  return paths.map((path) => `${subjectOf(path)} ${predicateOf(conditions[path] as Condition)}`);
}

function subjectOf(path: string): string {
  if (path === COST_PATH) return 'the cost';
  return path.includes('*') ? `each ${path.replace(/^([^.]+)\.\*$/, '$1')}` : path;
}

function predicateOf(condition: Condition): string {
  const { starts_with, under, email_domain, url_under, absent, or_absent, same, any } = condition;
  if (any) return 'can be anything';
  if (absent) return 'is left out';
  const listed = listedValues(condition);
  const parts = [
    ...(listed ? [`is ${either(listed.map(quoted))}`] : []),
    ...boundWords(condition),
    ...(starts_with ? [`begins with ${either(starts_with.map(quoted))}`] : []),
    ...(under ? [`is in ${either(under.map((each) => `${each}/`))}`] : []),
    ...(email_domain ? [`is an address at ${either(email_domain)}`] : []),
    ...(url_under ? [`is at ${either(url_under)} or below`] : []),
    ...(same === undefined ? [] : [`is as in this call (${same})`]),
  ];
  return `${parts.join(' and ')}${or_absent ? ', or left out' : ''}`;
}

function boundWords({ at_least, at_most }: Condition): string[] {
  if (at_least === undefined) return at_most === undefined ? [] : [`is at most ${at_most}`];
  return [at_most === undefined ? `is at least ${at_least}` : `is from ${at_least} to ${at_most}`];
}

/** A text in quotes: it cannot pass for words of the service. */
function quoted(value: Scalar): string {
  return JSON.stringify(value);
}

function either(texts: readonly string[]): string {
  return texts.join(' or ');
}
