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

/** In units of the drawing. */
const ROW = 54;
const NODE = 15;
const STEP = 30;
const REACH = 110;
const TOP = 56;
const CHARACTER = 7;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The path of a proof as a drawing: circles are computed in this browser, squares are given. */
function PathDrawing({ of }: { readonly of: Path }) {
  const title = useId();
  const { joins, numbers } = of;
  const label = Math.max(7, ...joins.map(({ leaves }) => shortOf(leaves).length)) * CHARACTER;
  const [left, middle] = [label + 24, label + 24 + REACH];
  const width = 2 * middle;
  const nodes = pointsOf(of, middle);
  const height = TOP + joins.length * ROW + 48;
  const [root = { x: middle, y: TOP }, seed = root] = [nodes.at(-1), nodes[0]];
  return (
    <svg class="path" viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={title}>
      <title id={title}>{sentenceOf(of)}</title>
      {joins.map(({ side, leaves }, at) => (
        <Given
          key={at}
          from={nodes[at + 1] ?? root}
          at={{ x: side === 'left' ? left : width - left, y: nodes[at]?.y ?? 0 }}
          side={side}
          label={shortOf(leaves)}
        />
      ))}
      <path class="up" d={`M${nodes.map(({ x, y }) => `${x} ${y}`).join(' ')}`} />
      {nodes.map(({ x, y }, at) => (
        <g key={at}>
          <circle class="on" cx={x} cy={y} r={NODE} />
          <text class="n" x={x} y={y + 5}>
            {at === nodes.length - 1 && !of.isReached ? '✕' : numbers[at]}
          </text>
        </g>
      ))}
      <Root of={of} at={root} />
      <text x={seed.x} y={seed.y + 34} text-anchor="middle">
        {of.seed}
      </text>
    </svg>
  );
}

interface GivenProps {
  /** The node above, of which the square is a child. */
  readonly from: Point;
  readonly at: Point;
  readonly side: 'left' | 'right';
  readonly label: string;
}

function Given({ from, at: { x, y }, side, label }: GivenProps) {
  return (
    <>
      <line x1={from.x} y1={from.y} x2={x} y2={y} />
      <rect class="given" x={x - 12} y={y - 12} width="24" height="24" />
      <text
        x={side === 'left' ? x - 20 : x + 20}
        y={y + 5}
        text-anchor={side === 'left' ? 'end' : 'start'}
      >
        {label}
      </text>
    </>
  );
}

function Root({ of, at: { x, y } }: { readonly of: Path; readonly at: Point }) {
  const what = `${of.isSigned ? 'signed root' : 'root'} of ${of.rootOf}`;
  if (of.isReached) {
    return (
      <>
        <circle class="seal" cx={x} cy={y} r={NODE + 5} />
        <text x={x} y={y - 30} text-anchor="middle">
          = {what}
        </text>
      </>
    );
  }
  return (
    <>
      <text class="n ne" x={x + 32} y={y + 9}>
        ≠
      </text>
      <circle class="given" cx={x + 64} cy={y} r={NODE + 5} />
      <circle class="given" cx={x + 64} cy={y} r={NODE} />
      <text x={x + 32} y={y - 30} text-anchor="middle">
        {what}
      </text>
    </>
  );
}

/** A node stands above its two children: towards the given one. */
function pointsOf({ joins, isReached }: Path, middle: number): Point[] {
  const bottom = TOP + joins.length * ROW;
  let x = middle;
  const points = [{ x, y: bottom }];
  for (const [at, { side }] of joins.entries()) {
    const towards = x + (side === 'right' ? STEP : -STEP);
    x = Math.min(Math.max(towards, middle - STEP), middle + STEP);
    const isRoot = at === joins.length - 1;
    points.push({ x: isRoot && !isReached ? middle - STEP : x, y: bottom - (at + 1) * ROW });
  }
  return points;
}

/** Without the word, which the caption has. */
function shortOf(leaves: string): string {
  return leaves.replace(/^entr(?:y|ies) /, '');
}

function sentenceOf({ seed, joins, isReached, rootOf }: Path): string {
  const count = joins.length === 1 ? 'one given hash joins' : `${joins.length} given hashes join`;
  const end = isReached
    ? `up to the root of ${rootOf}`
    : `up to another root than that of ${rootOf}`;
  return `Path of ${seed.charAt(0).toLowerCase()}${seed.slice(1)}: ${count} it, one at a time, ${end}.`;
}
