import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ID_BYTES, ID_PATTERNS, type IdPrefix, idOf, isId } from './ids.ts';

const bytes = (count: number) => Uint8Array.from({ length: count }, (_, index) => 0xf9 + index);
const prefixes = Object.keys(ID_BYTES) as IdPrefix[];

test('idOf() writes all bytes as lowercase hex after the prefix', () => {
  assert.equal(idOf('inv-', bytes(6)), 'inv-f9fafbfcfdfe');
  assert.equal(idOf('tok_', bytes(16)), 'tok_f9fafbfcfdfeff000102030405060708');
});

for (const prefix of prefixes) {
  test(`idOf() makes ${prefix} ids that match their own pattern and no other`, () => {
    const id = idOf(prefix, bytes(ID_BYTES[prefix]));
    const matching = prefixes.filter((candidate) => ID_PATTERNS[candidate].test(id));
    assert.deepEqual(matching, [prefix]);
    assert.equal(isId(prefix, id), true);
  });

  test(`idOf() throws on one random byte more or less for ${prefix}`, () => {
    const expected = ID_BYTES[prefix];
    assert.throws(() => idOf(prefix, bytes(expected - 1)), /Cannot make id/);
    assert.throws(() => idOf(prefix, bytes(expected + 1)), /Cannot make id/);
  });
}

test('idOf() gives 128 random bits to every id but the invocation', () => {
  const short = prefixes.filter((prefix) => ID_BYTES[prefix] * 8 < 128);
  assert.deepEqual(short, ['inv-']);
});

const notInvocations = [
  'inv-f9fafbfcfdf',
  'inv-f9fafbfcfdfe0',
  'inv-F9FAFBFCFDFE',
  'inv_f9fafbfcfdfe',
  ' inv-f9fafbfcfdfe',
  'inv-f9fafbfcfdfe\n',
  'inv-f9fafbfcfdfg',
  '',
  7,
  null,
  undefined,
  ['inv-f9fafbfcfdfe'],
];
test('isId() accepts exactly twelve lowercase hex digits after the prefix', () => {
  assert.equal(isId('inv-', 'inv-f9fafbfcfdfe'), true);
  for (const text of notInvocations) assert.equal(isId('inv-', text), false, String(text));
});
