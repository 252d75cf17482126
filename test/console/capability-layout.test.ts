/**
 * The drawing of the graph of capabilities: nothing in it covers anything else.
 *
 * @module
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { type Drawing, drawingOf } from '../../src/console/views/capabilities/layout.ts';
import type { Graph } from '../../src/protocol/trust.ts';

const NAMES = 'abcdefghij'.split('');

const graphs = fc
  .array(
    fc.record({
      type: fc.constantFrom('requires', 'compensation', 'verify', 'refresh'),
      from: fc.constantFrom(...NAMES),
      to: fc.constantFrom(...NAMES),
    }),
    { maxLength: 30 },
  )
  .map((edges) => ({ nodes: NAMES.map((capability) => ({ capability })), edges }) as Graph);

test('drawingOf() covers no box and no words, whatever the graph is', () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const drawing = drawingOf(graph);
      const { boxes, arrows, width, height, boxWidth } = drawing;
      for (const [at, one] of boxes.entries()) {
        assert.ok(one.x >= 0 && one.x + boxWidth <= width);
        assert.ok(one.y >= 0 && one.y + one.height <= height);
        for (const other of boxes.slice(at + 1)) assert.ok(areApart(drawing, one, other));
      }
      const lines = arrows.map(({ wordsX, wordsY }) => `${wordsX} ${wordsY}`);
      assert.equal(new Set(lines).size, lines.length);
    }),
  );
});

test('drawingOf() draws one arrow for each pair that is related, also in a circle', () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const pairs = graph.edges.filter(({ from, to }) => from !== to);
      const expected = new Set(pairs.map(({ from, to }) => `${from} ${to}`)).size;
      assert.equal(drawingOf(graph).arrows.length, expected);
    }),
  );
});

test('drawingOf() puts both relations of a pair into one arrow, and a circle the other way round', () => {
  const edges: Graph['edges'] = [
    { type: 'requires', from: 'a', to: 'b' },
    { type: 'verify', from: 'a', to: 'b' },
    { type: 'compensation', from: 'b', to: 'a' },
  ];
  const nodes = [{ capability: 'a' }, { capability: 'b' }];
  const { arrows } = drawingOf({ nodes, edges });

  assert.deepEqual(
    arrows.map(({ words, isReversed }) => ({ words, isReversed })),
    [
      { words: 'needs, is verified by', isReversed: false },
      { words: '◂ is undone by', isReversed: true },
    ],
  );
});

test('drawingOf() keeps a capability of another service apart from one of the same name', () => {
  const graph: Graph = {
    nodes: [{ capability: 'a' }, { capability: 'a', service: 'other' }],
    edges: [
      { type: 'cross_service', from: 'a', to: 'a', service: 'other', relation: 'handoff_to' },
    ],
  };

  assert.deepEqual(
    drawingOf(graph).boxes.map(({ service }) => service),
    [undefined, 'other'],
  );
});

function areApart({ boxWidth }: Drawing, ...pair: readonly [Box, Box]): boolean {
  const [one, other] = [...pair].sort((left, right) => left.y - right.y) as [Box, Box];
  return Math.abs(one.x - other.x) >= boxWidth || one.y + one.height <= other.y;
}

type Box = Drawing['boxes'][number];
