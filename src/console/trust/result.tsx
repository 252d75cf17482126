/**
 * The result of a verification: what it shows, the drawing of the path, and every step.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { clockOf } from '../../domain/values/time-words.ts';
import { announce } from '../parts/announce.ts';
import { Fact, Hash, Shown } from '../parts/elements.tsx';
import { Icon } from '../parts/icon.tsx';
import { Evidence, Notice } from '../parts/panels.tsx';
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
  return (
    <section aria-labelledby={title}>
      <Notice state={LOOKS[of.verdict]}>
        <h2 id={title} ref={heading} tabIndex={-1}>
          {headingOf(of)}
        </h2>
        <p>
          {summaryOf(of)} Recomputed in this browser at {clockOf(at)}.
        </p>
      </Notice>
      {of.verdict === 'failed' ? children : null}
      <ol class="list" aria-label="Steps">
        {linesOf(of.steps).map((line) => (
          <StepRow key={line.from} of={line} isDoubtful={of.verdict === 'failed'} />
        ))}
      </ol>
      <p class="small muted">These steps cannot show {of.limits.join('; ')}.</p>
      <Computed of={of} />
    </section>
  );
}

const LOOKS = { agrees: 'good', failed: 'bad', incomplete: 'warn' } as const;

function headingOf({ verdict, claim }: Proof): string {
  if (verdict === 'agrees') return claim;
  if (verdict === 'failed') return 'This answer does not hold. Do not rely on it.';
  return `Not all of this could be checked: ${claim}`;
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

/** One step, or several in a row that join given hashes. */
interface Line {
  /** The numbers of its steps, from 1. */
  readonly from: number;
  readonly to: number;
  readonly step: Step;
}

function linesOf(steps: readonly Step[]): Line[] {
  const lines: Line[] = [];
  for (const [at, step] of steps.entries()) {
    const last = lines.at(-1);
    const number = at + 1;
    if (last && isJoin(step) && isJoin(last.step))
      lines[lines.length - 1] = { ...last, to: number };
    else lines.push({ from: number, to: number, step });
  }
  return lines;
}

function isJoin({ hashes }: Step): boolean {
  return hashes.some(({ label }) => label === 'joined');
}

interface StepRowProps {
  readonly of: Line;
  /** Whether another step fails: what was only computed then shows nothing. */
  readonly isDoubtful: boolean;
}

function StepRow({ of: { from, to, step }, isDoubtful }: StepRowProps) {
  const { outcome, title, note, says, isComputation = false } = step;
  const { look, icon, words } = MARKS[isComputation && isDoubtful ? 'plain' : outcome];
  const isOne = from === to;
  return (
    <li>
      <Icon name={icon} says={words} class={look} />
      <div class="body">
        <h3>
          {isOne ? `${from}. ${title}` : `${from} to ${to}. Join ${to - from + 1} given hashes`}{' '}
          {isOne && note ? <small>{note}</small> : null}
        </h3>
        {isOne ? null : <p>One at a time, up to the root. Each stands under Evidence.</p>}
        {says.map((sentence) => (
          <p key={sentence} class={outcome === 'failed' ? 'bad' : undefined}>
            <Shown text={sentence} />
          </p>
        ))}
      </div>
    </li>
  );
}

const MARKS = {
  ok: { look: 'good', icon: 'check', words: 'Agrees' },
  failed: { look: 'bad', icon: 'cross', words: 'Fails' },
  not_checked: { look: 'warn', icon: 'warning', words: 'Not checked' },
  plain: { look: 'muted', icon: 'clock', words: 'Computed' },
} as const;

/** Every hash, and the path that joins them. */
function Computed({ of: { steps, path, verdict } }: { readonly of: Proof }) {
  const count = steps.reduce((sum, { hashes }) => sum + hashes.length, 0);
  return (
    <Evidence
      isBad={verdict === 'failed'}
      result={`${path ? 'the path, ' : ''}${count === 1 ? '1 hash' : `${count} hashes`}`}
    >
      {path ? (
        <figure class={path.isReached ? 'good' : 'bad'}>
          <PathDrawing of={path} />
          <figcaption class="small muted">
            ● computed in this browser. □ given by the service, with the entries that it stands for.
          </figcaption>
        </figure>
      ) : null}
      <dl class="facts">
        {path ? <Roots of={path} /> : null}
        {steps.map(({ hashes, text }, at) =>
          hashes.length === 0 && text === undefined ? null : (
            <Fact key={at} term={`Step ${at + 1}`}>
              {hashes.map(({ label, hex }) => (
                <div key={label}>
                  <small class="in">{label}</small>{' '}
                  <Hash hex={hex} what={`the ${label} of step ${at + 1}`} />
                </div>
              ))}
              {text === undefined ? null : <Bytes of={text} />}
            </Fact>
          ),
        )}
      </dl>
    </Evidence>
  );
}

/** Both roots, whether or not they are equal: another step may fail. */
function Roots({ of: { computed, root, isReached, isSigned } }: { readonly of: Path }) {
  return (
    <>
      <dt>Computed</dt>
      <dd class={isReached ? undefined : 'bad'}>
        <Hash hex={computed} what="the computed root" />
      </dd>
      <dt>{isSigned ? 'Signed' : 'Not signed'}</dt>
      <dd>
        <Hash hex={root} what="the root of the checkpoint" />
      </dd>
    </>
  );
}

/** What was hashed, line by line. */
function Bytes({ of }: { readonly of: string }) {
  return (
    <pre>
      <code>
        {of.split('\n').map((line, index) => (
          <div key={index}>
            <Shown text={line} />
          </div>
        ))}
      </code>
    </pre>
  );
}

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
