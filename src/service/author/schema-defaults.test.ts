/**
 * Defaults in the schemas of three libraries: the manifest shows those that stay.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { test } from 'vitest';
import * as z from 'zod';
import { defineCapability } from './define.ts';
import { createService } from './definition.ts';
import type { AnySchema } from './typed.ts';

const COMMON = {
  name: 'transfer',
  description: 'Sends money',
  side_effect: 'write',
  minimum_scope: ['bank.send'],
} as const;

function declarationOf(inputs: AnySchema) {
  const capability = defineCapability({ ...COMMON, inputs, handler: () => ({}) });
  const service = createService({ id: 'bank', capabilities: [capability] });
  return service.catalog.capabilities.get('transfer');
}

test('createService() shows no default that a function makes, in any library', () => {
  let made = 0;
  const next = () => `made-${++made}`;
  const schemas: AnySchema[] = [
    z.object({ id: z.string().default(next), least: z.number().default(3) }),
    toStandardJsonSchema(
      v.object({ id: v.optional(v.string(), next), least: v.optional(v.number(), 3) }),
    ),
    type({ id: type.string.default(next), least: 'number = 3' }),
  ];

  for (const schema of schemas) {
    const { inputs, input_schema } = declarationOf(schema) ?? {};

    const shown = Object.fromEntries((inputs ?? []).map((input) => [input.name, input.default]));
    assert.deepEqual(shown, { id: undefined, least: 3 }, schema['~standard'].vendor);
    assert.doesNotMatch(JSON.stringify(input_schema), /made-/);
  }
});

/** Defaults that are the same twice in a row, and not at another time. */
const CLOCK = {
  day: () => new Date().toISOString().slice(0, 10),
  seconds: () => Math.floor(Date.now() / 1000),
  year: () => new Date().getFullYear(),
  within: () => ({ at: new Date().toISOString(), list: [Date()] }),
};

const AT = z.object({ at: z.string(), list: z.array(z.string()) });

test('createService() shows no default that a function makes from the clock, in any library', () => {
  const { day, seconds, year, within } = CLOCK;
  const schemas: AnySchema[] = [
    z.object({
      day: z.iso.date().default(day),
      seconds: z.int().default(seconds),
      year: z.int().prefault(year),
      within: AT.default(within),
      nested: z.object({ day: z.string().default(day) }),
    }),
    toStandardJsonSchema(
      v.object({
        day: v.optional(v.string(), day),
        seconds: v.optional(v.number(), seconds),
        year: v.optional(v.number(), year),
      }),
    ),
    type({ day: type.string.default(day), within: type({ at: 'string' }).default(within) }),
  ];

  for (const schema of schemas) {
    const { inputs = [], input_schema } = declarationOf(schema) ?? {};

    assert.deepEqual(
      inputs.flatMap((input) => ('default' in input ? [input] : [])),
      [],
      schema['~standard'].vendor,
    );
    assert.doesNotMatch(JSON.stringify(input_schema), /"default":/);
  }
});

test('createService() shows a constant default that looks like a time, in any library', () => {
  const time = '2030-01-01T00:00:00Z';
  const many = 1_900_000_000_000;
  const schemas: AnySchema[] = [
    z.object({ from: z.iso.datetime().default(time), most: z.int().default(many) }),
    toStandardJsonSchema(
      v.object({ from: v.optional(v.string(), time), most: v.optional(v.number(), many) }),
    ),
    type({ from: type.string.default(time), most: type.number.default(many) }),
  ];

  for (const schema of schemas) {
    const { inputs = [] } = declarationOf(schema) ?? {};

    const shown = Object.fromEntries(inputs.map((input) => [input.name, input.default]));
    assert.deepEqual(shown, { from: time, most: many }, schema['~standard'].vendor);
  }
});

test('createService() takes inputs by the names of keywords, and defaults that have such keys', () => {
  let made = 0;
  const next = () => `made-${++made}`;
  const { inputs = [], input_schema } =
    declarationOf(
      z.object({
        default: z.string().default(next),
        properties: z.object({ default: z.string() }).default({ default: 'x' }),
        enum: z.enum(['default']),
      }),
    ) ?? {};

  assert.deepEqual(
    inputs.map(({ name, required }) => [name, required]),
    [
      ['default', false],
      ['properties', false],
      ['enum', true],
    ],
  );
  assert.deepEqual(inputs[1]?.default, { default: 'x' });
  assert.deepEqual(Object.keys(input_schema?.properties ?? {}), ['default', 'properties', 'enum']);
  assert.doesNotMatch(JSON.stringify(input_schema), /made-/);
});

test('createService() does not require an input that falls back to what a function makes', () => {
  let made = 0;
  const next = () => `made-${++made}`;
  const inner = { at: z.string().catch(next), name: z.string() };
  const { inputs = [], input_schema } =
    declarationOf(z.object({ ...inner, inner: z.object(inner) })) ?? {};

  assert.deepEqual(
    inputs.map(({ name, required }) => [name, required]),
    [
      ['at', false],
      ['name', true],
      ['inner', true],
    ],
  );
  assert.deepEqual(input_schema?.required, ['name', 'inner']);
  assert.match(JSON.stringify(input_schema), /"inner":\{.*"required":\["name"\]/);
});

test('createService() refuses an approval for parameters that a function makes anew, in any library', () => {
  let made = 0;
  const next = () => `made-${++made}`;
  const [zod, valibot, arktype] = [
    z.object({ ref: z.string().default(next), in: z.object({ at: z.string().catch(next) }) }),
    toStandardJsonSchema(v.object({ ref: v.optional(v.string(), next), note: v.string() })),
    type({ ref: type.string.default(next), least: 'number = 3' }),
  ];
  const approval = { when: 'always' } as const;
  const faultsWith = (inputs: AnySchema) => {
    const { faults } = defineCapability({ ...COMMON, inputs, approval, handler: () => ({}) });
    return faults.map(({ field, fault }) => `${field}: ${fault}`);
  };

  const why = 'an approval is for exact parameters, and a repeated call would get another value';
  assert.deepEqual(faultsWith(zod), [`inputs.ref: ${why}`, `inputs.in.at: ${why}`]);
  assert.deepEqual(faultsWith(valibot), [`inputs.ref: ${why}`]);
  assert.deepEqual(faultsWith(arktype), [`inputs.ref: ${why}`]);
  assert.deepEqual(faultsWith(z.object({ ref: z.string().default('x') })), []);
});
