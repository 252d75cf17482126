import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { BODY_LIMITS, copyOf, readJson } from './json.ts';

/** Fails with the fault, so that a refusal of good text says why. */
function readValue(source: Uint8Array | string): unknown {
  const reading = readJson(source);
  if ('fault' in reading) assert.fail(reading.fault);
  return reading.value;
}

function faultOf(source: Uint8Array | string, limits = BODY_LIMITS): string | undefined {
  const reading = readJson(source, limits);
  return 'fault' in reading ? reading.fault : undefined;
}

const utf8 = (text: string) => new TextEncoder().encode(text);

const accepted = [
  '0',
  '-0',
  '0.1',
  '25.00',
  '1e2',
  '1E+2',
  '-1.5e-3',
  '0e99999',
  '0.000',
  '9007199254740991',
  '-9007199254740991',
  '9.007199254740991e15',
  '5e-324',
  '1.7976931348623157e-300',
  'true',
  ' \t\r\n null \t\r\n ',
  '""',
  '"plain"',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"',
  '"\u007f\u2028\ufeff"',
  '"😂 \\ud83d\\ude02 \ud83d\\ude02 \\ud83d\ude02"',
  '[]',
  '{ }',
  '[[],{},[{}]]',
  '{"a":{"a":1},"b":[{"a":2},{"a":3}],"A":4}',
  '{"proto":1,"_proto__":2,"constructor":3,"":4}',
];
for (const text of accepted) {
  test(`readJson() reads ${JSON.stringify(text)} as JSON.parse does`, () => {
    assert.deepEqual(readValue(text), JSON.parse(text));
  });
}

const syntax: [text: string, fault: string][] = [
  ['', 'position 0: the text ends where a value is expected'],
  ['  ', 'position 2: the text ends where a value is expected'],
  ['{"a":1', 'position 6: the text ends where "," or "}" is expected'],
  ['[1', 'position 2: the text ends where "," or "]" is expected'],
  ['[1,]', 'position 3: "]" where a value is expected'],
  ['[,1]', 'position 1: "," where a value is expected'],
  ['{"a":1,}', 'position 7: "}" where a key is expected'],
  ['{,}', 'position 1: "," where a key is expected'],
  ['{a:1}', 'position 1: "a" where a key is expected'],
  ["{'a':1}", 'position 1: "\'" where a key is expected'],
  ['{"a" 1}', 'position 5: "1" where a colon is expected'],
  ['{"a":}', 'position 5: "}" where a value is expected'],
  ['[1}', 'position 2: "}" where "," or "]" is expected'],
  ['{"a":1]', 'position 6: "]" where "," or "}" is expected'],
  ['[1 2]', 'position 3: "2" where "," or "]" is expected'],
  ['1 2', 'position 2: "2" where the end of the text is expected'],
  ['{}}', 'position 2: "}" where the end of the text is expected'],
  ['01', 'position 1: "1" where the end of the text is expected'],
  ['-', 'position 0: "-" where a value is expected'],
  ['+1', 'position 0: "+" where a value is expected'],
  ['.5', 'position 0: "." where a value is expected'],
  ['1.', 'position 1: "." where the end of the text is expected'],
  ['1e', 'position 1: "e" where the end of the text is expected'],
  ['0x10', 'position 1: "x" where the end of the text is expected'],
  ['NaN', 'position 0: "N" where a value is expected'],
  ['Infinity', 'position 0: "I" where a value is expected'],
  ['nul', 'position 0: "n" where a value is expected'],
  ['truex', 'position 4: "x" where the end of the text is expected'],
  ['// 1', 'position 0: "/" where a value is expected'],
  ['\u00a01', 'position 0: "\u00a0" where a value is expected'],
  ['😂', 'position 0: "😂" where a value is expected'],
  ['"abc', 'position 4: the string does not end'],
  ['"a\nb"', 'position 2: a string contains a control character'],
  ['"a\u0000b"', 'position 2: a string contains a control character'],
  ['"\\x41"', 'position 1: an escape that JSON does not have'],
  ['"\\', 'position 1: an escape that JSON does not have'],
  ['"\\u12g4"', 'position 1: four hexadecimal digits must follow "\\u"'],
  ['"\\u12', 'position 1: four hexadecimal digits must follow "\\u"'],
];
for (const [text, fault] of syntax) {
  test(`readJson() refuses ${JSON.stringify(text)} and names the position`, () => {
    assert.throws(() => JSON.parse(text));
    assert.equal(faultOf(text), `Cannot read JSON at ${fault}`);
  });
}

