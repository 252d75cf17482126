/**
 * Values for people: numbers with all their digits, money, and parameters in a formatted form.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { amountWords } from '../sign-in/consent-words.ts';
import { exact } from '../values/time-words.ts';
import { hiddenFields, hiddenIn, hiddenWords, sortedNames } from './hidden.ts';
import { textWords } from './lines.ts';
import { type Fact, marked, type Words } from './pieces.ts';

/** The currency of each parameter that is an amount, by its name. */
export type MoneyInputs = ReadonlyMap<string, string>;

/** "1,234.56789". Rounds nothing; a number with an exponent stays as it is. */
export function numberWords(value: number): string {
  const [, sign, whole = '', rest = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(String(value)) ?? [];
  if (whole === '') return String(value);
  return `${sign}${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}${rest}`;
}

/** "250.00 USD". What is left of a budget may be negative. */
export function plain({ currency, amount }: Money): string {
  return amount < 0 ? `−${amountWords(-amount, currency)}` : amountWords(amount, currency);
}

/** "250.00", beside another amount of the same currency. */
export function digitsOf(money: Money): string {
  return plain(money).slice(0, -money.currency.length - 1);
}

/** People without their class: "ann@example.com", but "agent:planner". */
export function personOf(principal: string): string {
  return principal.replace(/^human:/, '');
}

/** "1 hidden character", "2 hidden characters". */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** A number that is known to be money, or an object of amount and currency alone. */
export function moneyValue(value: unknown, currency: string | undefined): Money | undefined {
  if (typeof value === 'number')
    return currency === undefined ? undefined : { amount: value, currency };
  if (!isCompound(value)) return undefined;
  const { amount, currency: code, ...rest } = value as Record<string, unknown>;
  const isMoney = typeof amount === 'number' && typeof code === 'string' && /^[A-Z]{3}$/.test(code);
  return isMoney && Object.keys(rest).length === 0 ? { amount, currency: code } : undefined;
}

/** A value for people: money, a time, text without quotes. Nothing for a list or an object. */
export function formatted(value: unknown, currency: string | undefined): Words {
  const money = moneyValue(value, currency);
  if (money) return [{ money }];
  if (isTexts(value)) {
    return value.flatMap((each, at) => [...(at === 0 ? [] : [marked('br', [])]), { shown: each }]);
  }
  if (typeof value === 'string') {
    const count = hiddenIn(value).length;
    if (count > 0) return [`Text with ${countOf(count, 'hidden character')}`];
    return [isMoment(value) ? exact(value) : { shown: value }];
  }
  if (typeof value === 'boolean') return [value ? 'yes' : 'no'];
  return typeof value === 'number' ? [numberWords(value)] : [];
}

/** All parameters of a call, each formatted and exactly, with what the declaration says about it. */
export function parameterFacts(
  parameters: JsonObject,
  inputs: Capability['inputs'] | undefined,
  money?: MoneyInputs,
): Fact[] {
  const declared = (inputs ?? []).map((input) => input.name);
  // In the order of the declaration: a letter begins with its receiver.
  const names = new Set([
    ...declared.filter((name) => Object.hasOwn(parameters, name)),
    ...sortedNames(parameters),
  ]);
  return [...names].map((name) => {
    const value = parameters[name];
    // What the declaration says was written by the service's author.
    const described = inputs?.find((input) => input.name === name)?.description;
    const text = textWords(name, parameters);
    const form = text.length > 0 ? text : formatted(value, money?.get(name));
    const hidden = hiddenFields(value, '', true);
    return {
      label: [{ shown: name }],
      words: [
        ...form,
        ...storedWords(value, form, hidden.length > 0),
        ...hidden.map(({ path, hidden: found }) =>
          marked(
            'p',
            [
              ...(path === '' ? [] : ['In ', { shown: path }, ': ']),
              `${hiddenWords(found)}. The text is shown in stored order.`,
            ],
            'small muted',
          ),
        ),
        ...(described === undefined ? [] : [marked('p', described, 'small muted')]),
      ],
    };
  });
}

/** The stored form, where the words before it do not say exactly the same. The evidence has all of it. */
function storedWords(value: unknown, form: Words, isHidden: boolean): Words {
  const isRewritten = typeof value === 'string' && isMoment(value);
  if (form.length > 0 && !isHidden && !isRewritten) return [];
  return [
    ...(form.length > 0 && !isCompound(value) ? [marked('br', [])] : []),
    marked('span', [{ json: value }], isHidden ? undefined : 'muted'),
  ];
}

/** A short list of texts is shown a text a line. */
function isTexts(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => typeof each === 'string' && each !== '' && !/^\s|\s$|\n/.test(each)) &&
    hiddenFields(value, '', true).length === 0
  );
}

function isCompound(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** A time with its zone. */
function isMoment(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(text) && !Number.isNaN(Date.parse(text))
  );
}
