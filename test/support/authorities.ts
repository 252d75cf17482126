/**
 * Authorities and requests of every kind, and an oracle that says in what a child reaches further.
 *
 * The oracle is written from the text of the decisions and shares no code with the rules it judges.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import type { Authority } from '../../src/domain/authority/narrowing.ts';
import type { DisclosureLevel } from '../../src/protocol/trust.ts';

/** Begins a quarter into a second, so that a rule which forgets to cut it is found. */
export const NOW = new Date('2030-01-01T00:00:00.250Z');

export function inSeconds(seconds: number): Date {
  return new Date(Date.parse('2030-01-01T00:00:00Z') + seconds * 1_000);
}

export function disclosure(callerClass: string): DisclosureLevel {
  return LEVELS.get(callerClass) ?? 'reduced';
}

const LEVELS = new Map<string, DisclosureLevel>([
  ['internal', 'full'],
  ['automated_agent', 'full'],
  ['partner', 'reduced'],
  ['default', 'reduced'],
  ['quiet', 'redacted'],
]);

/** The dimensions in which `child` is no subset of `ancestor`. */
export function widened(ancestor: Authority, child: Authority): string[] {
  const subset: Record<string, boolean> = {
    scope: child.scope.every((scope) => ancestor.scope.some((held) => reaches(held, scope))),
    capability: ancestor.capability === undefined || child.capability === ancestor.capability,
    purpose: Object.entries(ancestor.purpose).every(
      ([key, value]) =>
        Object.hasOwn(child.purpose, key) && isDeepStrictEqual(child.purpose[key], value),
    ),
    budget:
      !ancestor.budget ||
      (child.budget !== undefined && child.budget.max_amount <= ancestor.budget.max_amount),
    currency: !ancestor.budget || child.budget?.currency === ancestor.budget.currency,
    expiry: child.expires_at.getTime() <= ancestor.expires_at.getTime(),
    wholeSeconds: child.expires_at.getTime() % 1_000 === 0,
    depth: child.depth > ancestor.depth && child.depth <= ancestor.max_delegation_depth,
    maxDepth: child.max_delegation_depth <= ancestor.max_delegation_depth,
    callerClass: seen(child.caller_class) <= seen(ancestor.caller_class),
    branches: !(
      ancestor.concurrent_branches === 'exclusive' && child.concurrent_branches === 'allowed'
    ),
    session: child.session_id === ancestor.session_id,
    conditions: [...Object.entries(ancestor.conditions ?? {})].every(
      ([name, { inputs, where }]) => {
        const held = child.conditions?.[name];
        return isDeepStrictEqual(held?.inputs, inputs) && isSubset(held?.where ?? {}, where);
      },
    ),
    root: child.root_principal === ancestor.root_principal,
    human: !child.subject.startsWith('human:') || ancestor.subject.startsWith('human:'),
  };
  return Object.keys(subset).filter((dimension) => !subset[dimension]);
}

/** The constraints that were asked for and did not come. A longer lifetime is the one exception. */
export function ignored(raw: Readonly<Record<string, unknown>>, child: Authority): string[] {
  const { purpose_parameters, ttl_hours, parent_token, conditions, ...exact } = raw;
  const { pay = {} } = (conditions ?? {}) as Record<string, Record<string, object>>;
  const where: Record<string, object> = child.conditions?.pay?.where ?? {};
  const lost = Object.entries(pay ?? {}).filter(
    ([path, condition]) =>
      !UNIVERSE.every((value) => !admits(where[path], value) || admits(condition, value)),
  );
  const purpose = Object.entries((purpose_parameters as object | null) ?? {});
  return [
    ...missingFrom(child, Object.entries(exact)),
    ...missingFrom(child.purpose, purpose),
    ...lost.map(([path]) => `conditions of ${path}`),
    ...(typeof ttl_hours === 'number' && livesLonger(child, ttl_hours) ? ['ttl_hours'] : []),
  ];
}

