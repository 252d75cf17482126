/**
 * Values that others wrote, complete: JSON of any depth in canonical order, and the parameters of a call as a table
 * with a formatted and an exact form.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { hiddenFields, hiddenIn, hiddenWords, namesOf } from './hidden.ts';
import { Amount } from './money.tsx';
import { type MoneyInputs, numberWords } from './number.ts';
import { Shown } from './shown.tsx';
import { exact } from './time.tsx';

/** In characters: a shorter value stands on one line. */
const LINE_MAX = 60;

export function Value({ of }: { readonly of: unknown }) {
  const isShort = (JSON.stringify(of) ?? '').length <= LINE_MAX;
  return (
    <code class="json">
      <Json of={of} indent={isShort ? undefined : '\n'} />
    </code>
  );
}

interface JsonOf {
  readonly of: unknown;
  /** A line break and the spaces of this level; absent for a value on one line. */
  readonly indent: string | undefined;
}

function Json({ of, indent }: JsonOf) {
  if (!isCompound(of)) return <Shown text={JSON.stringify(of) ?? 'absent'} />;
  const isList = Array.isArray(of);
  const members = isList
    ? of.map((value: unknown) => ({ name: undefined, value }))
    : namesOf(of).map((name) => ({ name, value: (of as JsonObject)[name] }));
  const [open, close] = isList ? '[]' : '{}';
  if (members.length === 0) return `${open}${close}`;
  const inner = indent === undefined ? undefined : `${indent}  `;
  return (
    <>
      {open}
      {members.map(({ name, value }, at) => (
        <>
          {inner ?? (at === 0 ? '' : ' ')}
          {name === undefined ? null : <Shown text={JSON.stringify(name)} />}
          {name === undefined ? '' : ': '}
          <Json of={value} indent={inner} />
          {at < members.length - 1 ? ',' : ''}
        </>
      ))}
      {indent ?? ''}
      {close}
    </>
  );
}

interface ParametersOf {
  readonly of: JsonObject;
  readonly inputs: Capability['inputs'] | undefined;
  /** Which parameters are amounts of money, and of which currency. */
  readonly money?: MoneyInputs | undefined;
}

export function Parameters({ of, inputs, money }: ParametersOf) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Value, and exactly as stored</th>
        </tr>
      </thead>
      <tbody>
        {namesOf(of).map((name) => (
          <tr key={name}>
            <th scope="row">
              <Shown text={name} />
            </th>
            <td>
              <Parameter value={of[name]} currency={money?.get(name)} />
              {describedBy(inputs, name)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What the declaration says about an input; the service's author wrote it. */
function describedBy(inputs: Capability['inputs'] | undefined, name: string) {
  const words = inputs?.find((input) => input.name === name)?.description;
  return words === undefined ? null : <p class="small muted">{words}</p>;
}

interface ParameterOf {
  readonly value: unknown;
  readonly currency: string | undefined;
}

function Parameter({ value, currency }: ParameterOf) {
  const hidden = hiddenFields(value);
  return (
    <>
      <Formatted value={value} currency={currency} />
      <br hidden={isCompound(value)} />
      <span class={hidden.length > 0 ? undefined : 'muted'}>
        <Value of={value} />
      </span>
      {hidden.map(({ path, hidden: found }) => (
        <p key={path} class="small muted">
          {path === '' ? '' : 'In '}
          {path === '' ? null : <Shown text={path} />}
          {path === '' ? '' : ': '}
          {hiddenWords(found)}. The text is shown in stored order.
        </p>
      ))}
    </>
  );
}

/** A value for people: money, a time, text without quotes. Nothing for a list or an object. */
export function Formatted({ value, currency }: ParameterOf) {
  const money = moneyIn(value, currency);
  if (money) return <Amount of={money} />;
  if (typeof value === 'string') {
    const count = hiddenIn(value).length;
    if (count > 0) return <>Text with {countOf(count, 'hidden character')}</>;
    return isMoment(value) ? exact(value) : <Shown text={value} />;
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? numberWords(value) : null;
}

/** A number that is known to be money, or an object of amount and currency alone. */
export function moneyIn(value: unknown, currency: string | undefined): Money | undefined {
  if (typeof value === 'number')
    return currency === undefined ? undefined : { amount: value, currency };
  if (!isCompound(value)) return undefined;
  const { amount, currency: code, ...rest } = value as Record<string, unknown>;
  const isMoney = typeof amount === 'number' && typeof code === 'string' && /^[A-Z]{3}$/.test(code);
  return isMoney && Object.keys(rest).length === 0 ? { amount, currency: code } : undefined;
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

/** "1 hidden character", "2 hidden characters". */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
