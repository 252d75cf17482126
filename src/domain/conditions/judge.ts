/**
 * Judging: whether the arguments of a call are within conditions.
 *
 * There are three results. Where a condition allows, only `in` counts; where it triggers, everything but `out` counts.
 * So a value that is missing, of another type or oddly written never helps the caller. Values are not normalised.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';
import { canonicalJson, textDigest } from '../wire/canonical.ts';
import { isObject } from '../wire/json.ts';
import { visibleText } from '../wire/visible-text.ts';
import {
  admitsAbsence,
  COST_PATH,
  type Condition,
  type Conditions,
  EACH,
  listedValues,
  type Scalar,
} from './condition.ts';
import {
  addressDomain,
  isDomainIn,
  isPathUnder,
  isUrlUnder,
  pointOf,
  type StrictPath,
  type StrictUrl,
  strictPath,
  strictUrl,
  urlRoot,
} from './strict-forms.ts';

export type Result = 'in' | 'out' | 'unclear';

/** Whether a call needs the conditions to hold, or something happens when they may hold. */
export type Position = 'allows' | 'triggers';

export interface Arguments {
  readonly parameters: JsonObject;
  /** The amount that is checked, in the currency of the capability; absent where it is not known yet. */
  readonly cost?: number | undefined;
}

/** A condition that did not hold. The value is not in it. */
export interface Unmet {
  readonly at: string;
  readonly found: 'outside' | 'missing' | 'unreadable';
}

export interface Judged {
  readonly result: Result;
  readonly unmet: readonly Unmet[];
}

/** Elements of a list. A longer one is not judged. */
const ELEMENTS_MAX = 1_000;

export function judge(conditions: Conditions, args: Arguments, position: Position): Judged {
  const unmet: Unmet[] = [];
  let result: Result = 'in';
  for (const { path, judgeAt } of compiled(conditions)) {
    const found = judgeAt(args, position);
    if (found === 'in') continue;
    unmet.push({ at: path, found: FOUND[found] });
    if (result !== 'out') result = found === 'out' ? 'out' : 'unclear';
  }
  return { result, unmet };
}

/** `missing` is `unclear` with a name of its own. */
type Finding = Result | 'missing';

const FOUND = { out: 'outside', unclear: 'unreadable', missing: 'missing' } as const;

interface Judge {
  readonly path: string;
  judgeAt(args: Arguments, position: Position): Finding;
}

/** Operands are read once for each object of conditions. */
const COMPILED = new WeakMap<Conditions, readonly Judge[]>();

function compiled(conditions: Conditions): readonly Judge[] {
  let judges = COMPILED.get(conditions);
  if (!judges) {
    judges = Object.entries(conditions).map(([path, condition]) => judgeFor(path, condition));
    COMPILED.set(conditions, judges);
  }
  return judges;
}

function judgeFor(path: string, condition: Condition): Judge {
  const judgeValue = valueJudge(condition);
  if (path === COST_PATH) {
    return { path, judgeAt: ({ cost }, position) => judgeValue(cost, position) };
  }
  const [name = '', ...rest] = path.split('.');
  return {
    path,
    // A parameter that is null is one that was not sent.
    judgeAt: ({ parameters }, position) =>
      judgeBelow(memberOf(parameters, name) ?? undefined, rest, { judgeValue, position }),
  };
}

type ValueJudge = (value: unknown, position: Position) => Finding;

interface Below {
  readonly judgeValue: ValueJudge;
  readonly position: Position;
}

function judgeBelow(value: unknown, rest: readonly string[], below: Below): Finding {
  const [segment, ...further] = rest;
  if (segment === undefined || value === undefined) return below.judgeValue(value, below.position);
  if (segment === EACH) {
    if (!Array.isArray(value)) return 'unclear';
    return judgeEach(value, further, below);
  }
  if (!isObject(value)) return 'unclear';
  return judgeBelow(memberOf(value, segment), further, below);
}

