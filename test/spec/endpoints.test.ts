/**
 * The endpoint tables of the specification and the decisions against the table of operations.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import * as z from 'zod';
import {
  type Authentication,
  type Operation,
  type OperationName,
  operations,
} from '../../src/protocol/operations.ts';

const rows: readonly [OperationName, Operation][] = Object.entries(operations) as [
  OperationName,
  Operation,
][];

type Endpoint = [method: string, path: string, auth: Authentication];

/** Spec, Endpoints. `bearer`: a bootstrap credential or a token, as the operation decides. */
const SPECIFIED: readonly Endpoint[] = [
  ['GET', '/.well-known/svc', 'none'],
  ['GET', '/.well-known/jwks.json', 'none'],
  ['GET', '/svc/manifest', 'none'],
  ['POST', '/svc/tokens', 'bearer'],
  ['POST', '/svc/permissions', 'token'],
  ['POST', '/svc/invoke/{}', 'token'],
  ['POST', '/svc/approval_grants', 'bearer'],
  ['POST', '/svc/audit', 'bearer'],
  ['GET', '/svc/checkpoints', 'none'],
  // Decisions 8: a bearer who may see the entry can ask for a proof by invocation id.
  ['GET', '/svc/checkpoints/{}', 'optional'],
];

/** Decisions 1.9, 1.10, 4, 5 and 7. */
const DECIDED: readonly Endpoint[] = [
  ['POST', '/svc/tokens/revoke', 'bearer'],
  ['POST', '/svc/operator/freeze', 'bearer'],
  ['POST', '/svc/operator/unfreeze', 'bearer'],
  ['GET', '/svc/operator/frozen', 'bearer'],
  ['GET', '/svc/operator/indeterminate', 'bearer'],
  ['POST', '/svc/operator/reconcile', 'bearer'],
  ['POST', '/svc/operator/checkpoints', 'bearer'],
  ['GET', '/svc/operator/deliveries', 'bearer'],
  ['POST', '/svc/test/{}', 'token'],
  ['GET', '/svc/approval_requests', 'bearer'],
  ['GET', '/svc/approval_requests/{}', 'bearer'],
  ['POST', '/svc/approval_requests/{}/deny', 'bearer'],
  ['GET', '/svc/graph', 'none'],
  ['GET', '/svc/graph/{}', 'none'],
  ['POST', '/svc/handshake', 'none'],
];

/** On no page: ours. A matter of the holder, and what an approver needs to decide. */
const EXTRA: readonly Endpoint[] = [
  ['GET', '/svc/tokens/{}', 'bearer'],
  ['GET', '/svc/agents', 'bearer'],
  ['GET', '/svc/approval_requests/{}/decision', 'bearer'],
  ['GET', '/svc/operator/identities', 'bearer'],
  ['POST', '/svc/operator/identities', 'bearer'],
  ['POST', '/svc/operator/identities/remove', 'bearer'],
];

for (const [method, path, auth] of [...SPECIFIED, ...DECIDED]) {
  test(`Spec, Endpoints: ${method} ${path} exists, with authentication "${auth}"`, () => {
    const found = rows.filter(([, row]) => row.method === method && placeless(row.path) === path);

    assert.deepEqual(
      found.map(([, row]) => row.auth),
      [auth],
    );
  });
}

test('Spec, Endpoints: every endpoint is in a table', () => {
  const named = [...SPECIFIED, ...DECIDED, ...EXTRA].map(([method, path]) => `${method} ${path}`);
  const found = rows.map(([, row]) => `${row.method} ${placeless(row.path)}`);

  assert.deepEqual(found.sort(), named.sort());
});

/** Spec, Discovery document: the names in `endpoints`. */
const ADVERTISED = {
  manifest: '/svc/manifest',
  tokens: '/svc/tokens',
  permissions: '/svc/permissions',
  invoke: '/svc/invoke/{}',
  approval_grants: '/svc/approval_grants',
  audit: '/svc/audit',
  checkpoints: '/svc/checkpoints',
  // Decisions 4: the dry run is advertised as `test`.
  test: '/svc/test/{}',
};
for (const [endpoint, path] of Object.entries(ADVERTISED)) {
  test(`Spec, Discovery document: ${path} is advertised as "${endpoint}"`, () => {
    const found = rows.filter(([, row]) => row.endpoint === endpoint);

    assert.deepEqual(
      found.map(([, row]) => placeless(row.path)),
      [path],
    );
  });
}

