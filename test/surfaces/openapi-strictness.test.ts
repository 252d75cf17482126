/**
 * The API description is as strict as the service: what one takes the other takes, and no more.
 *
 * Every schema of the document is damaged in each way that it suggests. A request is then judged by the
 * document and by the running service, an answer by the document and by the schema it is written with.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, test } from 'vitest';
import { EXAMPLES } from '../../src/openapi/examples.generated.ts';
import type { ApiDocument, ApiOperation } from '../../src/openapi/openapi.ts';
import { referred, type Schema } from '../../src/openapi/schemas.ts';
import { FailureAnswer } from '../../src/protocol/failure.ts';
import { InvokeFailure } from '../../src/protocol/invocation.ts';
import { type Operation, type OperationName, operations } from '../../src/protocol/operations.ts';
import { ALICE, OPERATOR, type TestService, testService } from '../support/world.ts';
import { mutantsOf } from './schema-mutants.ts';

const DOCUMENT: ApiDocument = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
const NAMES = Object.keys(operations) as OperationName[];

const ajv = new Ajv2020({ strict: false, addUsedSchema: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'api', components: DOCUMENT.components } as object);

function resolve(schema: Schema): Schema {
  const name = referred(schema);
  return name === undefined ? schema : resolve(DOCUMENT.components.schemas[name] as Schema);
}

function judgeOf(schema: Schema): (value: unknown) => boolean {
  const text = JSON.stringify(schema).replaceAll('"#/components', '"api#/components');
  const validate: ValidateFunction = ajv.compile(JSON.parse(text));
  return (value) => validate(value);
}

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await testService({ settings: { rate_limits: 'off' } });
  ({ token } = await service.issue(ALICE, { scope: ['travel.extras'], subject: 'agent:planner' }));
});
afterAll(() => service.close());

const JSON_BODY = { 'content-type': 'application/json' };

/** Whether the service can read a request, whatever becomes of it. */
async function isRead(method: string, path: string, options: object): Promise<boolean> {
  const { status, body } = await service.ask(method, path, options);
  // These would hide how the request was read.
  assert.ok(![401, 405, 429, 500, 503].includes(status), `${path} ${JSON.stringify(body)}`);
  const { type, detail = '' } = body.failure ?? {};
  // How large and how exact an amount may be depends on its currency, which no schema can say.
  return !(
    type === 'invalid_parameters' && /^Cannot (?:read (?!amount)|issue|freeze)/.test(detail)
  );
}

function bearerOf(name: OperationName): string {
  const { auth }: Operation = operations[name];
  if (auth === 'token') return token;
  return /^(operator|identities)\./.test(name) ? OPERATOR : ALICE;
}

/** A request as HTTP carries it. */
interface Placed {
  readonly path: Record<string, string>;
  readonly query: Record<string, string>;
  readonly header: Record<string, string>;
}

function exampleOf({ parameters = [] }: ApiOperation): Placed {
  const placed: Placed = { path: {}, query: {}, header: {} };
  for (const { in: place, name, example } of parameters) {
    if (example !== undefined) placed[place][name] = String(example);
  }
  return placed;
}

function addressOf(template: string, { path, query }: Placed): string {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, field) =>
    encodeURIComponent(path[field] ?? ''),
  );
  const search = new URLSearchParams(query).toString();
  return search ? `${filled}?${search}` : filled;
}

/** What no header and no part of a path can carry. */
function isSendable(place: keyof Placed, value: string): boolean {
  if (place === 'path') return value !== '' && value !== '.' && value !== '..';
  // A header is cut at its ends by whoever reads it, and is no place for other letters.
  return place === 'query' || (/^[\x20-\x7e]*$/.test(value) && value.trim() === value);
}

