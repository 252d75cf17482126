import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readForm } from './forms.ts';

function read(body: string | Uint8Array, repeatable?: string[]) {
  return readForm(typeof body === 'string' ? Buffer.from(body, 'latin1') : body, repeatable);
}

function formIn(body: string, repeatable?: string[]) {
  const reading = read(body, repeatable);
  assert.ok('form' in reading, JSON.stringify(reading));
  return reading.form;
}

test('readForm() decodes names and values as a browser encodes them', () => {
  const form = formIn('for=March+offsite+%26+more&limit=300.00&%C3%A9=%F0%9F%9A%80&none=');

  assert.equal(form.one('for'), 'March offsite & more');
  assert.equal(form.one('limit'), '300.00');
  assert.equal(form.one('é'), '🚀');
  assert.equal(form.one('none'), '');
  assert.equal(form.one('absent'), undefined);
  assert.deepEqual(form.all('absent'), []);
});

test('readForm() reads an empty body as a form without fields', () => {
  assert.deepEqual(formIn('').all('c'), []);
});

test('readForm() keeps every value of a repeatable field, in order', () => {
  assert.deepEqual(formIn('c=b&limit=1&c=a&c=b', ['c']).all('c'), ['b', 'a', 'b']);
});

test('readForm() does not mistake fields for members of objects', () => {
  const form = formIn('__proto__=a&constructor=b');

  assert.equal(form.one('__proto__'), 'a');
  assert.equal(form.one('constructor'), 'b');
  assert.equal(form.one('toString'), undefined);
});

describe('readForm() refuses', () => {
  const table: [name: string, body: string | Uint8Array, fault: RegExp][] = [
    ['a field that occurs twice', 'limit=1&limit=2', /occurs twice/],
    ['a field that occurs twice, once escaped', 'limit=1&l%69mit=2', /occurs twice/],
    ['bytes that are not UTF-8', Uint8Array.of(0x61, 0x3d, 0xff), /not UTF-8/],
    ['escapes that are not UTF-8', 'a=%ff', /expected name=value/],
    ['half of a surrogate pair', 'a=%ed%a0%80', /expected name=value/],
    ['an escape that breaks off', 'a=%4', /expected name=value/],
    ['U+0000', 'a=%00', /expected name=value/],
    ['a field without a name', '=1', /expected name=value/],
    ['a field without a value', 'a', /expected name=value/],
    ['an empty piece', 'a=1&&b=2', /expected name=value/],
    ['JSON', '{"a":1}', /expected name=value/],
    ['more fields than its bound', `${'c=1&'.repeat(1_000)}c=1`, /more than 1000 fields/],
    ['more bytes than its bound', `a=${'x'.repeat(65_535)}`, /larger than 65536 bytes/],
  ];
  for (const [name, body, fault] of table) {
    test(name, () => {
      const reading = read(body, ['c']);

      assert.match('fault' in reading ? reading.fault : '', fault);
    });
  }

  test('nothing at its bounds', () => {
    assert.equal(formIn(`a=${'x'.repeat(65_534)}`).one('a')?.length, 65_534);
    assert.equal(formIn(`c=1${'&c=1'.repeat(999)}`, ['c']).all('c').length, 1_000);
  });
});
