import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Catalog } from '../../protocol/capability.ts';
import { createCatalog } from './catalog.ts';
import { graphOf } from './graph.ts';

const BASE = {
  description: 'Something',
  contract_version: '1.0.0',
  inputs: [],
  output: { type: 'object', fields: ['a'] },
  side_effect: { type: 'read' },
  minimum_scope: ['x'],
};

/** One edge of each kind, twice where it could be counted twice. */
const catalog = catalogOf({
  find: BASE,
  hold: { ...BASE, side_effect: { type: 'transactional', compensation: 'release' } },
  release: { ...BASE, side_effect: { type: 'write' } },
  book: {
    ...BASE,
    side_effect: { type: 'irreversible' },
    requires: [{ capability: 'find', reason: 'it is booked by its quote' }],
    refresh_via: ['find'],
    verify_via: ['look'],
    cross_service: {
      handoff_to: [{ service: 'hotel', capability: 'book_room' }],
      // Another service may use a capability name of ours.
      followup_via: [
        { service: 'expense', capability: 'hold' },
        { service: 'hotel', capability: 'book_room' },
      ],
    },
  },
  look: BASE,
  trip: {
    ...BASE,
    kind: 'composed',
    composition: {
      authority_boundary: 'same_service',
      steps: [
        { id: 'one', capability: 'find' },
        { id: 'two', capability: 'find' },
        { id: 'three', capability: 'look' },
      ],
      input_mapping: {},
      output_mapping: { a: '$.steps.three.output.a' },
      failure_policy: 'propagate',
      audit_policy: { record_child_invocations: true, parent_task_lineage: true },
    },
  },
});

function catalogOf(declarations: Record<string, unknown>): Catalog {
  const checked = createCatalog(Object.entries(declarations));
  assert.ok('catalog' in checked, JSON.stringify(checked));
  return checked.catalog;
}

describe('graphOf()', () => {
  test('shows each capability once, with its effect and kind', () => {
    const own = graphOf(catalog).nodes.filter((node) => node.service === undefined);

    assert.deepEqual(own, [
      { capability: 'find', side_effect: 'read', kind: 'atomic' },
      { capability: 'hold', side_effect: 'transactional', kind: 'atomic' },
      { capability: 'release', side_effect: 'write', kind: 'atomic' },
      { capability: 'book', side_effect: 'irreversible', kind: 'atomic' },
      { capability: 'look', side_effect: 'read', kind: 'atomic' },
      { capability: 'trip', side_effect: 'read', kind: 'composed' },
    ]);
  });

  test('shows a capability of another service once, with any number of references', () => {
    const foreign = graphOf(catalog).nodes.filter((node) => node.service !== undefined);

    assert.deepEqual(foreign, [
      { capability: 'book_room', service: 'hotel' },
      { capability: 'hold', service: 'expense' },
    ]);
  });

  test('has exactly one edge of its type for every declared relation', () => {
    const { edges } = graphOf(catalog);

    assert.deepEqual(
      edges.map(({ type, from, to, service = '', relation = '' }) =>
        [from, type, to, service, relation].join(' ').trim(),
      ),
      [
        'hold compensation release',
        'book requires find',
        'book refresh find',
        'book verify look',
        'book cross_service book_room hotel handoff_to',
        'book cross_service hold expense followup_via',
        'book cross_service book_room hotel followup_via',
        'trip composition find',
        'trip composition look',
      ],
    );
    assert.equal(edges[1]?.reason, 'it is booked by its quote');
  });

  test('shows a capability with its outgoing and incoming neighbours', () => {
    const { nodes, edges } = graphOf(catalog, 'find');

    assert.deepEqual(
      nodes.map(({ capability }) => capability),
      ['find', 'book', 'trip'],
    );
    assert.deepEqual(
      edges.map(({ from, type }) => `${from} ${type}`),
      ['book requires', 'book refresh', 'trip composition'],
    );
  });

  test('keeps a capability of another service apart from ours with the same name', () => {
    const book = graphOf(catalog, 'book').nodes;
    const hold = graphOf(catalog, 'hold');

    assert.deepEqual(
      book.filter(({ capability }) => capability === 'hold'),
      [{ capability: 'hold', service: 'expense' }],
    );
    assert.deepEqual(
      hold.edges.map(({ to }) => to),
      ['release'],
    );
  });

  test('shows a capability alone when nothing is related to it', () => {
    const alone = catalogOf({ alone: BASE, other: BASE });

    assert.deepEqual(graphOf(alone, 'alone'), {
      nodes: [{ capability: 'alone', side_effect: 'read', kind: 'atomic' }],
      edges: [],
    });
  });
});
