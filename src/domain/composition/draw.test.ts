import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { smallest } from '../../../test/declarations.ts';
import { type Capability, CapabilityDeclaration } from '../../protocol/capability.ts';
import { checkDraw } from './draw.ts';

const usd = (amount: bigint) => ({ currency: 'USD', amount });

function priced(certainty?: string, amounts: object = {}): Capability {
  const cost = certainty && { certainty, financial: { currency: 'USD', ...amounts } };
  const declared = CapabilityDeclaration.parse({ ...smallest(), ...(cost && { cost }) });
  return { name: 'step', ...declared };
}

const fixed = (amount: number) => priced('fixed', { amount });
const dynamic = (upper_bound: number) => priced('dynamic', { upper_bound });
const estimated = priced('estimated', { range_min: 1 });

test('checkDraw() takes nothing for a step without a price', () => {
  assert.deepEqual(checkDraw(priced(), { drawn: 0n, isBudgeted: true }), {});
});

test('checkDraw() lets a step take exactly what is left, and not a cent more', () => {
  const left = { reserved: usd(30_00n), drawn: 10_00n, isBudgeted: true };

  assert.deepEqual(checkDraw(fixed(20), left), { price: usd(20_00n) });
  assert.deepEqual(checkDraw(dynamic(20), left), { price: usd(20_00n) });
  assert.deepEqual(checkDraw(estimated, left, usd(20_00n)), { price: usd(20_00n) });
  for (const found of [
    checkDraw(fixed(20.01), left),
    checkDraw(dynamic(20.01), left),
    checkDraw(estimated, left, usd(20_01n)),
  ]) {
    assert.equal(found.failure?.type, 'budget_exceeded');
    assert.match(found.failure?.detail ?? '', /20\.01 USD.*20\.00 is left/);
  }
});

test('checkDraw() refuses a price that nothing pins where a budget stands behind it', () => {
  const reserved = { reserved: usd(30_00n), drawn: 0n };

  const found = checkDraw(estimated, { ...reserved, isBudgeted: true });
  assert.equal(found.failure?.type, 'budget_not_enforceable');
  const foreign = checkDraw(
    estimated,
    { ...reserved, isBudgeted: true },
    { ...usd(1n), currency: 'EUR' },
  );
  assert.equal(foreign.failure?.type, 'budget_not_enforceable');
  assert.deepEqual(checkDraw(estimated, { ...reserved, isBudgeted: false }), {
    price: usd(30_00n),
  });
});

test('checkDraw() only tells the price where nothing was reserved', () => {
  assert.deepEqual(checkDraw(fixed(20), { drawn: 99n, isBudgeted: false }), { price: usd(20_00n) });
  assert.deepEqual(checkDraw(estimated, { drawn: 0n, isBudgeted: false }), { price: undefined });
});

test('checkDraw() never lets steps take more than was reserved, whatever their prices', () => {
  const cents = fc.integer({ min: 0, max: 5_000 });
  fc.assert(
    fc.property(cents, fc.array(cents, { maxLength: 16 }), (whole, prices) => {
      let drawn = 0n;
      for (const price of prices) {
        const draw = checkDraw(fixed(price / 100), {
          reserved: usd(BigInt(whole)),
          drawn,
          isBudgeted: true,
        });
        drawn += draw.price?.amount ?? 0n;
      }
      assert.ok(drawn <= BigInt(whole));
    }),
  );
});
