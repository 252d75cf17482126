/**
 * Places a graph of capabilities for a drawing: columns from left to right, each relation from a box to one
 * further right.
 *
 * Every relation ends at a height of its own, with its words on the last, level part, so words never cover each
 * other. A relation over several columns gets a free lane in each of them, so it never crosses a box. A relation
 * that closes a circle is placed the other way round and drawn with its arrow at the left.
 *
 * @module
 */

import type { Graph } from '../../../protocol/trust.ts';

export interface Box {
  readonly name: string;
  /** Of another service. */
  readonly service: string | undefined;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

interface Arrow {
  readonly path: string;
  readonly words: string;
  readonly wordsX: number;
  readonly wordsY: number;
  readonly isReversed: boolean;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly boxWidth: number;
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}

/** What a relation says, read from its start to its end. */
export function relationWords({ type, relation }: Graph['edges'][number]): string {
  const key = type === 'cross_service' ? (relation ?? type) : type;
  return Object.hasOwn(RELATIONS, key) ? (RELATIONS[key] as string) : key.replaceAll('_', ' ');
}

const RELATIONS: Readonly<Record<string, string>> = {
  requires: 'needs',
  composition: 'has the step',
  compensation: 'is undone by',
  refresh: 'is refreshed by',
  verify: 'is verified by',
  handoff_to: 'hands over to',
  refresh_via: 'is refreshed by',
  verify_via: 'is verified by',
  followup_via: 'is followed by',
};

/** In units of the drawing: a character of a name, a lane, and the distances between boxes. */
const NAME_UNIT = 7.4;
const WORD_UNIT = 6.2;
const LANE = 20;
const BOX_MIN = 34;
const SPACE_X = 56;
const SPACE_Y = 14;
const EDGE = 2;

/** A box, or the lane of a relation that passes a column. */
interface Slot {
  readonly key: string;
  readonly node: Graph['nodes'][number] | undefined;
  readonly rank: number;
  readonly enters: Step[];
  readonly leaves: Step[];
  y: number;
  height: number;
}

/** The part of a relation between two columns. */
interface Step {
  readonly from: Slot;
  readonly to: Slot;
  readonly link: Link;
}

/** All relations from one capability to another. */
interface Link {
  from: string;
  to: string;
  readonly words: string[];
  isReversed: boolean;
}

/** Boxes of capabilities without a relation are left out. */
export function drawingOf(graph: Graph): Drawing {
  const links = linksOf(graph);
  straighten(links);
  const ranks = ranksOf(links);
  const { slots, steps } = slotsOf(graph, links, ranks);
  const columns = columnsOf(slots);
  const height = stack(columns);
  const names = graph.nodes.map(({ capability, service }) =>
    Math.max(capability.length, service?.length ?? 0),
  );
  const words = links.map((link) => linkWords(link).length);
  const boxWidth = Math.ceil(Math.max(10, ...names) * NAME_UNIT + 18);
  const label = Math.ceil(Math.max(4, ...words) * WORD_UNIT + 18);
  const pitch = boxWidth + SPACE_X + label;
  const xOf = ({ rank }: Slot) => EDGE + rank * pitch;
  return {
    width: Math.max(1, columns.length) * pitch - SPACE_X - label + 2 * EDGE,
    height,
    boxWidth,
    boxes: slots.flatMap((slot) => boxOf(slot, xOf(slot))),
    arrows: arrowsOf(steps, { xOf, boxWidth, label }),
  };
}

function keyOf({ capability, service }: { capability: string; service?: string | undefined }) {
  return service === undefined ? capability : `${service} ${capability}`;
}

function linksOf({ edges }: Graph): Link[] {
  const links = new Map<string, Link>();
  for (const edge of edges) {
    const to = keyOf({ capability: edge.to, service: edge.service });
    if (edge.from === to) continue;
    const key = JSON.stringify([edge.from, to]);
    const link = links.get(key) ?? { from: edge.from, to, words: [], isReversed: false };
    const words = relationWords(edge);
    if (!link.words.includes(words)) link.words.push(words);
    links.set(key, link);
  }
  return [...links.values()];
}

function linkWords({ words, isReversed }: Link): string {
  return isReversed ? `◂ ${words.join(', ')}` : words.join(', ');
}

/** Turns the links round that close a circle. */
function straighten(links: readonly Link[]): void {
  const state = new Map<string, 'open' | 'done'>();
  const visit = (key: string) => {
    state.set(key, 'open');
    for (const link of links.filter(({ from, isReversed }) => from === key && !isReversed)) {
      if (state.get(link.to) === 'open') link.isReversed = true;
      else if (!state.has(link.to)) visit(link.to);
    }
    state.set(key, 'done');
  };
  for (const { from } of links) if (!state.has(from)) visit(from);
  for (const link of links.filter(({ isReversed }) => isReversed)) {
    const { from, to } = link;
    link.from = to;
    link.to = from;
  }
}

/** The column of each box: one further right than everything that leads to it. */
function ranksOf(links: readonly Link[]): Map<string, number> {
  const ranks = new Map(links.flatMap(({ from, to }) => [from, to]).map((key) => [key, 0]));
  for (let pass = 0, isSettled = false; !isSettled && pass <= ranks.size; pass++) {
    isSettled = true;
    for (const { from, to } of links) {
      const least = (ranks.get(from) ?? 0) + 1;
      if ((ranks.get(to) ?? 0) >= least) continue;
      ranks.set(to, least);
      isSettled = false;
    }
  }
  return ranks;
}

function slotsOf(graph: Graph, links: readonly Link[], ranks: ReadonlyMap<string, number>) {
  const boxes = new Map<string, Slot>();
  for (const node of graph.nodes) {
    const key = keyOf(node);
    const rank = ranks.get(key);
    if (rank !== undefined) boxes.set(key, emptyBox(key, rank, node));
  }
  const lanes: Slot[] = [];
  const steps: Step[] = [];
  for (const link of links) {
    const [first, last] = [boxes.get(link.from), boxes.get(link.to)];
    if (!first || !last) continue;
    let from = first;
    for (let rank = first.rank + 1; rank <= last.rank; rank++) {
      const to: Slot = rank === last.rank ? last : emptyBox(`${link.from}\n${link.to}`, rank);
      if (to !== last) lanes.push(to);
      const step = { from, to, link };
      from.leaves.push(step);
      to.enters.push(step);
      steps.push(step);
      from = to;
    }
  }
  return { slots: [...boxes.values(), ...lanes], steps };
}

function emptyBox(key: string, rank: number, node?: Graph['nodes'][number]): Slot {
  return { key, node, rank, enters: [], leaves: [], y: 0, height: 0 };
}

function columnsOf(slots: readonly Slot[]): Slot[][] {
  const columns: Slot[][] = [];
  for (const slot of slots) {
    columns[slot.rank] ??= [];
    columns[slot.rank]?.push(slot);
  }
  return columns;
}

/**
 * Stacks each column in the order of what leads to it, and beside it where there is room. Returns the height of the
 * highest column.
 */
function stack(columns: readonly Slot[][]): number {
  for (const slot of columns.flat()) slot.height = heightOf(slot);
  const tallest = Math.max(0, ...columns.map(packedHeight));
  for (const column of columns) {
    const order = new Map(column.map((slot) => [slot, middleOf(slot)]));
    column.sort((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0));
    let [y, left] = [0, packedHeight(column)];
    for (const slot of column) {
      const beside = (order.get(slot) ?? 0) - slot.height / 2;
      slot.y = EDGE + Math.max(y, Math.min(beside, tallest - left));
      y = slot.y - EDGE + slot.height + SPACE_Y;
      left -= slot.height + SPACE_Y;
    }
  }
  return tallest + 2 * EDGE;
}

function heightOf({ node, enters, leaves }: Slot): number {
  const ends = Math.max(enters.length, leaves.length);
  return node ? Math.max(BOX_MIN, (ends + 0.5) * LANE) : LANE;
}

function packedHeight(column: readonly Slot[]): number {
  return column.reduce((sum, { height }) => sum + height + SPACE_Y, -SPACE_Y);
}

function middleOf({ enters }: Slot): number {
  if (enters.length === 0) return 0;
  return enters.reduce((sum, { from }) => sum + from.y + from.height / 2, 0) / enters.length;
}

function boxOf({ node, y, height }: Slot, x: number): Box[] {
  return node ? [{ name: node.capability, service: node.service, x, y, height }] : [];
}

interface Measures {
  readonly boxWidth: number;
  readonly label: number;
  xOf(slot: Slot): number;
}

function arrowsOf(steps: readonly Step[], { xOf, boxWidth, label }: Measures): Arrow[] {
  const paths = new Map<Link, string>();
  const arrows: Arrow[] = [];
  for (const step of steps) {
    const { from, to, link } = step;
    const [startX, startY] = [xOf(from) + boxWidth, portOf(from, from.leaves, step)];
    const [endX, endY] = [xOf(to), portOf(to, to.enters, step)];
    const levelX = endX - label;
    const middleX = (startX + levelX) / 2;
    const before = paths.get(link) ?? `M${startX} ${startY}`;
    const curve = `C${middleX} ${startY} ${middleX} ${endY} ${levelX} ${endY}H`;
    if (!to.node) {
      paths.set(link, `${before}${curve}${endX + boxWidth}`);
      continue;
    }
    const slot = { wordsX: levelX + 4, wordsY: endY - 4 };
    arrows.push({
      ...slot,
      path: `${before}${curve}${endX}`,
      words: linkWords(link),
      isReversed: link.isReversed,
    });
  }
  return arrows;
}

/** The height at which a step meets a box: in the order of the boxes at its other end. */
function portOf(slot: Slot, side: readonly Step[], step: Step): number {
  const far = ({ from, to }: Step) => (from === slot ? to : from);
  const inOrder = [...side].sort((one, other) => far(one).y - far(other).y);
  const first = slot.y + (slot.height - (side.length - 1) * LANE) / 2;
  return first + inOrder.indexOf(step) * LANE;
}
