import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { UpstreamTool } from '../../guard/upstream.ts';
import { toolReview } from './changed.ts';

/** What a person sees of a change between two schemas. */
function partsOf(before: object, now: object) {
  const [old, fresh] = [before, now].map(
    (properties): UpstreamTool => ({
      name: 'read',
      description: 'Reads',
      inputSchema: { type: 'object', properties },
    }),
  );
  const change = { name: 'read', kind: 'changed', isNamed: true, parts: [] } as const;
  return toolReview({ ...change, before: old, now: fresh }).parts;
}

test('toolReview() shows each text that changed, before and now', () => {
  assert.deepEqual(partsOf({ a: { default: 'x' } }, { a: { default: 'y' } }), [
    { part: 'inputSchema.properties.a.default', before: 'x', now: 'y' },
  ]);
});

const DISGUISED: readonly (readonly [what: string, before: object, now: object])[] = [
  [
    'behind a name with a dot',
    { a: { description: 'A path' } },
    { a: { description: 'Any path' }, 'a.description': 'A path' },
  ],
  ['as a text like a number', { a: { default: 1 } }, { a: { default: '1' } }],
  ['as an empty text', { a: { type: 'string' } }, { a: { type: 'string', default: '' } }],
];

for (const [what, before, now] of DISGUISED) {
  test(`toolReview() shows a change that is disguised ${what}`, () => {
    const shown = partsOf(before, now).map(({ part }) => part);

    assert.match(shown.join(' '), /inputSchema\.properties\.a\.(?:description|default)/);
  });
}
