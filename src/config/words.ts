/**
 * Messages about settings: what is expected, and which setting may be meant.
 *
 * Never repeats a value: it may be a secret.
 *
 * @module
 */

import type * as z from 'zod';
import { KINDS } from '../domain/values/kinds.ts';
import { nearestName } from '../domain/values/nearest.ts';

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
