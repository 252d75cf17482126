/**
 * The form of a dry run: which control an input gets, and which parameters the entered texts mean.
 *
 * Only finds texts that cannot be read at all. Whether a value is allowed, the service decides.
 *
 * @module
 */

import type { Input } from '../../../protocol/capability.ts';
import type { JsonObject } from '../../../protocol/primitives.ts';

type Control = 'choice' | 'number' | 'date' | 'text' | 'json';

/** By name of the input; an empty text leaves the input out. */
export type Entered = Readonly<Record<string, string>>;

interface Reading {
  readonly parameters: JsonObject;
  /** By name of the input. */
  readonly faults: Readonly<Record<string, string>>;
}

export function controlOf({ type, allowed_values }: Input): Control {
  if (allowed_values || type === 'boolean') return 'choice';
  return Object.hasOwn(CONTROLS, type) ? (CONTROLS[type] as Control) : 'json';
}

const CONTROLS: Readonly<Record<string, Control>> = {
  string: 'text',
  datetime: 'text',
  date: 'date',
  integer: 'number',
  number: 'number',
};

/** The values that a choice offers. The entered text is the index in this list. */
export function choicesOf({ allowed_values }: Input): readonly unknown[] {
  return allowed_values ?? [true, false];
}

export function readInputs(inputs: readonly Input[], entered: Entered): Reading {
  const parameters: [string, unknown][] = [];
  const faults: [string, string][] = [];
  for (const input of inputs) {
    const text = entered[input.name] ?? '';
    if (text === '') continue;
    const read = READERS[controlOf(input)](text, input);
    if ('fault' in read) faults.push([input.name, read.fault]);
    else parameters.push([input.name, read.value]);
  }
  return {
    parameters: Object.fromEntries(parameters) as JsonObject,
    faults: Object.fromEntries(faults),
  };
}

type Read = { readonly value: unknown } | { readonly fault: string };

const READERS: Readonly<Record<Control, (text: string, input: Input) => Read>> = {
  choice: (text, input) => ({ value: choicesOf(input)[Number(text)] }),
  date: (text) => ({ value: text }),
  text: (text) => ({ value: text }),
  number: (text, { type }) => {
    const value = Number(text);
    const isRead = type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (isRead && text.trim() !== '') return { value };
    return { fault: type === 'integer' ? 'Enter a whole number' : 'Enter a number, such as 12.5' };
  },
  json: (text) => {
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return { fault: 'This is not JSON. Text needs quotes: "like this"' };
    }
  },
};