for (const name of NAMES) {
  const { method, path }: Operation = operations[name];
  const operation = DOCUMENT.paths[path]?.[method.toLowerCase()] as ApiOperation;
  const body = operation.requestBody?.content['application/json'];

  test(`${name}: the document accepts exactly the bodies that the service reads`, async () => {
    if (!body) return;
    const judge = judgeOf(body.schema);
    const placed = exampleOf(operation);
    const differing: string[] = [];
    const mutants = mutantsOf(body.schema, body.example, resolve);
    assert.ok(judge(body.example));
    for (const { what, value } of [{ what: 'the example', value: body.example }, ...mutants]) {
      const read = await isRead(method, addressOf(path, placed), {
        bearer: bearerOf(name),
        headers: { ...placed.header, 'content-type': 'application/json' },
        body: JSON.stringify(value),
      });
      if (read !== judge(value)) differing.push(`${what}: ${read ? 'read' : 'refused'}`);
    }

    assert.deepEqual(differing, []);
  });

  test(`${name}: the document accepts exactly the parameters that the service reads`, async () => {
    const example = exampleOf(operation);
    const sent = body && { body: JSON.stringify(body.example) };
    const differing: string[] = [];
    for (const { in: place, name: field, schema } of operation.parameters ?? []) {
      const judge = judgeOf(schema);
      const values = mutantsOf(schema, example[place][field], resolve)
        .filter(({ value }) => typeof value !== 'object')
        .map(({ what, value }) => ({ what, value: String(value) }));
      for (const { what, value } of values.filter((each) => isSendable(place, each.value))) {
        const placed = { ...example, [place]: { ...example[place], [field]: value } };
        const read = await isRead(method, addressOf(path, placed), {
          bearer: bearerOf(name),
          headers: { ...placed.header, ...(sent && { 'content-type': 'application/json' }) },
          ...sent,
        });
        if (read !== judge(value))
          differing.push(`${field}: ${what}: ${read ? 'read' : 'refused'}`);
      }
    }

    assert.deepEqual(differing, []);
  });

  test(`${name}: the document accepts exactly the answers that the service writes`, () => {
    const { schema } = operation.responses['200']?.content?.['application/json'] ?? {};
    assert.ok(schema);
    const judge = judgeOf(schema);
    const { response } = operations[name];
    const differing: string[] = [];
    for (const { what, value } of mutantsOf(schema, EXAMPLES[name].answers[200], resolve)) {
      const { success, data } = response.safeParse(value);
      const written = success && hasAll(value, data);
      if (written !== judge(value)) differing.push(`${what}: ${written ? 'written' : 'no answer'}`);
    }

    assert.deepEqual(differing, []);
  });
}

/** Whether reading filled in nothing: what has a default is always written. */
function hasAll(value: unknown, read: unknown): boolean {
  if (typeof read !== 'object' || read === null) return true;
  const given = value as Record<string, unknown>;
  return Object.entries(read).every(([key, part]) => key in given && hasAll(given[key], part));
}

const ISSUE = { scope: ['travel.extras'] };
const FREEZE = { reason: 'an incident' };
const GRANT = {
  approval_request_id: EXAMPLES['approval_grants.issue'].request.approval_request_id,
  grant_type: 'one_time',
};
const PARENT = `tok_${'0'.repeat(32)}`;

