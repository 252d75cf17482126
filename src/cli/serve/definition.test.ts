import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createService } from '../../service/author/definition.ts';
import { definitionIn, faultLines } from './definition.ts';

const [one, other] = [
  createService({ id: 'one', capabilities: [] }),
  createService({ id: 'two', capabilities: [] }),
];

const found: [name: string, exports: Record<string, unknown>][] = [
  ['the export "service"', { service: one }],
  ['the export "service" before others', { shop: other, service: one }],
  ['the only service, by any name', { shop: one, price: 3, none: null }],
  ['the default export', { default: one }],
  ['one service with two names', { default: one, shop: one }],
  ['a service that was compiled to CommonJS', { default: { __esModule: true, shop: one } }],
];
for (const [name, exports] of found) {
  test(`definitionIn() finds ${name}`, () => {
    assert.equal(definitionIn(exports), one);
  });
}

const refused: [name: string, exports: Record<string, unknown>, message: RegExp][] = [
  ['no export', {}, /^it exports no service; write "export const service = /],
  ['no service', { service: { id: 'one' }, a: () => one }, /^it exports no service/],
  [
    'the options of a service',
    { service: { id: 'a', capabilities: [] } },
    /^it exports no service/,
  ],
  [
    'two services',
    { a: one, b: other },
    /^it exports several services \(a, b\); name one of them "service"$/,
  ],
];
for (const [name, exports, message] of refused) {
  test(`definitionIn() refuses ${name}`, () => {
    assert.throws(() => definitionIn(exports), { message });
  });
}

test('faultLines() prints each line of a message without control characters', () => {
  const error = new Error('a\u001b[31m\n  b\u0007');

  assert.equal(
    faultLines('Cannot serve "x"', error),
    'Cannot serve "x": a\\u{1b}[31m\n  b\\u{7}\n',
  );
});
