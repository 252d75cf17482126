import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { stringify } from 'yaml';
import { shopDocument } from '../../../test/guard/openapi-document.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { UpstreamTool } from '../upstream.ts';
import { readOpenApi } from './openapi.ts';

function read(document: unknown, headers: string[] = []) {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  const found = readOpenApi(text, { headers });
  return 'fault' in found ? assert.fail(found.fault) : found;
}

function faultIn(text: string): string {
  const found = readOpenApi(text);
  return 'fault' in found ? found.fault : assert.fail('it was read');
}

/** A document with one operation. */
function withOperation(operation: JsonObject, more: JsonObject = {}, path = '/pets/{id}') {
  return { openapi: '3.1.0', info: {}, ...more, paths: { [path]: operation } };
}

const ID = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };

function onlyTool(document: unknown, headers: string[] = []): UpstreamTool {
  const { tools, skipped } = read(document, headers);
  assert.deepEqual(skipped, []);
  return tools[0] ?? assert.fail('there is no tool');
}

function onlyReason(document: unknown): string {
  const { tools, skipped } = read(document);
  assert.equal(tools.length, 0);
  return skipped[0]?.why ?? assert.fail('nothing was skipped');
}

test('readOpenApi() makes a tool of each of 20 operations', () => {
  const { tools, skipped, servers } = read(shopDocument(20));

  assert.equal(tools.length, 20);
  assert.deepEqual(skipped, []);
  assert.deepEqual(servers, ['https://shop.example.com/v1']);
  const update = tools.find(({ name }) => name === 'update_record0');
  assert.deepEqual(update?.route, {
    method: 'PATCH',
    path: '/record0/{id}',
    body: ['name', 'price', 'stock', 'parent', 'tags'],
  });
  assert.deepEqual(update?.inputSchema.required, ['id', 'name']);
});

test('readOpenApi() makes a self-contained schema of one that refers to itself', () => {
  const [tool = assert.fail()] = read(shopDocument(20)).tools.filter(
    ({ name }) => name === 'create_record0',
  );
  const { properties, $defs } = tool.inputSchema as { properties: JsonObject; $defs: JsonObject };

  assert.deepEqual(properties.parent, { $ref: '#/$defs/record0' });
  const record = $defs.record0 as { properties: JsonObject };
  assert.deepEqual(record.properties.parent, { $ref: '#/$defs/record0' });
  assert.deepEqual(record.properties.price, { type: ['number', 'null'], minimum: 0 });
  assert.deepEqual(record.properties.stock, { type: 'integer', format: 'int64' });
  assert.equal(tool.outputSchema?.type, 'object');
});

test('readOpenApi() makes a tool of each of 500 operations', () => {
  const { tools } = read(shopDocument(500));

  assert.equal(tools.length, 500);
  assert.equal(new Set(tools.map(({ name }) => name)).size, 500);
});

test('readOpenApi() makes the same tools of YAML', () => {
  const document = shopDocument(20);
  assert.deepEqual(read(stringify(document)).tools, read(document).tools);
});

test('readOpenApi() names an operation without an id, and gives each name once', () => {
  const { tools } = read({
    openapi: '3.1.0',
    paths: {
      '/pets/{id}': { parameters: [ID], get: {}, delete: { operationId: 'has\nline' } },
      '/pets.{id}': { parameters: [ID], get: {} },
      '/a': { get: { operationId: 'same' }, post: { operationId: 'same' } },
    },
  });
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['get_pets_id', 'delete_pets_id', 'get_pets_id_2', 'same', 'same_2'],
  );
});

test('readOpenApi() puts parameters of every kind into one list of names', () => {
  const tool = onlyTool(
    withOperation({
      parameters: [ID, { name: 'page', in: 'query', schema: { type: 'string' } }],
      put: {
        parameters: [
          { name: 'page', in: 'query', schema: { type: 'integer' }, description: 'From 1' },
          { name: 'filter[name]', in: 'query', schema: { type: 'array', items: {} } },
          { name: 'id', in: 'query', schema: { type: 'string' } },
          { name: 'X-Tenant', in: 'header', required: true, schema: { type: 'string' } },
          { name: 'X-Other', in: 'header', schema: { type: 'string' } },
          { name: 'session', in: 'cookie', schema: { type: 'string' } },
          { name: 'Accept', in: 'header', required: true, schema: { type: 'string' } },
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { type: 'object', properties: { id: { type: 'string' } } },
            },
          },
        },
      },
    }),
    ['x-tenant'],
  );

  assert.deepEqual(tool.route, {
    method: 'PUT',
    path: '/pets/{id}',
    query: { page: 'page', 'filter[name]': 'filter_name', id: 'query_id' },
    headers: { 'X-Tenant': 'X-Tenant' },
    body: { input: 'body' },
  });
  const { properties, required } = tool.inputSchema as {
    properties: JsonObject;
    required: string[];
  };
  assert.deepEqual(properties.page, { type: 'integer', description: 'From 1' });
  assert.deepEqual(required, ['id', 'X-Tenant', 'body']);
});