/** Texts that JSON.parse accepts and changes, cuts or hides. */
const dangerous: [text: string, fault: string][] = [
  ['{"a":1,"a":2}', 'position 7: key "a" appears twice'],
  ['{"a":1,"\\u0061":2}', 'position 7: key "a" appears twice'],
  ['[{"x":{"b":1,"c":2,"b":3}}]', 'position 19: key "b" appears twice'],
  ['{"__proto__":{}}', 'position 1: key "__proto__" is not allowed'],
  ['{"a":{"\\u005f_proto__":1}}', 'position 6: key "__proto__" is not allowed'],
  ['"\ud800"', 'position 1: a surrogate is unpaired'],
  ['"\\ud800"', 'position 1: a surrogate is unpaired'],
  ['"a\\udc00"', 'position 2: a surrogate is unpaired'],
  ['"\\ud800\\ud800"', 'position 1: a surrogate is unpaired'],
  ['"\\ud800x"', 'position 1: a surrogate is unpaired'],
  ['"\\ud83d\\n"', 'position 1: a surrogate is unpaired'],
  ['{"\\udfff":1}', 'position 2: a surrogate is unpaired'],
  ['"a\\u0000"', 'position 2: character U+0000 is not allowed'],
  ['{"\\u0000":1}', 'position 2: character U+0000 is not allowed'],
  ['9007199254740992', 'position 0: the integer is beyond 2^53-1'],
  ['[-9007199254740993]', 'position 1: the integer is beyond 2^53-1'],
  ['1e20', 'position 0: the integer is beyond 2^53-1'],
  ['9007199254740993.0', 'position 0: the integer is beyond 2^53-1'],
  ['1e400', 'position 0: the number is too large'],
  ['-1e400', 'position 0: the number is too large'],
  ['1.0000000000000000001', 'position 0: the number has more digits than can be kept'],
  ['0.1000000000000000055', 'position 0: the number has more digits than can be kept'],
  ['4503599627370497.6', 'position 0: the number has more digits than can be kept'],
  ['1e-400', 'position 0: the number has more digits than can be kept'],
  ['1e-99999999999999999999', 'position 0: the number has more digits than can be kept'],
];
for (const [text, fault] of dangerous) {
  test(`readJson() refuses ${JSON.stringify(text)} although JSON.parse reads it`, () => {
    assert.doesNotThrow(() => JSON.parse(text));
    assert.equal(faultOf(text), `Cannot read JSON at ${fault}`);
  });
}

test('readJson() finds a repeated key in an object of any size', () => {
  for (const size of [1, 2, 15, 16, 17, 18, 1_000]) {
    const members = Array.from({ length: size }, (_, index) => `"k${index}":0`);
    assert.equal(faultOf(`{${members.join(',')}}`), undefined);
    for (const repeated of new Set([0, size >> 1, size - 1])) {
      const fault = faultOf(`{${members.join(',')},"k${repeated}":0}`);
      assert.match(fault ?? '', new RegExp(`: key "k${repeated}" appears twice$`));
    }
  }
});

test('readJson() cuts a long key in its message, never inside a surrogate pair', () => {
  const key = `${'k'.repeat(63)}😂${'k'.repeat(100)}`;
  const fault = faultOf(JSON.stringify({ [key]: 1 }).replace('}', `,${JSON.stringify(key)}:2}`));
  assert.match(fault ?? '', /: key "k{63}…" appears twice$/);
});

test('readJson() refuses a byte order mark in bytes and in text', () => {
  const expected = 'Cannot read JSON at position 0: the text begins with a byte order mark';
  assert.equal(faultOf('\ufeff{}'), expected);
  assert.equal(faultOf(Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d)), expected);
});

