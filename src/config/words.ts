/**
 * Messages about settings: what is expected, and which setting may be meant.
 *
 * Never repeats a value: it may be a secret.
 *
 * @module
 */

import type * as z from 'zod';

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

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function unitOf(origin: string): string {
  return { string: ' characters', array: ' items' }[origin] ?? '';
}

/** For an unknown setting: a similar name, or the page with all settings. */
export function noSuchSetting(name: string, known: Iterable<string>): string {
  const [nearest] = [...known]
    .map((each) => ({ each, distance: distanceOf(name, each) }))
    .filter(({ distance }) => distance <= Math.max(2, name.length / 3))
    .sort((one, other) => one.distance - other.distance);
  const hint = nearest ? `did you mean "${nearest.each}"?` : LISTED;
  return `there is no such setting; ${hint}`;
}

/** The Levenshtein distance: letters to insert, remove or replace. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let place = 1; place <= other.length; place += 1) {
      const replaced = (row[place - 1] ?? 0) + (letter === other[place - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[place] ?? 0) + 1, (next[place - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