/** Values of the inputs, none of them included. */
const UNIVERSE: readonly unknown[] = [undefined, -1, 0, 1, 5, 50, 51];

/** Of the operators that requests have: bounds, one value, and absence beside them. */
function admits(condition: Record<string, unknown> | object | undefined, value: unknown): boolean {
  const { is, at_least, at_most, or_absent } = (condition ?? {
    or_absent: true,
    any: true,
  }) as Record<string, unknown>;
  if (value === undefined) return or_absent === true;
  if (is !== undefined) return value === is;
  const number = value as number;
  return number >= Number(at_least ?? -Infinity) && number <= Number(at_most ?? Infinity);
}

function isSubset(child: object, ancestor: object): boolean {
  return Object.entries(ancestor).every(([path, condition]) =>
    UNIVERSE.every((value) => !admits(Reflect.get(child, path), value) || admits(condition, value)),
  );
}

function missingFrom(holder: object, asked: [string, unknown][]): string[] {
  return asked
    .filter(([, value]) => value !== undefined && value !== null)
    .filter(([key, value]) => !isDeepStrictEqual(Reflect.get(holder, key), value))
    .map(([key]) => key);
}

/** No token lives for less than the second in which it is made. */
function livesLonger(child: Authority, hours: number): boolean {
  return child.expires_at.getTime() - NOW.getTime() > Math.max(1_000, hours * 3_600_000 + 1);
}

/** Exact text, or a single word, a colon and a star for anything longer behind the colon. */
function reaches(held: string, scope: string): boolean {
  const [word, star, ...more] = held.split(':');
  const wildcard = star === '*' && more.length === 0 && word !== '' && !word?.includes('*');
  const [first, ...rest] = scope.split(':');
  return held === scope || (wildcard && first === word && rest.join(':') !== '');
}

function seen(callerClass: string): number {
  return ['redacted', 'reduced', 'full'].indexOf(disclosure(callerClass));
}

const SCOPES = ['travel.search', 'travel.book', 'travel', 'approver:*', 'approver:x', 'a:b:*'];
const SUBJECTS = ['human:alice', 'agent:planner', 'service:desk', 'oidc:x'];
const CLASSES = [...LEVELS.keys(), 'unheard_of'];
const PURPOSE = { task_id: 'task-1', region: { eu: ['de', { b: 1, a: null }] }, seats: 2 };

const BETWEEN = { amount: { at_least: 0, at_most: 50 } };

function paying(where: Record<string, object>) {
  return { pay: { inputs: { amount: 'number', other: 'integer' }, where } };
}

/** A stored token. `levels` is how many may stand below it. */
export function anyAuthority(levels: fc.Arbitrary<number>): fc.Arbitrary<Authority> {
  return fc
    .record(
      {
        subject: fc.constantFrom(...SUBJECTS),
        root_principal: fc.constantFrom('human:alice', 'service:root'),
        scope: fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1 }),
        capability: fc.constantFrom(undefined, 'book_flight'),
        purpose: fc.constantFrom({}, PURPOSE, { task_id: 'task-1' }),
        budget: fc.constantFrom(
          undefined,
          { currency: 'USD', max_amount: 100 },
          { currency: 'JPY', max_amount: 100 },
        ),
        caller_class: fc.constantFrom(...CLASSES),
        concurrent_branches: fc.constantFrom('allowed' as const, 'exclusive' as const),
        depth: fc.constantFrom(0, 1, 2),
        session_id: fc.constantFrom(undefined, 's-1'),
        conditions: fc.constantFrom(undefined, ...[BETWEEN, { other: { is: 5 } }].map(paying)),
        expires_at: fc.constantFrom(1, 60, 3_600, 86_400).map(inSeconds),
      },
      { noNullPrototype: true },
    )
    .chain((authority) =>
      levels.map((more) => ({ ...authority, max_delegation_depth: authority.depth + more })),
    );
}

/** What a request does in each of its fields, whichever parent it is made for. */
export type Plan = readonly (readonly [kind: number, choice: number])[];

const FIELDS = 11;

