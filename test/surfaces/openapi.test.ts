/**
 * The API description: what it says is true, of every answer that the scenarios get.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, test } from 'vitest';
import * as z from 'zod';
import { surfaceScenarios } from '../../src/conformance/scenarios.ts';
import { overHttp, type Surface, type SurfaceAnswer } from '../../src/conformance/surface.ts';
import { EXAMPLES } from '../../src/openapi/examples.generated.ts';
import { openApiDocument } from '../../src/openapi/openapi.ts';
import { makeSchemas, type Schema } from '../../src/openapi/schemas.ts';
import { FailureAnswer } from '../../src/protocol/failure.ts';
import { type OperationName, operations } from '../../src/protocol/operations.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { OPERATOR } from '../invoke/principals.ts';
import { startRig } from '../invoke/rig.ts';
import { type TestService, testService } from '../support/world.ts';

/** A schema that refers to itself. */
const Tree = z.object({
  height: z.number().positive(),
  get branches() {
    return z.array(Tree);
  },
});

const GROW = defineCapability({
  name: 'grow',
  description: 'Makes a tree higher',
  side_effect: 'write',
  minimum_scope: ['t.grow'],
  inputs: z.object({ tree: Tree }),
  output: z.object({ height: z.number() }),
  handler: ({ tree }) => ({ height: tree.height + 1 }),
});

const NAMES = Object.keys(operations) as OperationName[];
const SCHEMAS = makeSchemas();
const DOCUMENT = openApiDocument(NAMES, SCHEMAS);

for (const name of NAMES) {
  test(`EXAMPLES has exchanges of ${name} that its schemas take`, () => {
    const { request, answers, refusals } = EXAMPLES[name];
    const faultsOf = validators();

    operations[name].request.parse(request);
    for (const [status, answer] of Object.entries(answers)) {
      assert.deepEqual(operations[name].response.parse(answer), answer);
      assert.deepEqual(faultsOf(name, told(Number(status), answer)), []);
    }
    for (const [type, { status, body }] of Object.entries(refusals)) {
      assert.equal(FailureAnswer.parse(body).failure.type, type);
      assert.deepEqual(faultsOf(name, told(status, body)), []);
    }
  });
}

test('EXAMPLES has what is refused, what is not known and what is not complete', () => {
  const { invoke, 'approval_grants.issue': grants } = EXAMPLES;

  assert.equal(invoke.refusals.budget_exceeded?.status, 403);
  assert.equal(invoke.refusals.outcome_unknown?.status, 503);
  assert.equal(grants.answers[202]?.status, 'pending');
});

test('openApiDocument() gives every field of every request one place', () => {
  const { paths } = DOCUMENT;
  const invoke = paths['/svc/invoke/{capability}']?.post;
  const body = invoke?.requestBody?.content['application/json']?.schema;

  assert.deepEqual(
    invoke?.parameters?.map((each) => [each.name, each.in, each.required]),
    [
      ['capability', 'path', true],
      ['prefer', 'header', false],
      ['idempotency-key', 'header', false],
    ],
  );
  assert.deepEqual(body?.required, ['parameters']);
  assert.ok(!Object.hasOwn(body?.properties ?? {}, 'capability'));
  assert.equal(paths['/svc/audit']?.post?.requestBody, undefined);
});

test('openApiDocument() describes only offered operations, and only the schemas they need', () => {
  const { paths, components } = openApiDocument(['jwks'], SCHEMAS);

  assert.deepEqual(Object.keys(paths), ['/.well-known/jwks.json']);
  assert.ok(components.schemas.PublicKey);
  assert.equal(components.schemas.ApprovalRequest, undefined);
});

/** What every answer may have, and no description of an operation names. */
const OF_HTTP = [
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-accel-buffering',
  'x-request-id',
];