test('readOpenApi() keeps a body whole where its properties alone would lose something', () => {
  const bodies: JsonObject[] = [
    { type: 'object', properties: { a: {} }, additionalProperties: true },
    { oneOf: [{ type: 'object' }] },
    { type: 'array', items: { type: 'string' } },
    { type: 'object', properties: { 'a b': {} } },
    { type: 'object' },
    {},
  ];
  for (const schema of bodies) {
    const content = { 'application/json; charset=utf-8': { schema } };
    const tool = onlyTool(withOperation({ post: { requestBody: { content } } }, {}, '/pets'));
    assert.deepEqual(tool.route?.body, { input: 'body' }, JSON.stringify(schema));
    assert.deepEqual(tool.inputSchema.required, undefined);
  }
});

test('readOpenApi() leaves out properties of a body that are only read', () => {
  const schema = {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } },
  };
  const content = { 'application/merge-patch+json': { schema } };
  const tool = onlyTool(
    withOperation({ patch: { requestBody: { required: true, content } } }, {}, '/pets'),
  );

  assert.deepEqual(tool.route?.body, ['name']);
  assert.equal(tool.route?.content_type, 'application/merge-patch+json');
  assert.deepEqual(tool.inputSchema.required, ['name']);
});

test('readOpenApi() describes a list that is answered as the result of a call', () => {
  const content = { 'application/json': { schema: { type: 'array', items: { type: 'string' } } } };
  const tool = onlyTool(withOperation({ get: { responses: { 200: { content } } } }, {}, '/pets'));
  assert.deepEqual(tool.outputSchema, {
    type: 'object',
    properties: { result: { type: 'array', items: { type: 'string' } } },
    required: ['result'],
  });
});

test('readOpenApi() leaves a property called $ref, and data in examples, alone', () => {
  const schema = {
    type: 'object',
    properties: { $ref: { type: 'string' }, a: { default: { $ref: 'x' }, example: { $ref: 'y' } } },
  };
  const content = { 'application/json': { schema } };
  const tool = onlyTool(withOperation({ post: { requestBody: { content } } }, {}, '/pets'));
  assert.deepEqual((tool.inputSchema.properties as { body: JsonObject }).body, {
    type: 'object',
    properties: { $ref: { type: 'string' }, a: { default: { $ref: 'x' } } },
  });
});

const query = (more: JsonObject) => ({
  get: { parameters: [ID, { name: 'q', in: 'query', required: true, schema: {}, ...more }] },
});
const body = (content: JsonObject) => ({
  parameters: [ID],
  post: { requestBody: { required: true, content } },
});
const SKIPPED: [what: string, operation: JsonObject, why: RegExp][] = [
  [
    'a reference to another document',
    query({ schema: { $ref: 'https://a.example/x.json' } }),
    /another document/,
  ],
  [
    'a reference to a file',
    query({ schema: { properties: { a: { $ref: './x.yaml#/A' } } } }),
    /another document/,
  ],
  ['a parameter elsewhere', { get: { parameters: [{ $ref: 'x.yaml#/P' }] } }, /another document/],
  [
    'a reference to nothing',
    query({ schema: { $ref: '#/components/none' } }),
    /"#\/components\/none", which is not there/,
  ],
  [
    'references in a circle',
    query({ schema: { $ref: '#/paths/~1pets~1{id}/get/parameters/1/schema' } }),
    /circle/,
  ],
  ['a path parameter that is not declared', { get: {} }, /declares no parameter "id"/],
  [
    'a required cookie',
    { get: { parameters: [ID, { name: 'c', in: 'cookie', required: true, schema: {} }] } },
    /"c": it goes into "cookie"/,
  ],
  [
    'a required header that is not listed',
    { get: { parameters: [ID, { name: 'X-A', in: 'header', required: true, schema: {} }] } },
    /"X-A": the policy does not list/,
  ],
  [
    'a path in matrix style',
    { get: { parameters: [{ ...ID, style: 'matrix' }] } },
    /style is "matrix"/,
  ],
  [
    'a list in a path',
    { get: { parameters: [{ ...ID, schema: { type: 'array' } }] } },
    /list in one value/,
  ],
  [
    'an object in the query',
    query({ schema: { type: 'object' }, style: 'deepObject' }),
    /style is "deepObject"/,
  ],
  [
    'a list in one value',
    query({ schema: { type: 'array' }, explode: false }),
    /list in one value/,
  ],
  ['a form', body({ 'multipart/form-data': { schema: {} } }), /needs a body that is not JSON/],
  [
    'a body of a read',
    { get: { ...body({ 'application/json': {} }).post, parameters: [ID] } },
    /has no body/,
  ],
  [
    'servers of its own',
    { get: { parameters: [ID], servers: [{ url: 'https://b.example' }] } },
    /servers of its own/,
  ],
  ['a method that is not called', { trace: { parameters: [ID] } }, /TRACE is not called/],
  ['a schema with an id', query({ schema: { $id: 'https://a.example' } }), /uses "\$id"/],
  ['an operation that is no object', { get: [] }, /no object/],
];
for (const [what, operation, why] of SKIPPED) {
  test(`readOpenApi() skips an operation with ${what}`, () => {
    assert.match(onlyReason(withOperation(operation)), why);
  });
}

