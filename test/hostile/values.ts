/**
 * Values that no honest caller sends: texts, numbers and shapes, and damages to a JSON value.
 *
 * Everything is drawn from a `Chance`, so one number repeats it.
 *
 * @module
 */

import type { Chance } from '../simulation/chance.ts';

/** Stands in every text that a page might show. A page that contains it as markup has not escaped it. */
const CANARY = '"><canary x=\'';

/** What a header would be called that a line break smuggled into an answer. */
export const CANARY_HEADER = 'x-canary';

export const TEXTS: readonly string[] = [
  '',
  ' ',
  'null',
  'undefined',
  'NaN',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '*',
  '-1',
  '0',
  '1e309',
  '9007199254740993',
  'true',
  '[]',
  '{}',
  '../../etc/passwd',
  '..%2f..%2f',
  '%00',
  '%',
  '%ff',
  '%0d%0aX-Canary:%201',
  `a\r\n${CANARY_HEADER}: 1\r\n\r\n`,
  'a\n\nevent: completed\ndata: {"success":true}\n\n',
  'a\u0000b',
  'a\u0085b\u2028c\u2029d',
  'a\u202eb\u2066c\u200bd\ufeffe',
  'e\u0301\u0323\u0307'.repeat(20),
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
  '\u0430gent:planner',
  'Human:alice@example.com',
  'human:alice@example.com',
  'agent:*',
  'operator:*',
  'approver:*',
  'travel.*',
  '\ufdfa'.repeat(50),
  '\ud83d\ude00'.repeat(300),
  'x'.repeat(257),
  'x'.repeat(5_000),
  "'; DROP TABLE tokens; --",
  '{{7*7}}',
  'http://169.254.169.254/latest/meta-data/',
  'javascript:alert(1)',
  '//evil.example/',
  '\\\\evil.example\\x',
  '9999-12-31T23:59:59.999+23:59',
  '0000-00-00',
  'PT99999999999999999S',
  'wait=99999999',
  CANARY,
];

const NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.1,
  0.005,
  1e-7,
  5e-324,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  1e21,
  1.7976931348623157e308,
  -1e308,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
];

/** Names that mean something to JavaScript, to us, or to a store. */
const NAMES: readonly string[] = [
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'then',
  'length',
  '0',
  '',
  'svc_approval_grant',
  'svc_x',
  'svc/task_id',
  '_meta',
  'token',
  'capability',
  'parameters',
  'success',
  'failure',
  'budget',
  'max_amount',
  'currency',
  'subject',
  'scope',
  'a b',
  '$ref',
  'stream',
  'approval_grant',
  'invocation_id',
  'idempotency_key',
  'dry_run',
  'é',
  '\u200b',
  CANARY,
];

export function hostileText(chance: Chance): string {
  const text = chance.pick(TEXTS);
  return chance.is(0.2) ? text + chance.pick(TEXTS) : text;
}

function nested(levels: number, isList: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = isList ? [value] : { a: value };
  return value;
}

function wide(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, place) => [`k${place}`, place]));
}

function hostileValue(chance: Chance): unknown {
  const kinds: readonly (() => unknown)[] = [
    () => hostileText(chance),
    () => hostileText(chance),
    () => chance.pick(NUMBERS),
    () => null,
    () => chance.is(0.5),
    () => [],
    () => ({}),
    () => nested(chance.pick([3, 20, 31, 32, 33, 70, 2_000]), chance.is(0.5)),
    () => wide(chance.pick([1, 17, 257, 2_000, 12_000])),
    () => Array.from({ length: chance.pick([1, 65, 1_001, 5_000]) }, () => hostileText(chance)),
    () => ({ [chance.pick(NAMES)]: hostileText(chance) }),
    () => [null, [hostileText(chance)], { a: chance.pick(NUMBERS) }],
  ];
  return chance.pick(kinds)();
}

/** The value with one to three parts replaced, added, repeated, renamed or left out. */
export function damaged(chance: Chance, value: unknown): unknown {
  let made = value;
  for (let left = 1 + chance.below(3); left > 0; left -= 1) made = damagedOnce(chance, made);
  return made;
}

function damagedOnce(chance: Chance, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || chance.is(0.05)) return hostileValue(chance);
  if (Array.isArray(value)) return damagedList(chance, value);
  return damagedObject(chance, value as Readonly<Record<string, unknown>>);
}

function damagedList(chance: Chance, list: readonly unknown[]): unknown {
  const at = chance.below(list.length + 1);
  if (at === list.length || chance.is(0.2)) return [...list, hostileValue(chance)];
  if (chance.is(0.2)) return list.toSpliced(at, 1);
  return list.with(at, damagedOnce(chance, list[at]));
}

function damagedObject(chance: Chance, value: Readonly<Record<string, unknown>>): unknown {
  const names = Object.keys(value);
  if (names.length === 0 || chance.is(0.25)) {
    return { ...value, [chance.pick(NAMES)]: hostileValue(chance) };
  }
  const name = chance.pick(names);
  const { [name]: part, ...others } = value;
  if (chance.is(0.15)) return others;
  if (chance.is(0.15)) return { ...others, [chance.pick(NAMES)]: part };
  return { ...value, [name]: damagedOnce(chance, part) };
}
