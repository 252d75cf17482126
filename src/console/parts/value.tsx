/**
 * Values that others wrote, complete: JSON of any depth in canonical order, and the parameters of a call as a table
 * with a formatted and an exact form.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { Amount } from './money.tsx';
import { type Hidden, hiddenIn, Shown } from './shown.tsx';
import { exact } from './time.tsx';

export function Value({ of }: { readonly of: unknown }) {
  return (
    <code class="json">
      <Json of={of} indent={'\n'} />
    </code>
  );
}

/** `indent` is a line break and the spaces of this level. */
function Json({ of, indent }: { readonly of: unknown; readonly indent: string }) {
  if (typeof of !== 'object' || of === null) return <Shown text={JSON.stringify(of) ?? 'absent'} />;
  const inner = `${indent}  `;
  const isList = Array.isArray(of);
  const members = isList
    ? of.map((value: unknown) => ({ name: undefined, value }))
    : namesOf(of).map((name) => ({ name, value: (of as JsonObject)[name] }));
  const [open, close] = isList ? '[]' : '{}';
  if (members.length === 0) return `${open}${close}`;
  return (
    <>
      {open}
      {members.map(({ name, value }, at) => (
        <>
          {inner}
          {name === undefined ? null : <Shown text={JSON.stringify(name)} />}
          {name === undefined ? '' : ': '}
          <Json of={value} indent={inner} />
          {at < members.length - 1 ? ',' : ''}
        </>
      ))}
      {indent}
      {close}
    </>
  );
}

/** Names in the order in which they are hashed and signed. */
export function namesOf(value: object): string[] {
  return Object.keys(value).sort();
}

interface ParametersOf {
  readonly of: JsonObject;
  readonly inputs: Capability['inputs'] | undefined;
  /** Of the cost of the call: an amount among the parameters is shown in it. */
  readonly currency?: string | undefined;
}

export function Parameters({ of, inputs, currency }: ParametersOf) {
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
              <Parameter value={of[name]} input={inputOf(inputs, name)} currency={currency} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function inputOf(inputs: Capability['inputs'] | undefined, name: string) {
  return inputs?.find((input) => input.name === name);
}

interface ParameterOf {
  readonly value: unknown;
  readonly input: Capability['inputs'][number] | undefined;
  readonly currency: string | undefined;
}

function Parameter({ value, input, currency }: ParameterOf) {
  const hidden = hiddenFields(value);
  return (
    <>
      <Formatted value={value} input={input} currency={currency} />
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

function Formatted({ value, input, currency }: ParameterOf) {
  const money = moneyIn(value, input, currency);
  if (money) return <Line words={<Amount of={money} />} />;
  if (typeof value === 'string') {
    const count = hiddenIn(value).length;
    if (count > 0) return <Line words={`Text with ${countOf(count, 'hidden character')}`} />;
    return <Line words={isMoment(value) ? exact(value) : <Shown text={value} />} />;
  }
  if (typeof value === 'boolean') return <Line words={value ? 'yes' : 'no'} />;
  if (typeof value === 'number') return <Line words={value.toLocaleString('en')} />;
  return null;
}

function Line({ words }: { readonly words: preact.ComponentChildren }) {
  return (
    <>
      {words}
      <br />
    </>
  );
}

/** A number that the declaration calls an amount of money, or an object of amount and currency. */
export function moneyIn(
  value: unknown,
  input: Capability['inputs'][number] | undefined,
  currency: string | undefined,
): Money | undefined {
  if (typeof value === 'number' && currency !== undefined && MONEY.test(meaningOf(input))) {
    return { amount: value, currency };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { amount, currency: code, ...rest } = value as Record<string, unknown>;
  const isMoney = typeof amount === 'number' && typeof code === 'string' && /^[A-Z]{3}$/.test(code);
  return isMoney && Object.keys(rest).length === 0 ? { amount, currency: code } : undefined;
}

/** What a declaration calls an amount of money. */
const MONEY = /money|amount|price|currency|cost/i;

function meaningOf(input: Capability['inputs'][number] | undefined): string {
  return `${input?.semantic_type ?? ''} ${input?.type ?? ''}`;
}

/** A time with its zone, or a day. */
function isMoment(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(text) && !Number.isNaN(Date.parse(text))
  );
}

export interface HiddenField {
  /** Such as `passenger.name`; empty for the value itself. */
  readonly path: string;
  readonly text: string;
  readonly hidden: readonly Hidden[];
}

/** Every text in a value, and every name in it, that has a character which `Shown` marks. */
export function hiddenFields(value: unknown, path = ''): HiddenField[] {
  if (typeof value === 'string') {
    const hidden = hiddenIn(value);
    return hidden.length > 0 ? [{ path, text: value, hidden }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return namesOf(value).flatMap((name) => {
    const inner = path === '' ? name : `${path}.${name}`;
    const hidden = hiddenIn(name);
    const own = hidden.length > 0 ? [{ path: `name of ${inner}`, text: name, hidden }] : [];
    return [...own, ...hiddenFields((value as JsonObject)[name], inner)];
  });
}

/** "U+202E RIGHT-TO-LEFT OVERRIDE, after character 4". */
export function hiddenWords(hidden: readonly Hidden[]): string {
  return hidden.map(({ code, name, at }) => `${code} ${name}, after character ${at}`).join('; ');
}

/** "1 hidden character", "2 hidden characters". */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
