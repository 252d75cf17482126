/**
 * Every schema against its examples, and against every small damage to them.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'vitest';
import * as z from 'zod';
import * as approval from '../../src/protocol/approval.ts';
import * as audit from '../../src/protocol/audit.ts';
import * as capability from '../../src/protocol/capability.ts';
import * as composition from '../../src/protocol/composition.ts';
import * as currencies from '../../src/protocol/currencies.ts';
import * as exported from '../../src/protocol/export.ts';
import * as failure from '../../src/protocol/failure.ts';
import * as invocation from '../../src/protocol/invocation.ts';
import * as jsonRpc from '../../src/protocol/json-rpc.ts';
import * as operations from '../../src/protocol/operations.ts';
import * as operator from '../../src/protocol/operator.ts';
import * as permissions from '../../src/protocol/permissions.ts';
import * as primitives from '../../src/protocol/primitives.ts';
import * as token from '../../src/protocol/token.ts';
import * as trust from '../../src/protocol/trust.ts';
import type { Document } from './example.ts';
import { EXAMPLES, REQUESTS, STRICT } from './examples.ts';
import {
  additions,
  isObject,
  type Mutant,
  placesOf,
  removals,
  replaced,
  without,
  wrongTypes,
} from './mutation.ts';
import { OPEN, type OpenPlace, opennessOf, openPlace } from './openness.ts';

const MODULES: Readonly<Record<string, object>> = {
  approval,
  audit,
  capability,
  composition,
  currencies,
  export: exported,
  failure,
  invocation,
  'json-rpc': jsonRpc,
  operations,
  operator,
  permissions,
  primitives,
  token,
  trust,
};

/** Schemas of one word or number; what has fields, or alternatives with fields, is not here. */
const WORDS = new Set(['string', 'number', 'enum', 'literal']);

/** Exported, made of fields, and still without an example of its own. */
const EXEMPT: Readonly<Record<string, string>> = {
  JsonObject: 'any JSON object: it has no field of its own to prove',
  NextCursor: 'one word, or null',
  AnyFailureType: 'one word',
  Moment: 'one word',
  Reason: 'one word',
};

/** Optional and nullable at once: left out and null mean the same. */
const ABSENT_OR_NULL: readonly string[] = [
  'ApprovalRequest.grant_id',
  'ApprovalRequest.session_id',
  'ApprovalRequest.terms',
  'ApprovalRequest.terms_digest',
];

/** Open as a whole, so that there is no unknown field. */
const OPEN_DOCUMENTS: readonly string[] = ['Purpose'];

const SCHEMAS = Object.values(MODULES)
  .flatMap((module) => Object.entries(module))
  .filter((named): named is [string, z.ZodType] => named[1] instanceof z.ZodType);
const byName = new Map(SCHEMAS);
const CLOSED = Object.entries(EXAMPLES).filter(([name]) => !OPEN_DOCUMENTS.includes(name));

test('Spec, Resources: every file of the protocol is proved here', () => {
  const files = readdirSync(new URL('../../src/protocol', import.meta.url))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => name.slice(0, -'.ts'.length));

  assert.deepEqual(files.sort(), Object.keys(MODULES).sort());
});

test('Spec, Resources: no two schemas have one name', () => {
  assert.equal(byName.size, SCHEMAS.length);
});

test('Spec, Resources: every schema with fields has an example, and every example a schema', () => {
  const expected = SCHEMAS.filter(([name, schema]) => {
    return !WORDS.has(schema.def.type) && !(name in EXEMPT);
  });

  assert.deepEqual(Object.keys(EXAMPLES).sort(), expected.map(([name]) => name).sort());
});

test('Spec, Resources: every name listed as request or as strict is a schema with an example', () => {
  const unknown = [...REQUESTS, ...STRICT, ...OPEN_DOCUMENTS].filter((name) => !(name in EXAMPLES));

  assert.deepEqual(unknown, []);
});

test('Spec, Resources: every request of an operation is listed as a request, and no other', () => {
  const asked = new Set<z.ZodType>(
    Object.values(operations.operations).map(({ request }) => request),
  );
  const expected = SCHEMAS.filter(([, schema]) => asked.has(schema)).map(([name]) => name);

  assert.deepEqual([...REQUESTS].sort(), expected.sort());
});

for (const [name, examples] of Object.entries(EXAMPLES)) {
  const schema = schemaOf(name);

  test(`Spec, Resources: ${name} keeps every field of a full example`, () => {
    for (const { full } of examples) assert.deepEqual(plain(schema.parse(full)), plain(full));
  });

  test(`Spec, Resources: ${name} takes its required fields alone, and loses none of them`, () => {
    for (const { minimal } of examples) {
      const parsed = plain(schema.parse(minimal));

      if (!isObject(minimal)) assert.deepEqual(parsed, minimal);
      else
        assert.deepEqual(
          Object.keys(minimal).filter((key) => !(key in (parsed as object))),
          [],
        );
    }
  });

  test(`Spec, Resources: ${name} refuses a value of another type`, () => {
    const mutants = examples.flatMap(({ full, minimal }) => [
      ...wrongTypes(full),
      ...wrongTypes(minimal),
    ]);

    assert.notEqual(mutants.length, 0);
    assert.deepEqual(accepted(schema, mutants), []);
  });

  const lacking = examples.flatMap(({ minimal }) => removals(minimal));
  if (lacking.length > 0) {
    test(`Spec, Resources: ${name} refuses a document that lacks a required field`, () => {
      assert.deepEqual(accepted(schema, lacking), []);
    });
  }

  const shortened = examples.flatMap(({ full, minimal }) =>
    optionalFields(full, minimal).map((key) => ({
      name: key,
      document: without(full as Document, key),
    })),
  );
  if (shortened.length > 0) {
    test(`Spec, Resources: ${name} does without each optional field`, () => {
      const names = shortened.map((mutant) => mutant.name);

      assert.deepEqual(accepted(schema, shortened), names);
    });
  }
}

