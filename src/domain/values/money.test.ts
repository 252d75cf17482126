import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { CURRENCY_EXPONENTS, exponentOf, isCurrency } from '../../protocol/currencies.ts';
import { amountFault, formatMinor, fromMinor, minorMax, toMinor } from './money.ts';

const exponents: [exponent: number, codes: string[]][] = [
  [0, ['JPY', 'KRW', 'CLP', 'ISK', 'UGX', 'UYI', 'VND', 'XAF', 'XOF', 'XPF']],
  [2, ['USD', 'EUR', 'GBP', 'CHF', 'MRU', 'MGA', 'HUF', 'XCD', 'XCG', 'ZWG', 'SLE', 'VED']],
  [3, ['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']],
  [4, ['CLF', 'UYW']],
];
for (const [exponent, codes] of exponents) {
  test(`exponentOf() gives ${exponent} decimals to ${codes.join(', ')}`, () => {
    for (const code of codes) assert.equal(exponentOf(code), exponent, code);
  });
}

test('exponentOf() knows the 165 active codes that have a minor unit', () => {
  assert.equal(CURRENCY_EXPONENTS.size, 165);
  for (const code of CURRENCY_EXPONENTS.keys()) assert.match(code, /^[A-Z]{3}$/);
});

const unknown = ['XAU', 'XXX', 'XTS', 'XDR', 'BGN', 'HRK', 'usd', 'US', ' USD', '', 'QQQ'];
for (const code of [...unknown, '__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
  test(`isCurrency() does not know "${code}"`, () => {
    assert.equal(isCurrency(code), false);
    assert.equal(exponentOf(code), undefined);
    assert.equal(toMinor(1, code), undefined);
  });
}

const amounts: [amount: number, currency: string, minor: bigint][] = [
  [0, 'USD', 0n],
  [25, 'USD', 2500n],
  [0.1, 'USD', 10n],
  [1.1, 'USD', 110n],
  [4.35, 'USD', 435n],
  [1.15, 'EUR', 115n],
  [8.2, 'EUR', 820n],
  [0.07, 'EUR', 7n],
  [1000, 'JPY', 1000n],
  [9007199254740991, 'JPY', 9007199254740991n],
  [1.234, 'BHD', 1234n],
  [0.001, 'KWD', 1n],
  [0.0001, 'CLF', 1n],
  [70368744177663.99, 'USD', 7036874417766399n],
];
for (const [amount, currency, minor] of amounts) {
  test(`toMinor() reads ${amount} ${currency} as ${minor} minor units`, () => {
    assert.equal(toMinor(amount, currency), minor);
    assert.equal(amountFault(amount, currency), undefined);
  });
}

const faults: [amount: unknown, currency: unknown, fault: string][] = [
  [1.005, 'USD', 'Cannot read amount 1.005 USD: USD has 2 decimals'],
  [0.1 + 0.2, 'USD', 'Cannot read amount 0.30000000000000004 USD: USD has 2 decimals'],
  [0.5, 'JPY', 'Cannot read amount 0.5 JPY: JPY has 0 decimals'],
  [1.2345, 'BHD', 'Cannot read amount 1.2345 BHD: BHD has 3 decimals'],
  [0.00001, 'CLF', 'Cannot read amount 0.00001 CLF: CLF has 4 decimals'],
  [1e-7, 'USD', 'Cannot read amount 1e-7 USD: USD has 2 decimals'],
  [5e-324, 'CLF', 'Cannot read amount 5e-324 CLF: CLF has 4 decimals'],
  [-1, 'USD', 'Cannot read amount -1 USD: it is negative'],
  [-0, 'USD', 'Cannot read amount -0 USD: it is negative'],
  [Number.NaN, 'USD', 'Cannot read amount NaN USD: it is not finite'],
  [Number.POSITIVE_INFINITY, 'USD', 'Cannot read amount Infinity USD: it is not finite'],
  [2 ** 46, 'USD', 'Cannot read amount 70368744177664 USD: the largest is 70368744177663.99'],
  [2 ** 53, 'JPY', 'Cannot read amount 9007199254740992 JPY: the largest is 9007199254740991'],
  [1e21, 'JPY', 'Cannot read amount 1e+21 JPY: the largest is 9007199254740991'],
  [2 ** 43, 'KWD', 'Cannot read amount 8796093022208 KWD: the largest is 8796093022207.999'],
  [2 ** 39, 'CLF', 'Cannot read amount 549755813888 CLF: the largest is 549755813887.9999'],
  ['1', 'USD', 'Cannot read amount in USD: it is of type string'],
  [1n, 'USD', 'Cannot read amount in USD: it is of type bigint'],
  [null, 'USD', 'Cannot read amount in USD: it is of type object'],
  [undefined, 'USD', 'Cannot read amount in USD: it is of type undefined'],
  [1, 'XAU', 'Cannot read amount: "XAU" is not an ISO 4217 currency'],
  [1, 'constructor', 'Cannot read amount: "constructor" is not an ISO 4217 currency'],
  [1, 'x'.repeat(1000), 'Cannot read amount: a long string is not an ISO 4217 currency'],
  [1, undefined, 'Cannot read amount: a value of type undefined is not an ISO 4217 currency'],
  [1, ['USD'], 'Cannot read amount: a value of type object is not an ISO 4217 currency'],
];
for (const [amount, currency, fault] of faults) {
  test(`amountFault() says: ${fault}`, () => {
    assert.equal(amountFault(amount, currency), fault);
    assert.equal(toMinor(amount as number, currency as string), undefined);
  });
}

const formats: [minor: bigint, currency: string, text: string][] = [
  [2500n, 'USD', '25.00'],
  [7n, 'EUR', '0.07'],
  [0n, 'EUR', '0.00'],
  [1000n, 'JPY', '1000'],
  [1n, 'KWD', '0.001'],
  [12345n, 'CLF', '1.2345'],
  [-5n, 'USD', '-0.05'],
];
for (const [minor, currency, text] of formats) {
  test(`formatMinor() writes ${minor} minor units of ${currency} as ${text}`, () => {
    assert.equal(formatMinor(minor, currency), text);
  });
}

test('fromMinor() throws on an amount that could not be read back', () => {
  assert.throws(() => fromMinor(-1n, 'USD'), /Cannot write -0.01 USD: no exact number for it/);
  assert.throws(() => fromMinor(minorMax('USD') + 1n, 'USD'), /no exact number for it/);
  assert.throws(() => fromMinor(1n, '__proto__'), /no ISO 4217 currency/);
});

test('minorMax() is the last amount before two amounts share one double', () => {
  const beyond = minorMax('USD') + 1n;
  const doubles = new Set<number>();
  for (let step = 0n; step < 100n; step += 1n)
    doubles.add(Number(formatMinor(beyond + step, 'USD')));
  assert.ok(doubles.size < 100);
});

const currency = fc.constantFrom(...CURRENCY_EXPONENTS.keys());

test('toMinor() reads back what fromMinor() wrote, for every amount of every currency', () => {
  const minorAndCurrency = currency.chain((code) =>
    fc.tuple(
      fc.oneof(
        fc.bigInt(0n, minorMax(code)),
        fc.bigInt(0n, 100_000n),
        // The upper end of the range, where doubles are furthest apart.
        fc.bigInt(0n, 1_000_000n).map((below) => minorMax(code) - below),
      ),
      fc.constant(code),
    ),
  );
  return fc.assert(
    fc.property(minorAndCurrency, ([minor, code]) => {
      assert.equal(toMinor(fromMinor(minor, code), code), minor);
    }),
    { numRuns: 20_000 },
  );
});

test('fromMinor() gives back every number that toMinor() accepts', () => {
  const amount = fc.oneof(
    fc.double({ min: 0, noNaN: true }),
    fc.nat().map((cents) => cents / 100),
  );
  return fc.assert(
    fc.property(amount, currency, (number, code) => {
      const minor = toMinor(number, code);
      assert.equal(minor === undefined, amountFault(number, code) !== undefined);
      if (minor !== undefined) assert.equal(fromMinor(minor, code), number);
    }),
    { numRuns: 5_000 },
  );
});
