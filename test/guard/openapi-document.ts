/**
 * Makes OpenAPI documents of any number of operations for tests: a shop whose records refer to each other.
 *
 * @module
 */

const KINDS = ['read', 'list', 'create', 'update', 'remove'] as const;

/** A document with `count` operations, five for each kind of record. */
export function shopDocument(count: number, version = '3.0.3') {
  const operations = Array.from({ length: count }, (_, place) => {
    const record = `record${Math.floor(place / KINDS.length)}`;
    return operation(KINDS[place % KINDS.length] as (typeof KINDS)[number], record);
  });
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, method, ...rest } of operations) {
    paths[path] = { ...paths[path], [method]: rest };
  }
  const records = new Set(operations.map(({ record }) => record));
  return {
    openapi: version,
    info: { title: 'A shop', version: '1' },
    servers: [{ url: 'https://shop.example.com/v1' }],
    paths,
    components: {
      schemas: Object.fromEntries([...records].map((each) => [each, schemaOf(each)])),
      parameters: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'string' } } },
    },
  };
}

function schemaOf(record: string) {
  return {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', maxLength: 80, description: `The name of a ${record}` },
      price: { type: 'number', minimum: 0, nullable: true },
      stock: { type: 'integer', format: 'int64', maximum: 2 ** 63 },
      parent: { $ref: `#/components/schemas/${record}` },
      tags: { type: 'array', items: { type: 'string' } },
    },
  };
}

function operation(kind: (typeof KINDS)[number], record: string) {
  const schema = { $ref: `#/components/schemas/${record}` };
  const content = { 'application/json': { schema } };
  const ofOne = { path: `/${record}/{id}`, parameters: [{ $ref: '#/components/parameters/Id' }] };
  const ok = { 200: { description: 'Done', content } };
  const base = { record, operationId: `${kind}_${record}`, summary: `${kind} a ${record}` };
  const body = { requestBody: { required: true, content } };
  const page = { name: 'page', in: 'query', schema: { type: 'integer' } };
  const table = {
    read: { ...ofOne, method: 'get', responses: ok },
    list: { path: `/${record}`, method: 'get', parameters: [page], responses: ok },
    create: { path: `/${record}`, method: 'post', ...body, responses: ok },
    update: { ...ofOne, method: 'patch', ...body, responses: ok },
    remove: { ...ofOne, method: 'delete', responses: { 204: { description: 'Gone' } } },
  };
  return { ...base, ...table[kind] };
}