for (const [name, examples] of CLOSED) {
  const schema = schemaOf(name);

  test(`Spec, Resources: ${name} has exactly the fields of its table`, () => {
    const documented = new Set(examples.flatMap(({ full }) => fieldNames(full)));

    assert.deepEqual([...documented].sort(), fieldsOf(schema).sort());
  });

  test(`Decisions 3: ${name} ${isStrict(name) ? 'refuses' : 'ignores'} an unknown field`, () => {
    if (isStrict(name)) {
      const mutants = examples.flatMap(({ full }) => additions(full));
      return assert.deepEqual(accepted(schema, mutants), []);
    }
    for (const { full } of examples) {
      const parsed = schema.parse({ ...(full as Document), unheard_of: 1 });

      assert.deepEqual(plain(parsed), plain(full));
    }
  });
}

for (const [name, examples] of CLOSED.filter(([name]) => REQUESTS.includes(name))) {
  const schema = schemaOf(name);

  const optional = examples.filter(({ full, minimal }) => optionalFields(full, minimal).length > 0);
  if (optional.length > 0) {
    test(`Decisions 1.4: ${name} takes null for an optional field as left out`, () => {
      for (const { full, minimal } of optional) {
        for (const key of optionalFields(full, minimal)) {
          const left = schema.parse(without(full as Document, key));

          assert.deepEqual(plain(schema.parse(replaced(full, [key], null))), plain(left), key);
        }
      }
    });
  }

  const emptied = examples.flatMap(({ minimal }) => nulls(minimal, fieldNames(minimal)));
  if (emptied.length > 0) {
    test(`Spec, Endpoints: ${name} refuses null for a required field`, () => {
      assert.deepEqual(accepted(schema, emptied), []);
    });
  }
}

for (const [name, examples] of CLOSED.filter(([name]) => !REQUESTS.includes(name))) {
  test(`Spec, Resources: ${name} takes null exactly where its table is nullable`, () => {
    const mutants = examples.flatMap(({ full }) =>
      nulls(
        full,
        fieldNames(full).filter((key) => !isAnything(full, key)),
      ),
    );
    const nullable = examples.flatMap(({ full, minimal }) =>
      fieldNames(full).filter((key) => {
        const value = isObject(minimal) ? minimal[key] : undefined;
        return value === null || ABSENT_OR_NULL.includes(`${name}.${key}`);
      }),
    );

    assert.deepEqual(accepted(schemaOf(name), mutants).sort(), nullable.sort());
  });
}

test('Spec, Fields not detailed: what an example marks as open takes any content', () => {
  const refused = Object.entries(EXAMPLES).flatMap(([name, examples]) =>
    examples
      .flatMap(({ full }) => openMutants(full))
      .filter(({ document }) => !schemaOf(name).safeParse(document).success)
      .map((mutant) => `${name}: ${mutant.name}`),
  );

  assert.deepEqual(refused, []);
});

test('Spec, Fields not detailed: every listed open place is used by an example', () => {
  const used = Object.values(EXAMPLES)
    .flat()
    .flatMap(({ full }) => placesOf(full).map(({ value }) => openPlace(value)))
    .filter((place): place is OpenPlace => place !== undefined);

  assert.deepEqual([...new Set(used)].sort(), Object.keys(OPEN).sort());
});

function schemaOf(name: string): z.ZodType {
  const schema = byName.get(name);
  assert.ok(schema, `Cannot prove "${name}": the protocol does not export it`);
  return schema;
}

function fieldsOf(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (!(schema instanceof z.ZodUnion)) return [];
  return [...new Set((schema.options as z.ZodType[]).flatMap(fieldsOf))];
}

function isStrict(name: string): boolean {
  return STRICT.includes(name);
}

function accepted(schema: z.ZodType, mutants: readonly Mutant[]): string[] {
  return mutants
    .filter(({ document }) => schema.safeParse(document).success)
    .map(({ name }) => name);
}

function fieldNames(document: unknown): string[] {
  return isObject(document) ? Object.keys(document) : [];
}

function optionalFields(full: unknown, minimal: unknown): string[] {
  const required = new Set(fieldNames(minimal));
  return fieldNames(full).filter((key) => !required.has(key));
}

function isAnything(document: unknown, key: string): boolean {
  return isObject(document) && opennessOf(document[key]) === 'anything';
}

function nulls(document: unknown, keys: readonly string[]): Mutant[] {
  return keys.map((key) => ({ name: key, document: replaced(document, [key], null) }));
}

/** The document with more, less or other content in each open place, as its openness says. */
function openMutants(document: unknown): Mutant[] {
  const samples: readonly unknown[] = ['text', 7, true, null, { a: [1] }, ['a', 1]];
  return placesOf(document).flatMap(({ path, value }) => {
    const name = path.join('.');
    const openness = opennessOf(value);
    if (openness === undefined) return [];
    if (openness === 'map') {
      return fieldNames(value).map((key) => ({
        name: `${name} without ${key}`,
        document: replaced(document, path, without(value as Document, key)),
      }));
    }
    return samples.map((sample) => ({
      name: `${name} with ${JSON.stringify(sample)}`,
      document: replaced(document, path, openness === 'anything' ? sample : more(value, sample)),
    }));
  });
}

function more(content: unknown, sample: unknown): unknown {
  return Array.isArray(content)
    ? [...content, sample]
    : { ...(content as Document), unheard_of: sample };
}

/** As JSON: a key that is undefined is a key that is not there. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
