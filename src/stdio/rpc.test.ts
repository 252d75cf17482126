import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { errorLine, readLine, resultLine } from './rpc.ts';

const read = (text: string) => readLine(Buffer.from(text));
const message = (fields: object) =>
  read(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'svc.jwks', ...fields }));

const refused: { name: string; line: () => object; code: number; id: unknown; says: RegExp }[] = [
  { name: 'broken JSON', line: () => read('{"id": 1,'), code: -32_700, id: null, says: /JSON/ },
  {
    name: 'a key twice',
    line: () => read('{"id":1,"id":2}'),
    code: -32_700,
    id: null,
    says: /twice/,
  },
  { name: 'a batch', line: () => read('[{}]'), code: -32_600, id: null, says: /batch/ },
  { name: 'a bare number', line: () => read('7'), code: -32_600, id: null, says: /an object/ },
  {
    name: 'an id of null',
    line: () => message({ id: null }),
    code: -32_600,
    id: null,
    says: /"id"/,
  },
  {
    name: 'an id with fields',
    line: () => message({ id: {} }),
    code: -32_600,
    id: null,
    says: /"id"/,
  },
  {
    name: 'a fraction as id',
    line: () => message({ id: 1.5 }),
    code: -32_600,
    id: null,
    says: /"id"/,
  },
  { name: 'an empty id', line: () => message({ id: '' }), code: -32_600, id: null, says: /"id"/ },
  {
    name: 'an id that is too long',
    line: () => message({ id: 'x'.repeat(257) }),
    code: -32_600,
    id: null,
    says: /256/,
  },
  {
    name: 'another version',
    line: () => message({ jsonrpc: '1.0' }),
    code: -32_600,
    id: 1,
    says: /"2.0"/,
  },
  { name: 'no method', line: () => message({ method: 7 }), code: -32_600, id: 1, says: /method/ },
  {
    name: 'params by position',
    line: () => message({ params: ['a'] }),
    code: -32_602,
    id: 1,
    says: /params/,
  },
];
for (const { name, line, code, id, says } of refused) {
  test(`readLine() refuses ${name}`, () => {
    const reading = line() as { error: { code: number; message: string }; id: unknown };

    assert.equal(reading.error.code, code);
    assert.equal(reading.id, id);
    assert.match(reading.error.message, says);
  });
}

test('readLine() takes a request with or without params, and both kinds of id', () => {
  const expected = { method: 'svc.jwks', params: {} };

  assert.deepEqual(message({}), { request: { id: 1, ...expected } });
  assert.deepEqual(message({ id: 'a' }), { request: { id: 'a', ...expected } });
  assert.deepEqual(message({ params: { a: 1 } }), {
    request: { id: 1, method: 'svc.jwks', params: { a: 1 } },
  });
});

test('readLine() does nothing for notifications and empty lines', () => {
  assert.deepEqual(read('{"jsonrpc":"2.0","method":"svc.invoke"}'), { ignored: 'a notification' });
  assert.deepEqual(read(' \t\r'), { ignored: 'an empty line' });
});

test('readLine() answers every line of whatever bytes, and never throws', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (bytes) => {
        const reading = readLine(bytes);
        if (!('error' in reading)) return;
        assert.equal(
          errorLine(reading.id, reading.error).indexOf('\n'),
          errorLine(reading.id, reading.error).length - 1,
        );
      },
    ),
  );
});

test('resultLine() is one line with the very text of the result', () => {
  const line = resultLine('a"b', '{"x":1.0}', { 'x-svc-signature': 's' });

  assert.equal(
    line,
    '{"jsonrpc":"2.0","id":"a\\"b","result":{"x":1.0},"headers":{"x-svc-signature":"s"}}\n',
  );
});
