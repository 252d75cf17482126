import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Operation, operations } from '../protocol/operations.ts';
import { httpRequestOf } from './request.ts';

test('httpRequestOf() leaves no field of any operation out of its place', () => {
  for (const operation of Object.values<Operation>(operations)) {
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => field);
    const fields = [...inPath, ...Object.keys(operation.headers ?? {}), 'rest'];
    const input = Object.fromEntries(fields.map((field) => [field, `the ${field}`]));

    const { method, path, headers, body } = httpRequestOf(operation, input);

    assert.equal(method, operation.method);
    assert.equal(path.split('?', 1)[0]?.includes('{'), false);
    for (const field of inPath) assert.ok(path.includes(`the%20${field}`));
    for (const [field, header] of Object.entries(operation.headers ?? {})) {
      assert.equal(headers[header], `the ${field}`);
    }
    const isQuery = operation.rest === 'query';
    assert.equal(
      isQuery ? path.endsWith('?rest=the+rest') : body,
      isQuery || '{"rest":"the rest"}',
    );
  }
});

for (const [name, fault] of [
  ['', 'missing'],
  [undefined, 'missing'],
  ['.', '".", expected a text other than "." and ".."'],
  ['..', '"..", expected a text other than "." and ".."'],
  [7, '7, expected a text other than "." and ".."'],
]) {
  test(`httpRequestOf() puts no ${JSON.stringify(name) ?? 'absent field'} into a path`, () => {
    assert.throws(() => httpRequestOf(operations.invoke, { capability: name, parameters: {} }), {
      name: 'TypeError',
      message: `Cannot send the request: "capability" is ${fault}`,
    });
  });
}

test('httpRequestOf() keeps a name that holds a slash in its segment', () => {
  const { path } = httpRequestOf(operations['graph.get'], { capability: '../tokens?x#y' });

  assert.equal(path, '/svc/graph/..%2Ftokens%3Fx%23y');
});

for (const key of ['a€b', 'a\nb', 'a\r\nx-other: b', ' a', 'a ', '', '\u007f', 7, {}]) {
  test(`httpRequestOf() puts no ${JSON.stringify(key)} into a header`, () => {
    const input = { capability: 'book', parameters: {}, idempotency_key: key };

    assert.throws(
      () => httpRequestOf(operations.invoke, input),
      /^TypeError: Cannot send the request: "idempotency_key" is /,
    );
  });
}