/** Own members only: an inherited one is no argument. */
function memberOf(value: JsonObject, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/**
 * Allowing: there is an element, and each must be within. Triggering: one that may be within is enough, or a harmless
 * recipient would hide another.
 */
function judgeEach(values: readonly unknown[], rest: readonly string[], below: Below): Finding {
  if (values.length === 0) return 'missing';
  if (values.length > ELEMENTS_MAX) return 'unclear';
  const wins: Finding[] = below.position === 'allows' ? ['out', 'unclear'] : ['in', 'unclear'];
  const found = new Set(values.map((each) => judgeBelow(each, rest, below)));
  // What is missing in an element is not clear in the list.
  if (found.delete('missing')) found.add('unclear');
  return wins.find((each) => found.has(each)) ?? (below.position === 'allows' ? 'in' : 'out');
}

/** One operator with its operand: a result for a value that is there. */
type Check = (value: unknown, position: Position) => Result;

function valueJudge(condition: Condition): ValueJudge {
  const checks = checksOf(condition);
  const hasAbsence = admitsAbsence(condition);
  return (value, position) => {
    if (value === undefined) return hasAbsence ? 'in' : 'missing';
    if (condition.absent) return 'out';
    let result: Result = 'in';
    for (const check of checks) {
      const found = check(value, position);
      if (found === 'out') return 'out';
      if (found === 'unclear') result = 'unclear';
    }
    return result;
  };
}

/** Whether a value that is there is within the condition, exactly. */
export function admits(condition: Condition, value: unknown): boolean {
  return valueJudge(condition)(value, 'allows') === 'in';
}

function checksOf(condition: Condition): Check[] {
  const { at_least, at_most, starts_with, under, email_domain, url_under, same } = condition;
  const listed = listedValues(condition);
  return [
    ...(listed ? [listCheck(listed)] : []),
    ...(at_least === undefined ? [] : [boundCheck(at_least, (value, bound) => value >= bound)]),
    ...(at_most === undefined ? [] : [boundCheck(at_most, (value, bound) => value <= bound)]),
    ...(starts_with ? [startCheck(starts_with)] : []),
    ...(under ? [pathCheck(under)] : []),
    ...(email_domain ? [domainCheck(email_domain)] : []),
    ...(url_under ? [urlCheck(url_under)] : []),
    ...(same === undefined ? [] : [sameCheck(same)]),
  ];
}

function listCheck(listed: readonly Scalar[]): Check {
  const known = new Set<unknown>(listed);
  const type = typeof listed[0];
  const folded = new Set(listed.filter((each) => typeof each === 'string').map(fold));
  return (value, position) => {
    if (known.has(value)) return 'in';
    if (typeof value !== type) return 'unclear';
    return position === 'triggers' &&
      typeof value === 'string' &&
      isLike(value, (text) => folded.has(text))
      ? 'unclear'
      : 'out';
  };
}

function boundCheck(
  operand: number | string,
  holds: (value: number | string, bound: number | string) => boolean,
): Check {
  const bound = pointOf(operand);
  return (value) => {
    const point = pointOf(value);
    if (!point || !bound || point.kind !== bound.kind) return 'unclear';
    return holds(point.value, bound.value) ? 'in' : 'out';
  };
}

function startCheck(starts: readonly string[]): Check {
  const folded = starts.map(fold);
  return (value, position) => {
    if (typeof value !== 'string') return 'unclear';
    if (starts.some((each) => value.startsWith(each))) return 'in';
    const isNear =
      position === 'triggers' &&
      isLike(value, (text) => folded.some((each) => text.startsWith(each)));
    return isNear ? 'unclear' : 'out';
  };
}

function pathCheck(under: readonly string[]): Check {
  const roots = under.map(strictPath) as StrictPath[];
  const folded = under.map((each) => strictPath(fold(each)));
  return (value, position) => {
    const path = typeof value === 'string' ? strictPath(value) : undefined;
    if (!path) return 'unclear';
    if (roots.some((root) => isPathUnder(root, path))) return 'in';
    // Where a relative path begins is not known here.
    if (roots.every(({ isAbsolute }) => isAbsolute !== path.isAbsolute)) return 'unclear';
    const isNear =
      position === 'triggers' &&
      isLike(value as string, (text) => {
        const like = strictPath(text);
        return !like || folded.some((root) => !root || isPathUnder(root, like));
      });
    return isNear ? 'unclear' : 'out';
  };
}

function domainCheck(domains: readonly string[]): Check {
  return (value) => {
    const domain = typeof value === 'string' ? addressDomain(value) : undefined;
    if (domain === undefined) return 'unclear';
    return domains.some((each) => isDomainIn(each, domain)) ? 'in' : 'out';
  };
}

function urlCheck(under: readonly string[]): Check {
  const roots = under.map(urlRoot) as StrictUrl[];
  return (value) => {
    const url = typeof value === 'string' ? strictUrl(value) : undefined;
    if (!url) return 'unclear';
    return roots.some((root) => isUrlUnder(root, url)) ? 'in' : 'out';
  };
}

function sameCheck(digest: string): Check {
  return (value) => (textDigest(canonicalJson(value)) === digest ? 'in' : 'out');
}

/** In characters: a longer text is not compared as a person would read it. */
const LIKE_LENGTH_MAX = 4_096;

/** Whether a person, or a server that ignores case and width, may take the text for one that matches. */
function isLike(text: string, matches: (folded: string) => boolean): boolean {
  if (text.length > LIKE_LENGTH_MAX || visibleText(text) !== text) return true;
  return matches(fold(text));
}

function fold(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim()
    .toUpperCase()
    .toLowerCase();
}
