/**
 * Every schema that travels against the table of fields in wire.txt, and every request against the
 * rules for null and for unknown fields.
 *
 * That a field of one type refuses another is a promise of zod, and is not tried here.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'vitest';
import * as z from 'zod';
import { operations } from '../../src/protocol/operations.ts';

const PROTOCOL = new URL('../../src/protocol/', import.meta.url);

const modules = await Promise.all(
  readdirSync(PROTOCOL)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file): Promise<object> => import(new URL(file, PROTOCOL).href)),
);
const SCHEMAS = modules
  .flatMap((module) => Object.entries(module))
  .filter((named): named is [string, z.ZodType] => named[1] instanceof z.ZodType);
const names = new Map(SCHEMAS.map(([name, schema]) => [schema, name]));

/** The rows of wire.txt: a name, a colon, and the form of its schema. A row goes on where it is indented. */
const FORMS = new Map(
  readFileSync(new URL('wire.txt', import.meta.url), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\n +/g, ' ')
    .trim()
    .split('\n')
    .map((row) => row.split(': ') as [name: string, form: string]),
);

test('Spec, Resources: no two schemas have one name', () => {
  assert.equal(new Set(names.values()).size, SCHEMAS.length);
});

test('Spec, Resources: every schema with fields has a row, and every row a schema', () => {
  const withFields = SCHEMAS.filter(([, schema]) => /[{|]/.test(formOf(schema)));

  assert.deepEqual([...FORMS.keys()].sort(), withFields.map(([name]) => name).sort());
});

for (const [name, schema] of SCHEMAS.filter(([each]) => FORMS.has(each))) {
  test(`Spec, Resources: ${name} has exactly the fields of its table`, () => {
    assert.equal(formOf(schema), FORMS.get(name));
  });
}

const ID = { approval_request_id: 'apr_1' };
const TOKEN = { token_id: `tok_${'0'.repeat(32)}` };
const FREEZE = { what: 'service', reason: 'drill' };

/** The required fields of every request. */
const REQUESTS: Readonly<Record<string, object>> = {
  Nothing: {},
  IssueRequest: { scope: ['travel.book'] },
  RevokeRequest: TOKEN,
  TokenRequest: TOKEN,
  AgentListRequest: {},
  TestRequest: { capability: 'book_flight', parameters: {} },
  InvokeRequest: { capability: 'book_flight', parameters: {} },
  GrantRequest: { ...ID, grant_type: 'one_time' },
  ApprovalListRequest: {},
  ApprovalReadRequest: ID,
  DecisionRequest: ID,
  DenyRequest: { ...ID, reason: 'not now' },
  AuditQuery: {},
  CheckpointListRequest: {},
  CheckpointReadRequest: { checkpoint_id: 'ckpt-1' },
  FreezeRequest: FREEZE,
  FrozenRequest: {},
  UnfreezeRequest: FREEZE,
  ReconcileRequest: { invocation_id: 'inv-0123456789ab', outcome: 'executed', reason: 'seen' },
  IdentityListRequest: {},
  IdentityAddRequest: { principal: 'human:x', key_sha256: '0'.repeat(64) },
  IdentityRemoveRequest: { identity_id: `idn_${'0'.repeat(32)}` },
  GraphRequest: { capability: 'book_flight' },
  HandshakeRequest: {},
};

test('Spec, Endpoints: the request of every operation is tried here, and no other', () => {
  const asked = Object.values(operations).map(({ request }) => names.get(request));

  assert.deepEqual([...new Set(asked)].sort(), Object.keys(REQUESTS).sort());
});

for (const [name, schema] of SCHEMAS.filter(([each]) => Object.hasOwn(REQUESTS, each))) {
  const required = REQUESTS[name] ?? {};
  const { shape } = schema as z.ZodObject;
  const optional = Object.keys(shape).filter((field) => !Object.hasOwn(required, field));

  test(`Decisions 1.4: ${name} takes null for an optional field as left out`, () => {
    const nulls = Object.fromEntries(optional.map((field) => [field, null]));

    assert.deepEqual(
      JSON.stringify(schema.parse({ ...required, ...nulls })),
      JSON.stringify(schema.parse(required)),
    );
  });

  test(`Spec, Endpoints: ${name} refuses a request in which a required field is null or left out`, () => {
    for (const field of Object.keys(required)) {
      assert.equal(takes(schema, { ...required, [field]: null }), false, field);
      assert.equal(takes(schema, { ...required, [field]: undefined }), false, field);
    }
  });

  const isStrict = FORMS.get(name)?.startsWith('strict');
  test(`Decisions 3: ${name} ${isStrict ? 'refuses' : 'ignores'} an unknown field`, () => {
    const { success, data } = schema.safeParse({ ...required, unheard_of: 1 });

    assert.equal(success, !isStrict);
    if (success) assert.deepEqual(data, schema.parse(required));
  });
}

/** A schema as wire.txt writes it. */
function formOf(schema: z.ZodType): string {
  if (schema instanceof z.ZodObject) return objectForm(schema);
  if (schema instanceof z.ZodUnion) return optionsOf(schema).map(typeOf).join(' | ');
  if (schema instanceof z.ZodArray) return `${typeOf(schema.element as z.ZodType)}[]`;
  if (schema instanceof z.ZodRecord) return `Record<${typeOf(schema.valueType as z.ZodType)}>`;
  // The list of currencies is long, and has a test of its own.
  if (schema instanceof z.ZodEnum)
    return schema.options.length > 20 ? 'enum' : schema.options.join('/');
  if (schema instanceof z.ZodLiteral) return JSON.stringify(schema.value);
  if (schema instanceof z.ZodPipe) return typeOf(schema.in as z.ZodType);
  const { innerType } = schema.def as { innerType?: z.ZodType };
  return innerType ? typeOf(innerType) : schema.def.type;
}

/** Its name where it has one, so that each form is written once. */
function typeOf(schema: z.ZodType): string {
  return names.get(schema) ?? formOf(schema);
}

function objectForm({ shape, def }: z.ZodObject): string {
  const fields = Object.entries(shape).map(([key, field]) => {
    const marks = [takes(field, undefined) && '?', takes(field, null) && '~'];
    return `${key}${marks.filter(Boolean).join('')}:${typeOf(field as z.ZodType)}`;
  });
  return `${MARKS[def.catchall?._zod.def.type ?? 'ignored']}{ ${[...fields, '}'].join(' ')}`;
}

/** What becomes of a field that the schema does not know. */
const MARKS: Readonly<Record<string, string>> = { never: 'strict ', ignored: '', unknown: 'open ' };

function optionsOf(schema: z.ZodUnion): z.ZodType[] {
  return schema.options as unknown as z.ZodType[];
}

function takes(schema: z.core.$ZodType, value: unknown): boolean {
  return z.safeParse(schema, value).success;
}
