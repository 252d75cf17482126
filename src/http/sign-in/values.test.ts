import assert from 'node:assert/strict';
import { test } from 'vitest';
import { amountText, money, moneyHtml, time } from './values.ts';

const NOW = new Date('2026-11-16T14:40:00.000Z');

function at(ms: number): string {
  return time(new Date(NOW.getTime() + ms), NOW);
}

test('amountText() writes all decimals of the currency and groups thousands', () => {
  assert.equal(amountText(300, 'USD'), '300.00');
  assert.equal(amountText(1_234_567.5, 'USD'), '1,234,567.50');
  assert.equal(amountText(1_000, 'JPY'), '1,000');
  assert.equal(amountText(1_000, 'KWD'), '1,000.000');
});

test('amountText() shows an amount that its currency does not have as it is', () => {
  assert.equal(amountText(0.001, 'USD'), '0.001');
  assert.equal(amountText(-5, 'USD'), '-5');
  assert.equal(amountText(5, '<b>'), '5');
});

test('money() escapes the currency', () => {
  assert.equal(money(5, '<b>'), '<span class="money">5 <small>&lt;b&gt;</small></span>');
});

test('moneyHtml() marks the amounts of a sentence and escapes the rest', () => {
  assert.equal(
    moneyHtml('200.00 to 1,600.00 USD <each>'),
    '<span class="money">200.00</span> to <span class="money">1,600.00 <small>USD</small></span> &lt;each&gt;',
  );
  assert.equal(moneyHtml('free'), 'free');
});

const TIMES: [ms: number, relative: string, kind: string][] = [
  [4 * 86_400_000 + 12_000_000, 'in 4 days', 'time'],
  [86_400_000, 'in 1 day', 'time'],
  [86_399_999, 'in 23 h', 'time'],
  [600_000, 'in 10 min', 'time'],
  [599_999, 'in 9 min', 'time soon'],
  [4_000, 'in 4 s', 'time soon'],
  [0, 'now', 'time'],
  [-999, 'now', 'time'],
  [-1_800_000, '30 min ago', 'time'],
];
for (const [ms, relative, kind] of TIMES) {
  test(`time() says "${relative}" at ${ms} ms`, () => {
    assert.ok(at(ms).startsWith(`<span class="${kind}">${relative} <small>`), at(ms));
  });
}

test('time() says the exact time in UTC', () => {
  assert.match(
    at(3_600_000),
    /<time datetime="2026-11-16T15:40:00\.000Z">Mon 16 Nov 2026, 15:40:00 UTC<\/time>/,
  );
});