export const anyPlan: fc.Arbitrary<Plan> = fc.array(fc.tuple(fc.nat(19), fc.nat(999)), {
  minLength: FIELDS,
  maxLength: FIELDS,
});

/** A raw request for a child: in each field left out, null, honest, or one time in ten hostile. */
export function requestOf(plan: Plan, parent: Authority): Record<string, unknown> {
  const { max_amount = 50, currency = 'USD' } = parent.budget ?? {};
  const depth = parent.max_delegation_depth;
  const fields: [name: string, honest: unknown[], hostile: unknown[]][] = [
    ['scope', within(parent.scope), [[], ['*'], ['travel '], ...beyond(parent.scope)]],
    ['subject', ['agent:x', parent.subject], ['human:eve', 'agent:a b', 'Agent:x', 'eve']],
    ['capability', [parent.capability ?? 'find_flights'], ['Book_flight', 'other', '']],
    ['purpose_parameters', [{}, parent.purpose, { more: [1] }], HOSTILE_PURPOSES],
    [
      'budget',
      [max_amount, Math.max(0, max_amount - 1), 0].map((amount) => money(currency, amount)),
      [money(currency, max_amount + 1), money('EUR', 1), money('XXX', 1), money(currency, 0.005)],
    ],
    ['caller_class', [parent.caller_class, 'quiet'], [...CLASSES, 'Internal', '']],
    ['concurrent_branches', ['exclusive'], ['allowed', 'any', '']],
    ['ttl_hours', [1e-9, 0.01, 1, 1e9, 1e300], [0, -1, '1']],
    ['max_delegation_depth', [depth, Math.max(0, depth - 1)], [depth + 1, 99, -1, 1.5]],
    ['session_id', [parent.session_id], ['s-2', 'S-1', '', 's-1 ']],
    [
      'conditions',
      [{}, { pay: null }, { pay: { amount: { at_least: 1, at_most: 5 } } }, { pay: { other: 5 } }],
      [
        { pay: { amount: { at_least: -1, at_most: 50 } } },
        { pay: { amount: { at_least: 0, at_most: 51 } } },
        { pay: { other: { is: 5, or_absent: true } } },
        { pay: { other: { is: 51 } } },
        { pay: { amount: { at_most: 50 } } },
        { pay: [] },
      ],
    ],
  ];
  const entries = fields.map(([name, honest, hostile], index) => {
    const [kind = 0, choice = 0] = plan[index] ?? [];
    if (kind < 8) return [name, undefined];
    if (kind < 10) return [name, null];
    const values = kind < 18 ? honest : hostile;
    return [name, values[choice % values.length]];
  });
  // A scope is always asked for; without one the schema would refuse nearly half of all requests.
  const raw = Object.fromEntries(entries);
  return { ...raw, scope: raw.scope ?? parent.scope };
}

const HOSTILE_PURPOSES: unknown[] = [
  { task_id: 'task-2' },
  { task_id: 'task-1 ' },
  { task_id: '' },
  { region: { eu: ['de', { b: 1 }] } },
  { region: { eu: ['de', { a: 1, b: null }] } },
  { region: null, seats: 3 },
  { seats: '2' },
  { session_id: 's-2' },
  { session_id: 7 },
  'task-1',
];

/** Held scopes, and what a held wildcard covers. */
function within(held: readonly string[]): string[][] {
  const covered = held.includes('approver:*') ? [['approver:y', 'approver:a:b']] : [];
  return [[...held], held.slice(0, 1), held.slice(-2), ...covered];
}

/** Scopes that look like a held one but are not covered by it, or belong to somebody else. */
function beyond(held: readonly string[]): string[][] {
  const [first = 'travel'] = held;
  const alike = [`${first}.more`, `${first}*`, first.toUpperCase(), first.slice(0, -1)];
  return [...alike, 'approver:', 'a:b:c', 'operator:*', 'travel.*'].map((scope) => [first, scope]);
}

function money(currency: string, max_amount: number): object {
  return { currency, max_amount };
}
