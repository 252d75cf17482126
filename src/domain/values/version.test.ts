import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { satisfies } from './version.ts';

/** Ranges as package managers read them: the range, what it admits, what it does not. */
const table: [range: string, admitted: string, refused: string][] = [
  ['1.2.3', '1.2.3', '1.2.2 1.2.4 1.3.3 2.2.3 1.2.3-rc.1'],
  ['=1.2.3', '1.2.3', '1.2.4'],
  ['v1.2.3', '1.2.3', '1.2.4'],
  ['*', '0.0.0 1.2.3 99.0.0', '1.0.0-rc.1'],
  ['x', '0.0.0 1.2.3', '1.0.0-rc.1'],
  ['X', '1.2.3', ''],
  ['', '0.0.0 1.2.3', '1.0.0-rc.1'],
  ['  ', '1.2.3', ''],
  ['1', '1.0.0 1.9.9', '0.9.9 2.0.0 1.0.0-rc.1'],
  ['1.x', '1.0.0 1.9.9', '0.9.9 2.0.0 1.5.0-rc.1'],
  ['1.*', '1.0.0 1.9.9', '2.0.0'],
  ['1.X.X', '1.0.0 1.9.9', '2.0.0'],
  ['1.2', '1.2.0 1.2.9', '1.1.9 1.3.0'],
  ['1.2.x', '1.2.0 1.2.9', '1.1.9 1.3.0'],
  ['^1.2.3', '1.2.3 1.2.4 1.9.0', '1.2.2 2.0.0 0.9.9 2.0.0-rc.1 1.3.0-rc.1'],
  ['^1.2', '1.2.0 1.9.0', '1.1.9 2.0.0'],
  ['^1', '1.0.0 1.9.0', '0.9.9 2.0.0'],
  ['^0.2.3', '0.2.3 0.2.9', '0.2.2 0.3.0 1.0.0'],
  ['^0.2', '0.2.0 0.2.9', '0.3.0'],
  ['^0.0.3', '0.0.3', '0.0.2 0.0.4 0.1.0'],
  ['^0.0', '0.0.0 0.0.9', '0.1.0'],
  ['^0', '0.0.0 0.9.9', '1.0.0'],
  ['^0.x', '0.0.0 0.9.9', '1.0.0'],
  ['^*', '0.0.0 9.9.9', ''],
  ['~1.2.3', '1.2.3 1.2.9', '1.2.2 1.3.0'],
  ['~1.2', '1.2.0 1.2.9', '1.1.0 1.3.0'],
  ['~1', '1.0.0 1.9.9', '0.9.9 2.0.0'],
  ['>1.2.3', '1.2.4 2.0.0', '1.2.3 1.2.2 2.0.0-rc.1'],
  ['>1.2', '1.3.0 2.0.0', '1.2.0 1.2.9'],
  ['>1', '2.0.0', '1.0.0 1.9.9'],
  ['>=1.2.3', '1.2.3 9.0.0', '1.2.2'],
  ['>=1.2', '1.2.0 1.3.0', '1.1.9'],
  ['<1.2.3', '1.2.2 0.0.0', '1.2.3 1.2.3-rc.1'],
  ['<1.2', '1.1.9', '1.2.0'],
  ['<=1.2.3', '1.2.3 0.1.0', '1.2.4'],
  ['<=1.2', '1.2.0 1.2.9 1.1.0', '1.3.0'],
  ['<=1', '1.9.9', '2.0.0'],
  ['>*', '', '0.0.0 1.2.3'],
  ['<*', '', '0.0.0 1.2.3'],
  ['>=1.2 <2', '1.2.0 1.9.9', '1.1.9 2.0.0'],
  ['>= 1.2.0 < 2.0.0', '1.2.0 1.9.9', '1.1.9 2.0.0'],
  ['^ 1.2', '1.2.0', '2.0.0'],
  ['>=1.2.0   <1.4.0 >1.2.1', '1.2.2 1.3.9', '1.2.1 1.4.0'],
  ['1.2.3 || 2.x', '1.2.3 2.0.0 2.9.9', '1.2.4 3.0.0'],
  ['^1||^3', '1.5.0 3.5.0', '2.0.0'],
  // Prereleases: admitted only by a range that names one of the same version, and in order.
  ['1.2.3-rc.1', '1.2.3-rc.1', '1.2.3-rc.2 1.2.3'],
  ['>=1.2.3-rc.1', '1.2.3-rc.1 1.2.3-rc.2 1.2.3 2.0.0', '1.2.3-beta 1.2.4-rc.1'],
  ['^1.2.3-rc.1', '1.2.3-rc.1 1.2.3 1.9.0', '1.2.3-beta.9 1.2.4-rc.1 2.0.0'],
  ['>=1.0.0-alpha <2', '1.0.0-alpha 1.0.0-beta 1.5.0', '2.0.0 1.5.0-rc.1'],
  ['>=1.0.0-rc.2', '1.0.0-rc.10 1.0.0-rc.2.1', '1.0.0-rc.1 1.0.0-rc 1.0.0-9'],
  ['>1.0.0-1', '1.0.0-2 1.0.0-a', '1.0.0-1 1.0.0-0'],
  // An unreadable range admits nothing, not even what it might have meant.
  ['latest', '', '1.2.3'],
  ['1.2.3.4', '', '1.2.3'],
  ['01.2.3', '', '1.2.3'],
  ['1.2.3 - 2.0.0', '', '1.2.3 1.5.0'],
  ['>=', '', '1.2.3'],
  ['v', '', '1.2.3'],
  ['^', '', '1.2.3'],
  ['=>1.2.3', '', '1.2.3'],
  ['1.2.3,1.2.4', '', '1.2.3'],
  ['1.x-rc', '', '1.2.3'],
  ['1.2.3+build', '', '1.2.3'],
  ['1.2.3 nonsense', '', '1.2.3'],
  ['-1', '', '1.2.3'],
  ['1.2.3 ||', '1.2.3', '1.2.4'],
  [`${'1.2.3 || '.repeat(40)}1.2.3`, '', '1.2.3'],
];