/** Answers by operation and status, closed: a field that the document does not name is a fault. */
function validators(): (name: OperationName, answer: SurfaceAnswer) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: closed(DOCUMENT.components) } as object);
  const made = new Map<string, ValidateFunction>();
  return (name, { status = 0, body, headers }) => {
    const { method, path } = operations[name];
    const { responses } = DOCUMENT.paths[path]?.[method.toLowerCase()] ?? {};
    const key = responses?.[status] ? String(status) : `${String(status)[0]}XX`;
    const schema = responses?.[key]?.content?.['application/json']?.schema;
    if (!schema) return [`${name} has no answer ${status}`];
    const id = `${name} ${key}`;
    const named = Object.keys(responses?.[key]?.headers ?? {});
    const unnamed = Object.keys(headers).filter(
      (header) => ![...OF_HTTP, ...named].includes(header),
    );
    if (unnamed.length > 0) return unnamed.map((header) => `${id} has no header ${header}`);
    const validate = made.get(id) ?? ajv.compile(closed(absolute(schema)) as object);
    made.set(id, validate);
    if (validate(body)) return [];
    return (validate.errors ?? []).map((error) => `${id}${error.instancePath}: ${error.message}`);
  };
}

function told(status: number, body: JsonObject): SurfaceAnswer {
  return { status, body, events: [], headers: {} };
}

/** The same schema with every object closed that leaves it open only for later versions. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const schema = Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, closed(part)]),
  );
  const isObject = schema.type === 'object' && schema.properties !== undefined;
  return isObject ? { additionalProperties: false, ...schema } : schema;
}

function absolute(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));
}

test('validators() finds an undocumented field and a missing one', () => {
  const { 200: answer } = EXAMPLES.jwks.answers;
  const faultsOf = validators();

  assert.deepEqual(faultsOf('jwks', told(200, answer)), []);
  assert.match(faultsOf('jwks', told(200, { ...answer, more: 1 })).join(), /additional/);
  assert.match(faultsOf('jwks', told(200, {})).join(), /required/);
  assert.match(faultsOf('jwks', told(202, answer)).join(), /no answer 202/);
  const headers = { 'retry-after': '1' };
  assert.match(faultsOf('jwks', { ...told(200, answer), headers }).join(), /no header retry-after/);
});

/** The same surface, which fails when an answer is not as the document has it. */
function held(surface: Surface, seen: Set<OperationName>): Surface {
  const faultsOf = validators();
  return {
    async ask(name, request, credential) {
      const told = await surface.ask(name, request, credential);
      seen.add(name);
      // The last event of a stream is the answer and the time of the event.
      const { timestamp: _, ...body } = told.body;
      const answer = told.events.length > 0 ? { ...told, body } : told;
      assert.deepEqual(faultsOf(name, answer), []);
      return told;
    },
  };
}

describe('every answer of the scenarios', () => {
  let service: TestService;
  let surface: Surface;
  const seen = new Set<OperationName>();
  beforeAll(async () => {
    service = await testService();
    surface = held(overHttp(await service.app.listen({ host: '127.0.0.1', port: 0 })), seen);
  });
  afterAll(() => service.close());

  surfaceScenarios('as the API description has it', () => surface, { describe, test });

  test('an operator lists calls of unknown outcome and reconciles each', async () => {
    const rig = await startRig();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      const http = overHttp(await rig.app.listen({ host: '127.0.0.1', port: 0 }));
      const { ask } = held(http, seen);
      const { token } = await rig.token({ budget: { currency: 'USD', max_amount: 20 } });
      // Longer than its deadline, whatever that is.
      rig.world.script('pay_slowly', () => ended.then(() => ({})));
      for (const outcome of ['executed', 'not_executed']) {
        const call = { capability: 'pay_slowly', parameters: {} };
        const { body: unknown } = await ask('invoke', call, token);
        const { body: found } = await ask('operator.indeterminate', {}, OPERATOR);
        const word = { invocation_id: unknown.invocation_id, outcome, reason: 'asked the bank' };
        const { body: settled } = await ask('operator.reconcile', word, OPERATOR);
        const { body: again } = await ask('operator.reconcile', word, OPERATOR);

        assert.deepEqual(
          (found.indeterminate as JsonObject[]).map(({ invocation_id }) => invocation_id),
          [unknown.invocation_id],
        );
        const refunded = outcome === 'executed' ? null : { currency: 'USD', amount: 10 };
        assert.deepEqual(settled, { ...settled, outcome, refunded });
        assert.equal(again.success, false);
      }
    } finally {
      end();
      await rig.close();
    }
  });

  test('a call beyond the limit gets a retry time', async () => {
    const rig = await startRig({ settings: { rate_limit: '1/PT1H' } });
    try {
      const { ask } = held(overHttp(await rig.app.listen({ host: '127.0.0.1', port: 0 })), seen);
      const { token } = await rig.token();
      const call = { capability: 'touch', parameters: {} };
      const answers = [await ask('invoke', call, token), await ask('invoke', call, token)];

      assert.deepEqual(
        answers.map(({ status, headers }) => [status, 'ratelimit' in headers]),
        [
          [200, true],
          [429, true],
        ],
      );
      assert.match(answers[1]?.headers['retry-after'] ?? '', /^\d+$/);
      const tried = await ask('test', call, token);
      const { body } = await rig.ask('POST', '/svc/audit?entry_type=dry_run', { bearer: token });
      assert.equal(tried.status, 429);
      assert.match(String(tried.body.invocation_id), /^inv-/);
      assert.deepEqual(
        [tried.body.audit],
        body.entries.map(({ entry_id, leaf_hash }: JsonObject) => ({ entry_id, leaf_hash })),
      );
    } finally {
      await rig.close();
    }
  });

  test('covers every operation', () => {
    assert.deepEqual(
      NAMES.filter((name) => !seen.has(name)),
      [],
    );
  });
});

