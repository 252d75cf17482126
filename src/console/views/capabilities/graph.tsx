/**
 * Relations of capabilities as a drawing and as a list. A graph that no drawing makes readable is a list only.
 *
 * @module
 */

import type { Graph } from '../../../protocol/trust.ts';
import { Shown } from '../../parts/elements.tsx';
import { Empty } from '../../parts/loaded.tsx';
import { hrefOf } from '../../router.ts';
import { counted } from '../counted.ts';
import { type Box, drawingOf, relationWords } from './layout.ts';

/** Boxes that stay readable in one drawing. */
const DRAWN_MAX = 24;

/** Relations in the list. */
const LISTED_MAX = 200;

interface RelationsProps {
  readonly of: Graph;
  /** The capability that the page is about. */
  readonly around?: string | undefined;
}

export function Relations({ of, around }: RelationsProps) {
  const { edges, nodes } = of;
  if (edges.length === 0) {
    return (
      <Empty>
        {around === undefined
          ? 'No capability declares a relation to another one.'
          : 'It declares no relation to another capability, and none refers to it.'}
      </Empty>
    );
  }
  const related = relatedNames(of);
  const alone = nodes.filter(({ capability, service }) => !service && !related.has(capability));
  return (
    <>
      {related.size <= DRAWN_MAX ? <Picture of={of} around={around} /> : null}
      <details open={related.size > DRAWN_MAX}>
        <summary>{counted(edges.length, 'relation')} as a list</summary>
        <List of={of} />
      </details>
      {alone.length > 0 && around === undefined ? (
        <p class="small muted">
          Without a relation: {alone.map(({ capability }) => capability).join(', ')}
        </p>
      ) : null}
    </>
  );
}

function relatedNames({ edges }: Graph): Set<string> {
  return new Set(
    edges.flatMap(({ from, to, service }) => [from, service ? `${service} ${to}` : to]),
  );
}

/** Scrolls by itself where it is wider than the window, also by keyboard. */
function Picture({ of, around }: RelationsProps) {
  const { width, height, boxWidth, boxes, arrows } = drawingOf(of);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls only what has the focus.
    <figure class="scroll" aria-label="Drawing of the relations" tabIndex={0}>
      <svg
        class="graph"
        role="img"
        aria-label={sentenceOf(of)}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="8"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto-start-reverse"
          >
            <path d="M0 0L8 4L0 8Z" />
          </marker>
        </defs>
        {arrows.map(({ path, words, wordsX, wordsY, isReversed }) => (
          <g key={path}>
            <path
              d={path}
              marker-start={isReversed ? 'url(#arrow)' : undefined}
              marker-end={isReversed ? undefined : 'url(#arrow)'}
            />
            <text class="relation" x={wordsX} y={wordsY}>
              {words}
            </text>
          </g>
        ))}
        {boxes.map((box) => (
          <NamedBox
            key={`${box.service} ${box.name}`}
            box={box}
            width={boxWidth}
            isHere={!box.service && box.name === around}
          />
        ))}
      </svg>
    </figure>
  );
}

interface NamedBoxProps {
  readonly box: Box;
  readonly width: number;
  readonly isHere: boolean;
}

function NamedBox({ box: { name, service, x, y, height }, width, isHere }: NamedBoxProps) {
  const look = service === undefined ? (isHere ? 'here' : undefined) : 'foreign';
  const middle = y + height / 2;
  return (
    <g>
      <rect class={look} x={x} y={y} width={width} height={height} rx="4" />
      <text class="name" x={x + 9} y={service === undefined ? middle + 4 : middle - 3}>
        {name}
      </text>
      {service === undefined ? null : (
        <text class="relation" x={x + 9} y={middle + 12}>
          at {service}
        </text>
      )}
    </g>
  );
}

function sentenceOf({ edges }: Graph): string {
  return `${counted(edges.length, 'relation')}: ${edges
    .map((edge) => `${edge.from} ${relationWords(edge)} ${edge.to}${atService(edge.service)}`)
    .join('; ')}`;
}

function atService(service: string | undefined): string {
  return service === undefined ? '' : ` at ${service}`;
}

function List({ of: { edges } }: { readonly of: Graph }) {
  const more = edges.length - LISTED_MAX;
  return (
    <>
      <ul>
        {edges.slice(0, LISTED_MAX).map((edge) => (
          <li key={JSON.stringify(edge)}>
            <Name of={edge.from} /> {relationWords(edge)}{' '}
            {edge.service === undefined ? <Name of={edge.to} /> : <code>{edge.to}</code>}
            {atService(edge.service)}
            {edge.reason === undefined ? null : ': '}
            {edge.reason === undefined ? null : <Shown text={edge.reason} />}
          </li>
        ))}
      </ul>
      {more > 0 ? (
        <p class="small muted">
          {counted(more, 'relation')} more. The page of each capability lists its own.
        </p>
      ) : null}
    </>
  );
}

function Name({ of }: { readonly of: string }) {
  return (
    <a href={hrefOf('capabilities', of)}>
      <code>{of}</code>
    </a>
  );
}