test('Spec, Endpoints: token issuance is "svc.tokens.issue" on other transports', () => {
  assert.equal(operations['tokens.issue'].path, '/svc/tokens');
});

test('Spec, POST /svc/audit: its filters are query parameters', () => {
  assert.equal(operations['audit.query'].method, 'POST');
  assert.equal(operations['audit.query'].rest, 'query');
});

test('Decisions 4: the idempotency key comes in the header of that name', () => {
  assert.equal(operations.invoke.headers.idempotency_key, 'idempotency-key');
});

test('Decision 21: a caller asks for a signed receipt with the Prefer header', () => {
  assert.equal(operations.invoke.headers.prefer, 'prefer');
  assert.deepEqual(operations.test.headers, { prefer: 'prefer' });
});

test('Decisions 5: a requester waits with the Prefer header', () => {
  assert.deepEqual(operations['approval_requests.get'].headers, { prefer: 'prefer' });
});

test('Operations: no two rows share method and path, or an advertised name', () => {
  const places = rows.map(([, row]) => `${row.method} ${placeless(row.path)}`);
  const names = rows.map(([, row]) => row.endpoint);

  assert.equal(new Set(places).size, rows.length);
  assert.equal(new Set(names).size, rows.length);
});

for (const [name, row] of rows) {
  test(`Operations: every field of ${name} has exactly one source, and every source has a field`, () => {
    const inPath = fieldsIn(row.path);
    const inHeaders = Object.keys(row.headers ?? {});
    const placed = [...inPath, ...inHeaders];
    const fields = requestFields(row);

    assert.equal(new Set(placed).size, placed.length);
    assert.deepEqual(
      placed.filter((field) => !fields.includes(field)),
      [],
    );
  });

  test(`Operations: every field in the path of ${name} is required`, () => {
    const { required = [] } = z.toJSONSchema(row.request, { io: 'input' });

    assert.deepEqual(
      fieldsIn(row.path).filter((field) => !required.includes(field)),
      [],
    );
  });

  test(`Operations: request and answer of ${name} have a JSON Schema`, () => {
    const request = z.toJSONSchema(row.request, { io: 'input' });
    const response = z.toJSONSchema(row.response, { io: 'output' });

    assert.equal(request.type, 'object');
    assert.ok(response.type === 'object' || response.anyOf || response.oneOf);
  });

  test(`Operations: ${name} has a name and a summary without a period`, () => {
    assert.match(name, /^[a-z_]+(?:\.[a-z_]+)?$/);
    assert.match(row.endpoint, /^[a-z_]+$/);
    assert.match(row.summary, /^[A-Z].*[^.\s]$/);
  });
}

test('Operations: a GET has no body', () => {
  const gets = rows.filter(([, row]) => row.method === 'GET');

  assert.deepEqual(
    gets.filter(([, row]) => row.rest !== 'query').map(([name]) => name),
    [],
  );
});

test('Operations: no query field is nested, also in the query of a POST', () => {
  const queries = rows.filter(([, row]) => row.rest === 'query');

  assert.deepEqual(
    queries.flatMap(([, row]) => nestedFields(row)),
    [],
  );
});

test('Operations: headers are named in lower case', () => {
  const headers = rows.flatMap(([, row]) => Object.values(row.headers ?? {}));

  assert.deepEqual(
    headers,
    headers.map((header) => header.toLowerCase()),
  );
});

function placeless(path: string): string {
  return path.replace(/\{\w+\}/g, '{}');
}

function fieldsIn(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field as string);
}

function requestFields(row: Operation): string[] {
  return Object.keys(z.toJSONSchema(row.request, { io: 'input' }).properties ?? {});
}

function nestedFields(row: Operation): string[] {
  const { properties = {} } = z.toJSONSchema(row.request, { io: 'input' });
  return Object.entries(properties)
    .filter(([, field]) => /"type":"(?:object|array)"/.test(JSON.stringify(field)))
    .map(([field]) => field);
}