test('GET /openapi.json describes exactly the offered operations', async () => {
  const service = await testService();
  try {
    const { status, body, headers } = await service.ask('GET', '/openapi.json');
    const again = await service.ask('GET', '/openapi.json', {
      headers: { 'if-none-match': String(headers.etag) },
    });
    const { body: discovery } = await service.ask('GET', '/.well-known/svc');

    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'application/json; charset=utf-8');
    const { schemas } = body.components;
    const own = Object.entries(schemas).filter(([name]) => !/\.(parameters|result)$/.test(name));
    const plain = { ...body.components, schemas: Object.fromEntries(own) };
    const written = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
    assert.deepEqual({ ...body, components: plain }, written);
    assert.equal(again.status, 304);
    const paths: string[] = Object.values(discovery.svc_discovery.endpoints);
    assert.deepEqual(Object.keys(body.paths).sort(), [...new Set(paths)].sort());
  } finally {
    await service.close();
  }
});

test('GET /openapi.json has the parameters and the result of each capability', async () => {
  const service = await testService({
    definition: createService({ id: 'tree', capabilities: [GROW] }),
  });
  try {
    const { body } = await service.ask('GET', '/openapi.json');

    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'document', ...body });
    const judge = (name: string) => ajv.compile({ $ref: `document#/components/schemas/${name}` });
    const parameters = judge('grow.parameters');
    const leaf = { height: 3, branches: [] };
    assert.equal(parameters({ tree: { height: 3, branches: [leaf] } }), true);
    assert.equal(parameters({ tree: { height: 3, branches: [{ ...leaf, height: 0 }] } }), false);
    assert.equal(parameters({ tree: leaf, other: 1 }), false);
    assert.equal(judge('grow.result')({ height: 4 }), true);
    assert.equal(judge('grow.result')({}), false);
  } finally {
    await service.close();
  }
});

test('GET /openapi.json names no capability where the manifest asks for a credential', async () => {
  const service = await testService({ settings: { manifest_access: 'authenticated' } });
  try {
    const { body } = await service.ask('GET', '/openapi.json');

    assert.doesNotMatch(JSON.stringify(body.components), /book_flight\./);
  } finally {
    await service.close();
  }
});

test('GET /docs is a complete page that fetches nothing but the icon of the service', async () => {
  const service = await testService();
  try {
    const { status, text = '', headers } = await service.ask('GET', '/docs');

    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]+';/);
    for (const name of NAMES) assert.ok(text.includes(`id="${name}"`), name);
    const rest = text.replace('<link rel="icon" href="./favicon.svg" type="image/svg+xml">', '');
    assert.doesNotMatch(rest, /<script|<img|<link|<iframe|\son\w+=|style="|url\(|@import/);
    for (const [, target = ''] of rest.matchAll(/(?:href|src)="([^"]*)"/g)) {
      assert.ok(target === '/openapi.json' || text.includes(`id="${target.slice(1)}"`), target);
    }
  } finally {
    await service.close();
  }
});