const notUtf8: [name: string, bytes: number[], at: number][] = [
  ['a lone continuation byte', [0x22, 0x80, 0x22], 1],
  ['an overlong slash', [0x22, 0x61, 0xc0, 0xaf, 0x22], 2],
  ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22], 1],
  ['a cut sequence', [0x22, 0xe2, 0x82], 1],
  ['UTF-16', [0xff, 0xfe, 0x22, 0x00], 0],
];
for (const [name, bytes, at] of notUtf8) {
  test(`readJson() refuses ${name} and names the byte`, () => {
    const fault = faultOf(Uint8Array.from(bytes));
    assert.equal(fault, `Cannot read JSON at byte ${at}: the text is not UTF-8`);
  });
}

test('readJson() reads bytes in UTF-8, the replacement character included', () => {
  assert.equal(readValue(utf8('"é€😂\ufffd"')), 'é€😂\ufffd');
});

test('readJson() counts bytes, not characters, on both sides of the limit', () => {
  const limits = { ...BODY_LIMITS, bytes: 12 };
  const over = 'Cannot read JSON at byte 12: the text is longer than the limit';

  assert.equal(faultOf('"0123456789"', limits), undefined);
  assert.equal(faultOf('"0123456789x"', limits), over);
  assert.equal(faultOf('"ééééé"', limits), undefined);
  assert.equal(faultOf('"ééééé0"', limits), over);
  assert.equal(faultOf(utf8('"ééééé"'), limits), undefined);
  assert.equal(faultOf(utf8('"ééééé0"'), limits), over);
});

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('readJson() reads 32 levels and refuses 33, objects and arrays alike', () => {
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

  assert.deepEqual(readValue(nested(32)), JSON.parse(nested(32)));
  assert.equal(
    faultOf(nested(33)),
    'Cannot read JSON at position 32: nested deeper than 32 levels',
  );
  assert.equal(faultOf(objects(32)), undefined);
  assert.match(faultOf(objects(33)) ?? '', /position 160: nested deeper than 32 levels$/);
});

test('readJson() applies the depth limit of its caller', () => {
  const limits = { ...BODY_LIMITS, depth: 8 };
  assert.equal(faultOf(nested(8), limits), undefined);
  assert.match(faultOf(nested(9), limits) ?? '', /nested deeper than 8 levels/);
  assert.equal(faultOf(`[${nested(7)},${nested(7)}]`, limits), undefined);
});

test('readJson() stops at level 33 of 100,000 without looking at the rest', () => {
  const fault = faultOf(`${'['.repeat(100_000)}!`);
  assert.equal(fault, 'Cannot read JSON at position 32: nested deeper than 32 levels');
});

test('readJson() counts the keys of all objects together, on both sides of the limit', () => {
  const objects = (count: number) => `[${Array(count).fill('{"k":0}').join(',')}]`;
  assert.equal(faultOf(objects(10_000)), undefined);
  assert.match(faultOf(objects(10_001)) ?? '', /: more than 10000 keys$/);
});

test('readJson() stops at key 10,001 of 200,000 without looking at the rest', () => {
  const keys = Array.from({ length: 200_000 }, (_, index) => `"${index}":0`);
  const fault = faultOf(`{${keys.join(',')}!`, { ...BODY_LIMITS, bytes: 4_000_000 });
  assert.match(fault ?? '', /: more than 10000 keys$/);
});

// Each of these would take minutes, not milliseconds, if a step of the scan were quadratic.
const hostile: [name: string, text: string, good: boolean][] = [
  ['escapes', `"${'\\u0061'.repeat(43_000)}"`, true],
  ['surrogate pairs', `"${'\\ud83d\\ude02'.repeat(21_000)}"`, true],
  ['an unended string', `"${'a'.repeat(260_000)}`, false],
  ['empty objects', `[${'{},'.repeat(87_000)}{}]`, true],
  ['a number of zeros between ones', `1${'0'.repeat(260_000)}1`, false],
  ['a fraction of zeros before a one', `0.${'0'.repeat(260_000)}1`, false],
  ['a fraction of zeros only', `1.${'0'.repeat(260_000)}`, true],
  ['an exponent of zeros', `1e${'0'.repeat(260_000)}1`, true],
  ['space', `${' '.repeat(260_000)}1`, true],
];
for (const [name, text, good] of hostile) {
  test(`readJson() scans 256 KiB of ${name} once`, () => {
    assert.equal(faultOf(text) === undefined, good);
  });
}

