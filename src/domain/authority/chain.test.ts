import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { chainNames, chainOf } from './chain.ts';

const table: [name: string, root: string, subjects: string[], names: string[]][] = [
  ['has the root principal alone', 'human:a', ['human:a'], ['human:a']],
  ['has the subject of a root token', 'human:a', ['agent:x'], ['human:a', 'agent:x']],
  ['counts a renewal once', 'human:a', ['agent:x', 'agent:x'], ['human:a', 'agent:x']],
  [
    'keeps a name that comes back through other hands',
    'human:a',
    ['agent:x', 'agent:y', 'agent:x'],
    ['human:a', 'agent:x', 'agent:y', 'agent:x'],
  ],
];

for (const [name, root, subjects, names] of table) {
  test(`chainNames() ${name}`, () => {
    assert.deepEqual(chainNames(root, subjects), names);
  });
}

const NAME = fc.constantFrom('agent:x', 'agent:y', 'agent:x","agent:y', 'service:ü');

test('chainOf() is equal for equal names only', () => {
  const line = fc.tuple(NAME, fc.array(NAME, { maxLength: 5 }));
  return fc.assert(
    fc.property(line, line, (one, other) => {
      const isSame = JSON.stringify(chainNames(...one)) === JSON.stringify(chainNames(...other));
      assert.equal(chainOf(...one) === chainOf(...other), isSame);
    }),
  );
});
