/**
 * The path of a proof as a drawing: circles are computed in this browser, squares are given.
 *
 * @module
 */

import { useId } from 'preact/hooks';
import type { Path } from './steps.ts';

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

export function PathDrawing({ of }: { readonly of: Path }) {
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