const allowedNumber = fc.oneof(
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
);
const allowedString = fc
  .string({ unit: 'binary' })
  .filter((text) => !text.includes('\0') && text !== '__proto__');
const { value: allowedValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    allowedNumber,
    allowedString,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.dictionary(allowedString, tie('value')),
  ),
}));

test('readJson() reads every allowed value as JSON.parse does, from text and from bytes', () => {
  return fc.assert(
    fc.property(allowedValue, fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      assert.deepEqual(readValue(text), JSON.parse(text));
      assert.deepEqual(readValue(utf8(text)), JSON.parse(text));
    }),
  );
});

/** Text that is nearly JSON: pieces of the grammar in any order. */
const pieces = fc.constantFrom(
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '"a"',
  '"b"',
  '\\',
  '\\u',
  '\\u0041',
  'd83d',
  'true',
  'null',
  '0',
  '1',
  '-',
  '.',
  '5',
  'e',
  'E+',
  '12',
  ' ',
  '\n',
  '\t',
  'x',
  '\ud83d',
  '\ude02',
);
const nearlyJson = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary' }),
  // Good JSON with one character taken out.
  fc
    .tuple(allowedValue, fc.nat())
    .map(([value, at]) =>
      JSON.stringify(value).replace(/./gsu, (character, offset: number) =>
        offset === at % 20 ? '' : character,
      ),
    ),
);

test('readJson() accepts no text that JSON.parse rejects, and never reads another value', () => {
  return fc.assert(
    fc.property(nearlyJson, (text) => {
      const reading = readJson(text);
      if ('fault' in reading) return;
      assert.deepEqual(reading.value, JSON.parse(text));
    }),
    { numRuns: 5_000 },
  );
});

test('readJson() preserves the exact value of every number it accepts', () => {
  const digits = fc.oneof(fc.bigInt(0n, 10n ** 20n), fc.bigInt(0n, 10n ** 15n));
  const scientific = fc
    .tuple(digits, fc.integer({ min: -30, max: 30 }))
    .map(([whole, power]) => ({ text: `${whole}e${power}`, whole, power }));
  const plain = fc.tuple(digits, fc.integer({ min: 1, max: 18 })).map(([whole, decimals]) => {
    const text = String(whole).padStart(decimals + 1, '0');
    return {
      text: `${text.slice(0, -decimals)}.${text.slice(-decimals)}`,
      whole,
      power: -decimals,
    };
  });
  return fc.assert(
    fc.property(fc.oneof(scientific, plain), ({ text, whole, power }) => {
      const reading = readJson(text);
      if ('fault' in reading) return;
      const [kept = '', keptPower = '0'] = (reading.value as number).toExponential().split('e');
      const shift = Number(keptPower) - (kept.split('.')[1] ?? '').length;
      // Both sides as integers over one common power of ten.
      const low = Math.min(shift, power);
      const read = BigInt(kept.replace('.', '')) * 10n ** BigInt(shift - low);
      assert.equal(read, whole * 10n ** BigInt(power - low));
    }),
    { numRuns: 5_000 },
  );
});

test('readJson() reads every decimal of fifteen digits', () => {
  const decimal = fc.tuple(fc.nat(9_999_999), fc.nat(9_999_999)).map((parts) => parts.join('.'));
  return fc.assert(fc.property(decimal, (text) => assert.equal(readValue(text), Number(text))));
});

test('copyOf() returns an equal value that shares nothing with the original', () => {
  return fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const copy = copyOf(value);
      assert.deepEqual(copy, value);
      if (typeof value === 'object' && value !== null) assert.notEqual(copy, value);
    }),
  );
});

test('copyOf() copies at every level, and keeps a member called __proto__ a member', () => {
  const value = JSON.parse('{"a":[{"b":1}],"c":{"__proto__":{"d":2}}}');
  const copy = copyOf(value);
  value.a[0].b = 3;
  assert.equal(copy.a[0].b, 1);
  assert.equal(Object.getPrototypeOf(copy.c), Object.prototype);
  assert.deepEqual(Object.keys(copy.c), ['__proto__']);
});
