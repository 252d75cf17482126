import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { eur, gbp, round, usd } from './amounts.ts';
import { minorMax, toMinor } from './money.ts';

test('usd(), eur() and gbp() make money of their currency', () => {
  assert.deepEqual(usd(1.5), { currency: 'USD', amount: 1.5 });
  assert.deepEqual(eur(0), { currency: 'EUR', amount: 0 });
  assert.deepEqual(gbp(80.555), { currency: 'GBP', amount: 80.555 });
});

for (const [amount, currency, up, nearest, down] of [
  [80.555, 'USD', 80.56, 80.56, 80.55],
  [80.5549, 'USD', 80.56, 80.55, 80.55],
  [1.005, 'USD', 1.01, 1.01, 1],
  [12, 'USD', 12, 12, 12],
  // 3.3000000000000003 and 0.30000000000000004: the rest is not of the author's numbers.
  [1.1 * 3, 'USD', 3.3, 3.3, 3.3],
  [0.1 + 0.2, 'USD', 0.3, 0.3, 0.3],
  [1e-7, 'USD', 0.01, 0, 0],
  [99.5, 'JPY', 100, 100, 99],
  [1.23456, 'KWD', 1.235, 1.235, 1.234],
  [-0.005, 'USD', 0, 0, -0.01],
] as const) {
  test(`round() keeps the decimals of ${currency} in ${amount}`, () => {
    const amountOf = (direction: 'up' | 'nearest' | 'down') =>
      round({ currency, amount }, direction).amount;

    assert.deepEqual([amountOf('up'), amountOf('nearest'), amountOf('down')], [up, nearest, down]);
  });
}

test('round() leaves what is no amount as it is', () => {
  for (const amount of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.deepEqual(round(usd(amount), 'up'), usd(amount));
  }
  assert.deepEqual(round({ currency: 'XXQ', amount: 1.234 }, 'up').amount, 1.234);
});

test('round() makes an amount that can be charged of every amount that a currency can have', () => {
  const most = Number(minorMax('USD') / 100n) - 1;
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: most, noNaN: true }),
      fc.constantFrom('up' as const, 'nearest' as const, 'down' as const),
      (amount, direction) => {
        assert.notEqual(toMinor(round(usd(amount), direction).amount, 'USD'), undefined);
      },
    ),
  );
});
