/**
 * Conditions in words, for pages, messages and descriptions. Conditions that differ have different words.
 *
 * @module
 */

import {
  COST_PATH,
  type Condition,
  type Conditions,
  listedValues,
  type Scalar,
} from './condition.ts';

/** One sentence for each path, such as `amount is from 0 to 50`. */
export function conditionWords(conditions: Conditions): string[] {
  return Object.entries(conditions).map(
    ([path, condition]) => `${subjectOf(path)} ${predicateOf(condition)}`,
  );
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