test('readOpenApi() skips a path that a URL would read otherwise', () => {
  for (const path of ['/a/../b', 'pets', '/pets?all=1', '/a b', '/%2e%2e/x']) {
    assert.match(onlyReason(withOperation({ get: {} }, {}, path)), /expected a path/);
  }
});

test('readOpenApi() skips an operation whose schemas are too many or too large', () => {
  const chain = Object.fromEntries(
    Array.from({ length: 300 }, (_, place) => [
      `S${place}`,
      { properties: { next: { $ref: `#/components/schemas/S${place + 1}` } } },
    ]),
  );
  const schemas = { ...chain, S300: {}, Big: { description: 'x'.repeat(70_000) } };
  const document = (name: string) =>
    withOperation(query({ schema: { $ref: `#/components/schemas/${name}` } }), {
      components: { schemas },
    });

  assert.match(onlyReason(document('S0')), /more than 200 others/);
  assert.match(onlyReason(document('Big')), /longer than 65536 bytes/);
});

test('readOpenApi() suggests only servers that are whole origins', () => {
  const urls = [
    '/v1',
    'https://{region}.example.com',
    'https://a.example/v1/',
    'https://u:p@b.example',
    'ftp://c',
  ];
  const { servers } = read({ openapi: '3.0.0', paths: {}, servers: urls.map((url) => ({ url })) });
  assert.deepEqual(servers, ['https://a.example/v1']);
});

const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]']
  .concat(
    'bcdefghi'.split('').map((name, place) => {
      const before = 'abcdefgh'[place];
      return `${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]`;
    }),
  )
  .join('\n');
const FAULTS: [what: string, text: string, fault: RegExp][] = [
  [
    'an alias bomb',
    `openapi: 3.1.0\npaths: {}\n${bomb}`,
    /aliases multiply|more than 1000000 values/,
  ],
  [
    'a circle of aliases',
    'openapi: 3.1.0\npaths: {}\nx: &x\n  y: *x',
    /nested deeper|aliases multiply|neither/,
  ],
  ['broken YAML', 'openapi: 3.1.0\n  paths: [', /^line \d+ is not YAML$/],
  ['a key twice', 'openapi: 3.1.0\npaths: { /a: {}, /b: {}, /a: {} }', /^it has a key twice/],
  ['broken JSON', '{"openapi": ', /neither JSON nor YAML/],
  ['deep JSON', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`, /nested deeper than 100 levels/],
  ['Swagger', 'swagger: "2.0"', /version is "2\.0"; expected OpenAPI 3\.0 or 3\.1/],
  ['another version', '{"openapi":"4.0.0"}', /version is "4\.0\.0"/],
  ['no version', '{}', /names no version/],
  ['a list', '[]', /no object/],
  ['nothing', '', /no object/],
  ['no paths', '{"openapi":"3.1.0"}', /no paths/],
  ['8 MiB and more', ' '.repeat(8 * 1024 * 1024 + 1), /larger than 8388608 bytes/],
  ['too many operations', JSON.stringify(shopDocument(5_001)), /more than 5000 operations/],
];
for (const [what, text, fault] of FAULTS) {
  test(`readOpenApi() refuses a document with ${what}`, () => {
    assert.match(faultIn(text), fault);
  });
}

test('readOpenApi() reads YAML whose objects have many keys in a time that grows with their number', () => {
  const keys = Array.from({ length: 20_000 }, (_, place) => `  key_${place}: 1`).join('\n');

  // Comparing each pair of these keys would take longer than a test may.
  assert.deepEqual(read(`openapi: 3.1.0\npaths: {}\nx-many:\n${keys}\n`).tools, []);
});

test('readOpenApi() never throws, whatever the operation is', () => {
  const part = fc.oneof(
    fc.constantFrom('#/paths', '#/', 'x', 'object', 'array', 'path', 'query', 'id', null, true, 7),
    fc.string(),
  );
  const keys = fc.constantFrom(
    '$ref',
    'parameters',
    'schema',
    'type',
    'in',
    'name',
    'required',
    'requestBody',
    'content',
    'application/json',
    'properties',
    'items',
    'allOf',
    'nullable',
    'responses',
    '200',
    'style',
    'exclusiveMinimum',
    'minimum',
    'servers',
    'operationId',
    'summary',
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6, depthSize: 'small' },
      part,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(keys, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(tree, tree, fc.constantFrom('3.0.0', '3.1.0'), (operation, item, openapi) => {
      const paths = { '/a/{id}': { get: operation, post: operation }, '/b': item };
      assert.ok(readOpenApi(JSON.stringify({ openapi, paths, components: item })));
    }),
    { numRuns: 1_000 },
  );
});
