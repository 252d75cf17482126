/**
 * The result of a verification: what it shows, the drawing of the path, and every step.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { clockOf } from '../../domain/values/time-words.ts';
import { announce } from '../parts/announce.ts';
import { Hash, Shown } from '../parts/elements.tsx';
import { PathDrawing } from './drawing.tsx';
import type { Path, Proof, Step } from './steps.ts';

interface ResultProps {
  readonly of: Proof;
  /** When it was computed, by the clock of this computer. */
  readonly at: Date;
  readonly takesFocus?: boolean | undefined;
  /** Buttons below a result that fails. */
  readonly children?: ComponentChildren;
}

/** Takes the focus when the reader asked for it; otherwise only a screen reader says what it is. */
export function Result({ of, at, takesFocus = true, children }: ResultProps) {
  const title = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takesFocus) heading.current?.focus();
    else announce(headingOf(of));
  }, [of]);
  const look = LOOKS[of.verdict];
  return (
    <section aria-labelledby={title}>
      <div class={`notice ${look}`}>
        <h2 id={title} ref={heading} tabIndex={-1}>
          {headingOf(of)}
        </h2>
        <p>
          {summaryOf(of)} Recomputed in this browser at {clockOf(at)}.
        </p>
      </div>
      {of.verdict === 'failed' ? <Difference of={of} /> : null}
      {of.verdict === 'failed' ? children : null}
      <div class="proof">
        {of.path ? (
          <figure class={of.path.isReached ? 'good' : 'bad'}>
            <PathDrawing of={of.path} />
            <figcaption class="small muted">
              ● computed in this browser. □ given by the service, with the entries that it stands
              for.
            </figcaption>
          </figure>
        ) : null}
        <ol class="steps">
          {of.steps.map((step, index) => (
            <StepItem
              key={index}
              of={step}
              number={index + 1}
              isDoubtful={of.verdict === 'failed'}
            />
          ))}
        </ol>
      </div>
      <p class="small muted">These steps cannot show {of.limits.join('; ')}.</p>
    </section>
  );
}

const LOOKS = { agrees: 'good', failed: 'bad', incomplete: 'warn' } as const;

function headingOf({ verdict, claim }: Proof): string {
  if (verdict === 'agrees') return `✓ ${claim}`;
  if (verdict === 'failed') return '✕ This answer does not hold. Do not rely on it.';
  return `? Not all of this could be checked: ${claim}`;
}

function summaryOf({ steps, failing }: Proof): string {
  const agreed = steps.filter(({ outcome }) => outcome === 'ok').length;
  const open = steps.filter(({ outcome }) => outcome === 'not_checked').map(({ title }) => title);
  if (failing.length > 0) {
    const [first = 1] = failing;
    const rest = failing.slice(1);
    const others = rest.length > 0 ? ` Also failing: ${rest.join(', ')}.` : '';
    return `Step ${first} fails: ${steps[first - 1]?.title}.${others}`;
  }
  if (open.length === 0) return `All ${steps.length} steps agree.`;
  return `${agreed} of ${steps.length} steps agree. Not checked: ${open.join(', ')}.`;
}

/** Both roots, whether or not they are equal: another step may fail. */
function Difference({ of: { path } }: { readonly of: Proof }) {
  if (!path) return null;
  return (
    <dl class="facts wide">
      <dt>Computed</dt>
      <dd class={path.isReached ? undefined : 'bad'}>
        <Hash hex={path.computed} what="the computed root" />
      </dd>
      <dt>{signedWord(path)}</dt>
      <dd>
        <Hash hex={path.root} what="the root of the checkpoint" />
      </dd>
    </dl>
  );
}

function signedWord({ isSigned }: Path): string {
  return isSigned ? 'Signed' : 'Not signed';
}

interface StepItemProps {
  readonly of: Step;
  readonly number: number;
  /** Whether another step fails: what was only computed then shows nothing. */
  readonly isDoubtful: boolean;
}

function StepItem({ of, number, isDoubtful }: StepItemProps) {
  const { outcome, title, note, says, hashes, text, isComputation = false } = of;
  return (
    <li>
      <b
        class={`no ${isComputation && isDoubtful ? 'plain' : MARKS[outcome].look}`}
        aria-hidden="true"
      >
        {number}
      </b>
      <div>
        <b>{title}</b> {note ? <small>{note} </small> : null}
        {isComputation ? null : <span class={MARKS[outcome].look}>{MARKS[outcome].words}</span>}
        {hashes.map(({ label, hex }) => (
          <div key={label}>
            <small>{label}</small> <Hash hex={hex} what={`the ${label} of step ${number}`} />
          </div>
        ))}
        {says.map((sentence) => (
          <div key={sentence}>
            <small class={outcome === 'failed' ? 'bad' : undefined}>
              <Shown text={sentence} />
            </small>
          </div>
        ))}
        {text === undefined ? null : (
          <pre>
            <code>
              {text.split('\n').map((line, index) => (
                <div key={index}>
                  <Shown text={line} />
                </div>
              ))}
            </code>
          </pre>
        )}
      </div>
    </li>
  );
}

const MARKS = {
  ok: { look: 'good', words: '✓' },
  failed: { look: 'bad', words: '✕ fails' },
  not_checked: { look: 'warn', words: '? not checked' },
} as const;
