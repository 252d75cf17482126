import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { formatDuration, isDuration, parseDuration } from './duration.ts';

const durations: [text: string, milliseconds: number][] = [
  ['PT15M', 900_000],
  ['PT24H', 86_400_000],
  ['P1D', 86_400_000],
  ['P2W', 1_209_600_000],
  ['P1DT12H', 129_600_000],
  ['PT1H30M5S', 5_405_000],
  ['PT36H', 129_600_000],
  ['PT0.5S', 500],
  ['PT1.001S', 1_001],
  ['PT0.05S', 50],
  ['PT0S', 0],
  ['P0D', 0],
  ['24h', 86_400_000],
  ['15m', 900_000],
  ['30s', 30_000],
  ['7d', 604_800_000],
  ['500ms', 500],
  ['0s', 0],
  ['9007199254740991ms', Number.MAX_SAFE_INTEGER],
  ['PT9007199254740.991S', Number.MAX_SAFE_INTEGER],
];
for (const [text, milliseconds] of durations) {
  test(`parseDuration() reads ${text} as ${milliseconds} ms`, () => {
    assert.equal(parseDuration(text), milliseconds);
    assert.equal(isDuration(text), true);
  });
}

const refused: [why: string, texts: string[]][] = [
  ['nothing in it', ['', 'P', 'PT', 'P1DT', 'PD', 'PTH', 'h', 'ms']],
  ['years and months', ['P1Y', 'P1M', 'P1Y2M3D', 'P1M1D', '1y', '1M', '1mo', '1w']],
  ['a sign', ['-PT15M', 'PT-15M', '+PT15M', '-1h', '+1h', 'P-1D']],
  ['parts out of order', ['PT1M1H', 'PT1S1M', 'P1H', 'PT1D', 'P1DT1D', 'PT1H1H', 'P1W1D', 'P1D1W']],
  ['fractions of more than seconds', ['PT1.5H', 'P1.5D', 'PT0.5M', '1.5h', '0.5s']],
  ['fractions of milliseconds', ['PT0.0005S', 'PT1.0000S', 'PT.5S', 'PT1.S', 'PT1,5S']],
  [
    'other case, space or rest',
    ['pt15m', 'PT15m', ' PT15M', 'PT15M ', 'PT15M\n', '1 h', '1H', '1h30m'],
  ],
  ['other digits', ['PT１５M', '١h', '0x10s', '1e3s']],
  ['no unit', ['15', '0']],
  [
    'more than 2^53-1 ms',
    ['9007199254740992ms', 'P104249992D', 'PT9007199254740.992S', `${'9'.repeat(60)}d`],
  ],
  ['a long text', [`PT${'0'.repeat(100)}1S`]],
];
for (const [why, texts] of refused) {
  test(`parseDuration() refuses ${why}`, () => {
    for (const text of texts) assert.equal(parseDuration(text), undefined, text);
  });
}

test('isDuration() refuses values that are not text', () => {
  for (const value of [15, null, undefined, ['PT15M'], {}]) assert.equal(isDuration(value), false);
});

const formats: [milliseconds: number, text: string][] = [
  [0, 'PT0S'],
  [900_000, 'PT15M'],
  [86_400_000, 'P1D'],
  [129_600_000, 'P1DT12H'],
  [90_061_001, 'P1DT1H1M1.001S'],
  [86_400_500, 'P1DT0.5S'],
  [50, 'PT0.05S'],
];
for (const [milliseconds, text] of formats) {
  test(`formatDuration() writes ${milliseconds} ms as ${text}`, () => {
    assert.equal(formatDuration(milliseconds), text);
  });
}

test('formatDuration() throws on a value that is no count of milliseconds', () => {
  for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => formatDuration(value), /Cannot write duration/);
  }
});

test('parseDuration() reads back every duration that formatDuration() writes', () => {
  return fc.assert(
    fc.property(fc.oneof(fc.maxSafeNat(), fc.nat(100_000_000)), (milliseconds) => {
      assert.equal(parseDuration(formatDuration(milliseconds)), milliseconds);
    }),
    { numRuns: 5_000 },
  );
});
