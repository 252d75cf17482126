/**
 * Reading: conditions as people and programs write them, in canonical form.
 *
 * Equal conditions have one form: lists are sorted and without repeats, a list of one value is that value, and equal
 * bounds are one value. What is not understood is a fault with what to write, never ignored: a condition that is
 * dropped would be a wider authority.
 *
 * @module
 */

import { nearestName } from '../values/nearest.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { isObject } from '../wire/json.ts';
import {
  COST_PATH,
  type Condition,
  type Conditions,
  type Operator,
  type Scalar,
} from './condition.ts';
import { isDomain, isPlain, type Point, pointOf, strictPath, urlRoot } from './strict-forms.ts';

/** What is wrong at a path, and what to write instead. */
export interface ConditionFault {
  readonly path: string;
  readonly fault: string;
  readonly write: string;
}

export type ConditionsRead =
  | { readonly conditions: Conditions }
  | { readonly faults: readonly ConditionFault[] };

/** Paths of one capability; a claim of a token has room for so many. */
export const PATHS_MAX = 16;
const LIST_MAX = 32;
/** In characters. */
const TEXT_LENGTH_MAX = 256;

export function readConditions(written: unknown): ConditionsRead {
  if (!isObject(written)) {
    return {
      faults: [{ path: '', fault: 'they are no object', write: '{ amount: { at_most: 50 } }' }],
    };
  }
  const paths = Object.keys(written).sort();
  if (paths.length === 0 || paths.length > PATHS_MAX) {
    const fault = paths.length === 0 ? 'they are empty' : `they have ${paths.length} paths`;
    return { faults: [{ path: '', fault, write: `1 to ${PATHS_MAX} paths` }] };
  }
  const read = paths.map((path) => [path, readCondition(path, written[path])] as const);
  const faults = read.flatMap(([path, found]) => ('fault' in found ? [{ path, ...found }] : []));
  if (faults.length > 0) return { faults };
  return { conditions: Object.fromEntries(read) as Conditions };
}

type Fault = Omit<ConditionFault, 'path'>;

/** Names with dots between them; `*` is every element of a list, at most twice. */
const PATH = /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.(?:\*|[A-Za-z0-9_][A-Za-z0-9_-]{0,63})){0,7}$/;
const STARS_MAX = 2;

function readCondition(path: string, written: unknown): Condition | Fault {
  return pathFault(path) ?? readOperators(path, isScalar(written) ? { is: written } : written);
}