/** What no damage to an example comes to, and how it is answered. */
const BODIES: readonly (readonly [
  name: OperationName,
  status: number,
  bodies: readonly object[],
])[] = [
  [
    'tokens.issue',
    400,
    [
      ...[
        '*',
        ' a ',
        'a b',
        'a\u202eb',
        '\u0085',
        'a\u200b',
        '\u3164',
        'human:x',
        'Human:x',
        'a\ue000',
      ].map((subject) => ({ ...ISSUE, subject: `agent:${subject}` })),
      ...['ZZZ', 'XXX', 'usd', 'constructor'].map((currency) => ({
        ...ISSUE,
        budget: { currency, max_amount: 1 },
      })),
      { ...ISSUE, ttl_hours: 721 },
      { ...ISSUE, ttl_hours: 720.5, parent_token: null },
      { ...ISSUE, ttl_hours: 1e16, parent_token: PARENT },
      { ...ISSUE, budget: { currency: 'USD', max_amount: 1e300 } },
    ],
  ],
  [
    'approval_grants.issue',
    400,
    [1e16, 1e300].map((expires_in_seconds) => ({ ...GRANT, expires_in_seconds })),
  ],
  [
    'tokens.issue',
    200,
    [
      { ...ISSUE, subject: 'agent:zo\u00eb/\u5c71' },
      { ...ISSUE, budget: { currency: 'JPY', max_amount: 1 } },
      { ...ISSUE, ttl_hours: 720 },
      { ...ISSUE, ttl_hours: null },
    ],
  ],
  // A child may ask for any lifetime, so this is refused for its parent alone.
  ['tokens.issue', 403, [{ ...ISSUE, ttl_hours: 721, parent_token: PARENT }]],
  ...(['operator.freeze', 'operator.unfreeze'] as const).flatMap((name) => [
    [
      name,
      400,
      ['foo', 'human:*', 'agent: a', 'robot:x', 'human:'].map((target) => ({
        ...FREEZE,
        what: 'root_principal',
        target,
      })),
    ] as const,
    [name, 200, [{ ...FREEZE, what: 'root_principal', target: 'human:mallory' }]] as const,
  ]),
];
for (const [name, status, bodies] of BODIES) {
  test(`${name}: the document and the service agree on what is answered with ${status}`, async () => {
    const { method, path } = operations[name];
    const form = DOCUMENT.paths[path]?.[method.toLowerCase()]?.requestBody;
    const judge = judgeOf(form?.content['application/json']?.schema ?? {});
    for (const body of bodies) {
      const words = JSON.stringify(body);
      const found = await service.ask(method, path, {
        bearer: bearerOf(name),
        body: words,
        headers: JSON_BODY,
      });
      assert.equal(found.status, status, words);
      assert.equal(judge(body), status !== 400, words);
    }
  });
}

test('audit.query: a zone may lead outside the four-digit years', async () => {
  const { method, path } = operations['audit.query'];
  const operation = DOCUMENT.paths[path]?.[method.toLowerCase()];
  const judge = judgeOf(operation?.parameters?.find(({ name }) => name === 'since')?.schema ?? {});
  const counted = async (since: string) => {
    assert.ok(judge(since), since);
    const address = `${path}?${new URLSearchParams({ since })}`;
    const { status, body } = await service.ask(method, address, { bearer: OPERATOR });
    assert.equal(status, 200, JSON.stringify(body));
    return body.entries.length;
  };

  assert.ok((await counted('0000-01-01T00:00+23:59')) > 0);
  assert.equal(await counted('9999-12-31T23:59-23:59'), 0);
});

test('the document of a running service has the maximum token lifetime of that service', async () => {
  const other = await testService({ settings: { max_ttl_hours: 5 } });
  try {
    const { body: document } = await other.ask('GET', '/openapi.json');
    const judge = judgeOf(
      document.paths['/svc/tokens'].post.requestBody.content['application/json'].schema,
    );
    for (const [ttl_hours, status] of [
      [5, 200],
      [5.5, 400],
    ] as const) {
      const body = JSON.stringify({ ...ISSUE, ttl_hours });
      const found = await other.ask('POST', '/svc/tokens', {
        bearer: ALICE,
        body,
        headers: JSON_BODY,
      });

      assert.equal(found.status, status);
      assert.equal(judge({ ...ISSUE, ttl_hours }), status === 200);
    }
  } finally {
    await other.close();
  }
});

const REFUSALS = ['non_delegable_action', 'approval_required'].map(
  (type) => EXAMPLES.invoke.refusals[type]?.body,
);

for (const [name, schema] of [
  ['invoke', InvokeFailure],
  ['test', InvokeFailure],
  ['tokens.issue', FailureAnswer],
] as const) {
  test(`${name}: the document accepts exactly the failures that the service writes`, () => {
    const { method, path } = operations[name];
    const operation = DOCUMENT.paths[path]?.[method.toLowerCase()];
    for (const status of ['4XX', '5XX']) {
      const form = operation?.responses[status]?.content?.['application/json']?.schema ?? {};
      const judge = judgeOf(form);
      for (const whole of REFUSALS) {
        const differing = mutantsOf(form, whole, resolve)
          .filter(({ value }) => judge(value) !== schema.safeParse(value).success)
          .map(({ what }) => what);

        assert.ok(judge(whole));
        assert.deepEqual(differing, []);
      }
    }
  });
}
