/**
 * A dry run with the person's own authority: the form, and what the service answered.
 *
 * @module
 */

import { useId, useRef, useState } from 'preact/hooks';
import { effectOf } from '../../../domain/sign-in/consent-words.ts';
import type { Capability, Input } from '../../../protocol/capability.ts';
import type { ConsoleAnswers } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { announce } from '../../parts/announce.ts';
import { Shown } from '../../parts/elements.tsx';
import { whyOf } from '../../parts/loaded.tsx';
import { Notice } from '../../parts/panels.tsx';
import { choicesOf, controlOf, type Entered, readInputs } from './form.ts';
import { Tried } from './tried.tsx';

type Outcome =
  | { readonly state: 'idle' }
  | { readonly state: 'asking' }
  | { readonly state: 'failed'; readonly why: string }
  | { readonly state: 'answered'; readonly answer: ConsoleAnswers['try'] };

export function TryIt({ capability }: { readonly capability: Capability }) {
  const [faults, setFaults] = useState<Entered>({});
  const [outcome, setOutcome] = useState<Outcome>({ state: 'idle' });
  const question = useRef(0);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const reading = readInputs(capability.inputs, enteredIn(form));
    setFaults(reading.faults);
    const [first] = Object.keys(reading.faults);
    if (first !== undefined) {
      (form.elements.namedItem(first) as HTMLElement | null)?.focus();
      return;
    }
    const mine = ++question.current;
    setOutcome({ state: 'asking' });
    const next = await tried(capability.name, reading.parameters);
    if (question.current === mine) setOutcome(next);
  };
  const { kind } = effectOf(capability);
  return (
    <section aria-labelledby="h-try">
      <h2 id="h-try">Try it as a dry run</h2>
      <p>
        The service makes every check of a call with your authority, and then stops.
        {kind === 'reads' ? '' : ' Nothing is changed.'} Nothing is charged. The log gets entries of
        it.
      </p>
      <form onSubmit={submit} noValidate>
        {capability.inputs.map((input) => (
          <Field key={input.name} input={input} fault={faults[input.name]} />
        ))}
        <button type="submit" class="act" aria-disabled={outcome.state === 'asking'}>
          Check this call
        </button>
      </form>
      <Result of={outcome} capability={capability} />
    </section>
  );
}

function enteredIn(form: HTMLFormElement): Entered {
  const entered = [...new FormData(form)].map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(entered);
}

async function tried(
  capability: string,
  parameters: Parameters<typeof ask<'try'>>[1]['parameters'],
): Promise<Outcome> {
  try {
    const answer = await ask('try', { capability, parameters });
    announce('The service answered the dry run');
    return { state: 'answered', answer };
  } catch (error) {
    return { state: 'failed', why: whyOf(error) };
  }
}

function Result({ of, capability }: { readonly of: Outcome; readonly capability: Capability }) {
  if (of.state === 'idle') return null;
  if (of.state === 'asking') return <p class="loading">Checking the call…</p>;
  if (of.state === 'answered') return <Tried answer={of.answer} capability={capability} />;
  return (
    <Notice state="bad" isAlert>
      The dry run was not made: <Shown text={of.why} />
    </Notice>
  );
}

interface FieldProps {
  readonly input: Input;
  readonly fault: string | undefined;
}

function Field({ input, fault }: FieldProps) {
  const id = useId();
  const hints = [`${id}-hint`, ...(fault === undefined ? [] : [`${id}-fault`])].join(' ');
  return (
    <div class="field">
      <label for={id}>{input.name}</label>
      <Control id={id} input={input} hints={hints} isFaulty={fault !== undefined} />
      <small id={`${id}-hint`}>
        <Hint of={input} />
      </small>
      {fault === undefined ? null : (
        <small id={`${id}-fault`} class="bad">
          {fault}
        </small>
      )}
    </div>
  );
}

function Hint({ of: { type, required, description, default: fallback } }: { readonly of: Input }) {
  return (
    <>
      {type}, {required ? 'required' : 'can be left empty'}
      {fallback === undefined ? null : ': then it is '}
      {fallback === undefined ? null : <Shown text={JSON.stringify(fallback)} />}
      {description === undefined ? '' : '. '}
      {description === undefined ? null : <Shown text={description} />}
    </>
  );
}

interface ControlProps {
  readonly id: string;
  readonly input: Input;
  readonly hints: string;
  readonly isFaulty: boolean;
}

/** Bounds what a person can enter into one field. */
const TEXT_MAX = 20_000;

function Control({ id, input, hints, isFaulty }: ControlProps) {
  const shared = {
    id,
    name: input.name,
    'aria-describedby': hints,
    'aria-invalid': isFaulty,
    'aria-required': input.required,
  };
  const control = controlOf(input);
  if (control === 'choice') {
    return (
      <select {...shared}>
        <option value="">Leave it out</option>
        {choicesOf(input).map((value, at) => (
          <option key={at} value={at}>
            {choiceWords(input, value)}
          </option>
        ))}
      </select>
    );
  }
  if (control === 'json')
    return <textarea {...shared} rows={3} maxLength={TEXT_MAX} class="mono" />;
  if (control === 'date') return <input {...shared} type="date" />;
  const isNumber = control === 'number';
  return (
    <input
      {...shared}
      inputMode={isNumber ? 'decimal' : undefined}
      maxLength={TEXT_MAX}
      autocomplete="off"
      placeholder={input.type === 'datetime' ? '2026-12-01T09:30:00Z' : undefined}
    />
  );
}

/** The value, and what the author says it means. */
function choiceWords({ input_meanings }: Input, value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const meaning =
    input_meanings && Object.hasOwn(input_meanings, text) ? input_meanings[text] : undefined;
  return typeof meaning === 'string' ? `${text}: ${meaning}` : text;
}