function pathFault(path: string): Fault | undefined {
  if (path === COST_PATH) return undefined;
  if (!PATH.test(path) || path.split('.').filter((each) => each === '*').length > STARS_MAX) {
    return {
      fault: 'it is no path',
      write: 'the name of an input, such as "amount", "to.*" or "price.amount"',
    };
  }
  if (!path.startsWith('svc_')) return undefined;
  return { fault: 'names with "svc_" belong to the protocol', write: 'the name of an input' };
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

const EXAMPLE = '{ at_least: 0, at_most: 50 }';

function readOperators(path: string, written: unknown): Condition | Fault {
  if (!isObject(written))
    return { fault: 'it is no condition', write: `a value, or operators such as ${EXAMPLE}` };
  const condition: Record<string, unknown> = {};
  for (const [name, operand] of Object.entries(written)) {
    const read = isOperator(name) ? READ[name as Operator](operand) : unknownOperator(name);
    if (isFault(read)) return read;
    if (read !== undefined) condition[name] = read;
  }
  if (Object.keys(condition).length === 0)
    return { fault: 'it has no operator', write: `operators such as ${EXAMPLE}` };
  return clash(path, condition) ?? canonical(condition);
}

function isFault(read: unknown): read is Fault {
  return isObject(read) && 'fault' in read;
}

export function isOperator(name: string): boolean {
  return Object.hasOwn(READ, name);
}

function unknownOperator(name: string): Fault {
  const near = nearestName(name, Object.keys(READ));
  return {
    fault: `"${name}" is no operator`,
    write: near === undefined ? `one of ${Object.keys(READ).join(', ')}` : `"${near}"`,
  };
}

type Read = (operand: unknown) => unknown;

/** The operand in canonical form, a fault, or `undefined` where it says nothing. */
const READ: Readonly<Record<Operator, Read>> = {
  is: (operand) => (isScalar(operand) ? (scalarFault(operand) ?? operand) : NO_SCALAR),
  one_of: (operand) => listOf(operand, (each) => (isScalar(each) ? scalarFault(each) : NO_SCALAR)),
  at_least: (operand) => readBound(operand),
  at_most: (operand) => readBound(operand),
  starts_with: textList(
    (text) => text.length >= 2 && !/[/\\@:]/.test(text),
    'texts of two or more characters without / \\ @ and :',
  ),
  under: textList(
    (text) => strictPath(text) !== undefined,
    'paths such as "docs" or "/srv/files", without "..", "~" and a slash at the end',
  ),
  email_domain: textList(
    (text) => isDomain(text.replace(/^\*\./, '')),
    'domains in lower case, such as "example.com" or "*.example.com"',
  ),
  url_under: textList(
    (text) => urlRoot(text) !== undefined,
    'addresses such as "https://api.example.com/v1", without a query and a slash at the end',
  ),
  absent: readFlag,
  or_absent: readFlag,
  same: (operand) =>
    typeof operand === 'string' && /^sha256:[0-9a-f]{64}$/.test(operand)
      ? operand
      : { fault: 'it is no digest', write: '"sha256:" and 64 hexadecimal digits' },
  any: readFlag,
};

const NO_SCALAR: Fault = {
  fault: 'it is no text, number or boolean',
  write: 'a text, a number, true or false',
};

function readFlag(operand: unknown): true | undefined | Fault {
  if (operand === true) return true;
  return operand === false ? undefined : { fault: 'it is neither true nor false', write: 'true' };
}

function scalarFault(value: Scalar): Fault | undefined {
  if (typeof value === 'string') return textFault(value);
  return typeof value === 'number' && !Number.isFinite(value) ? NO_SCALAR : undefined;
}

function textFault(text: string): Fault | undefined {
  if (text.length > TEXT_LENGTH_MAX) {
    return { fault: `a text has ${text.length} characters`, write: `at most ${TEXT_LENGTH_MAX}` };
  }
  if (isPlain(text)) return undefined;
  return {
    fault: 'a text has characters that a page cannot show',
    write: 'visible characters in the form NFC',
  };
}

function readBound(operand: unknown): unknown {
  if (pointOf(operand)) return operand;
  return {
    fault: `${JSON.stringify(operand)} cannot be compared`,
    write:
      'a number, a date such as "2026-11-01", or a time with its zone and at most three decimals',
  };
}

function textList(fits: (text: string) => boolean, write: string): Read {
  return (operand) =>
    listOf(operand, (each) => {
      if (typeof each !== 'string' || !fits(each))
        return { fault: `${JSON.stringify(each)} does not fit`, write };
      return textFault(each);
    });
}

function listOf(operand: unknown, faultOf: (each: unknown) => Fault | undefined): unknown {
  const list: unknown[] = Array.isArray(operand) ? operand : [operand];
  if (list.length === 0 || list.length > LIST_MAX) {
    return { fault: `a list has ${list.length} values`, write: `1 to ${LIST_MAX} values` };
  }
  for (const each of list) {
    const found = faultOf(each);
    if (found) return found;
  }
  if (new Set(list.map((each) => typeof each)).size > 1) {
    return { fault: 'the values have several types', write: 'values of one type' };
  }
  const byText = new Map(list.map((each) => [canonicalJson(each), each]));
  return [...byText.keys()].sort().map((text) => byText.get(text));
}

/** Operators that say the same twice, or that no value meets. */
function clash(path: string, condition: Condition): Fault | undefined {
  const { is, one_of, at_least, at_most, absent, or_absent, any } = condition;
  const count = Object.keys(condition).length;
  if (path === COST_PATH && (at_most === undefined || count > 1)) {
    return { fault: 'the cost has only an upper bound', write: '{ at_most: 50 }' };
  }
  if ((absent || any) && count > 1) {
    return {
      fault: `"${absent ? 'absent' : 'any'}" stands beside another operator`,
      write: 'one of them',
    };
  }
  if (or_absent && count === 1) {
    return { fault: '"or_absent" stands alone', write: '"absent", or a further operator' };
  }
  if (is !== undefined && one_of)
    return { fault: '"is" and "one_of" stand together', write: 'one of them' };
  return at_least === undefined || at_most === undefined
    ? undefined
    : boundsClash(pointOf(at_least), pointOf(at_most));
}

function boundsClash(low: Point | undefined, high: Point | undefined): Fault | undefined {
  if (!low || !high || low.kind !== high.kind) {
    return { fault: 'the bounds are of two kinds', write: 'two numbers, two dates or two times' };
  }
  if (low.value <= high.value) return undefined;
  return { fault: 'the lower bound is above the upper one', write: EXAMPLE };
}

function canonical(condition: Condition): Condition {
  const { one_of, at_least, at_most, ...rest } = condition;
  const [only, ...more] = one_of ?? [];
  // Two times of one instant may be different texts.
  const isPoint =
    at_least !== undefined && at_least === at_most && pointOf(at_least)?.kind !== 'time';
  return {
    ...rest,
    ...(only === undefined ? {} : more.length === 0 ? { is: only } : { one_of }),
    ...(isPoint && rest.is === undefined && !one_of
      ? { is: at_least }
      : { ...(at_least !== undefined && { at_least }), ...(at_most !== undefined && { at_most }) }),
  } as Condition;
}