describe('satisfies()', () => {
  for (const [range, admitted, refused] of table) {
    test(`reads "${range.slice(0, 40)}"`, () => {
      for (const version of admitted.split(' ').filter(Boolean)) {
        assert.equal(satisfies(version, range), true, `${version} in "${range}"`);
      }
      for (const version of refused.split(' ').filter(Boolean)) {
        assert.equal(satisfies(version, range), false, `${version} in "${range}"`);
      }
    });
  }

  for (const version of ['', '1', '1.2', '1.2.x', 'x', '*', 'v1.2.3x', '1.2.3+b', '01.0.0']) {
    test(`does not admit "${version}", which is no version`, () => {
      assert.equal(satisfies(version, '*'), false);
    });
  }

  const part = fc.integer({ min: 0, max: 12 });
  const version = fc.tuple(part, part, part).map((parts) => parts.join('.'));

  test('agrees with the order of versions for every pair', () => {
    fc.assert(
      fc.property(version, version, (one, other) => {
        assert.equal(satisfies(one, `>=${other}`), !satisfies(one, `<${other}`));
        assert.equal(satisfies(one, `>${other}`), !satisfies(one, `<=${other}`));
        assert.equal(satisfies(one, other), one === other);
        assert.equal(satisfies(one, `>=${other}`), one === other || satisfies(one, `>${other}`));
      }),
    );
  });

  test('never admits an older version by ^ or ~, and never more by ~ than by ^', () => {
    fc.assert(
      fc.property(version, version, (one, other) => {
        const caret = satisfies(one, `^${other}`);
        if (caret) assert.ok(satisfies(one, `>=${other}`));
        if (caret && !other.startsWith('0.')) assert.equal(one.split('.')[0], other.split('.')[0]);
        if (satisfies(one, `~${other}`) && !other.startsWith('0.0.')) assert.ok(caret);
      }),
    );
  });

  test('never throws, for any range', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (range) => {
        assert.equal(typeof satisfies('1.2.3', range), 'boolean');
      }),
    );
  });
});
