/**
 * Schemas that cannot be declared, in three libraries, each with the sentence that its author reads.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, test } from 'vitest';
import * as z from 'zod';
import { defineCapability } from './define.ts';
import { createService, DefinitionError } from './definition.ts';

const COMMON = {
  name: 'transfer',
  description: 'Sends money',
  side_effect: 'write',
  minimum_scope: ['bank.send'],
  handler: () => ({}),
};

/** The faults of a capability, without what every line begins with. */
function linesOf(more: object): string[] {
  try {
    const capability = defineCapability({ ...COMMON, ...more } as never);
    createService({ id: 'bank', capabilities: [capability] });
  } catch (error) {
    assert.ok(error instanceof DefinitionError, String(error));
    const lines = error.message.split('\n').slice(1);
    return lines.map((line) => line.replace('  capability transfer: ', ''));
  }
  return [];
}

type Row = [name: string, inputs: unknown, line: string];

const OBJECT = 'because a caller sends an object with a property for each input';
const OPEN =
  'takes keys that it does not name, because the service refuses inputs that are not declared';
const NO_DATES = 'because JSON has no dates; write z.iso.date() or z.iso.datetime()';
const NO_OUTPUT = 'because the schema does not say what comes out of it';

const size = (text: string) => text.length;

const ZOD: Row[] = [
  [
    'a text',
    z.string(),
    `inputs is a zod schema of type "string", ${OBJECT}; write z.object({ value: … }), with the string in a property`,
  ],
  [
    'a list',
    z.array(z.string()),
    `inputs is a zod schema of a list, ${OBJECT}; write z.object({ value: … }), with the list in a property`,
  ],
  [
    'a union',
    z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    `inputs is a zod schema of a union, ${OBJECT}; write z.object({ value: … }), with the union in a property`,
  ],
  [
    'an object or null',
    z.object({ a: z.string() }).nullable(),
    `inputs is a zod schema of a value or null, ${OBJECT}; write z.object({ … }) without null`,
  ],
  [
    'any value',
    z.unknown(),
    `inputs is a zod schema of any value, ${OBJECT}; write z.object({ value: … }), with the value in a property`,
  ],
  [
    'other keys',
    z.looseObject({ a: z.string() }),
    `inputs ${OPEN}; write z.object({ …, more: z.record(z.string(), z.unknown()) }), with the other keys in a property`,
  ],
  [
    'a record',
    z.record(z.string(), z.number()),
    `inputs ${OPEN}; write z.object({ …, more: z.record(z.string(), z.unknown()) }), with the other keys in a property`,
  ],
  [
    'a catchall',
    z.object({ a: z.string() }).catchall(z.number()),
    `inputs ${OPEN}; write z.object({ …, more: z.record(z.string(), z.unknown()) }), with the other keys in a property`,
  ],
  [
    'a transform',
    z.object({ a: z.string().transform(size) }),
    `inputs.a has a transform, ${NO_OUTPUT}; write .transform(…).pipe(z.number()), with the schema of what it returns in .pipe()`,
  ],
  [
    'a transform of the whole',
    z.object({ a: z.string() }).transform(({ a }) => ({ a: size(a) })),
    `inputs has a transform, ${NO_OUTPUT}; write the schema without it, and do its work in the handler`,
  ],
  ['a date', z.object({ a: z.date().optional() }), `inputs.a is z.date(), ${NO_DATES}`],
  [
    'a date in a list',
    z.object({ stops: z.array(z.object({ day: z.date() })) }),
    `inputs.stops[].day is z.date(), ${NO_DATES}`,
  ],
  [
    'a date in a record',
    z.object({ days: z.record(z.string(), z.date()) }),
    `inputs.days.* is z.date(), ${NO_DATES}`,
  ],
  [
    'a bigint with a default',
    z.object({ a: z.bigint().default(3n) }),
    'inputs.a is z.bigint(), because JSON has no bigint; write z.int(), or z.string() for integers beyond 2^53-1',
  ],
  [
    'a bigint as a literal',
    z.object({ a: z.literal(3n) }),
    'inputs.a is z.bigint(), because JSON has no bigint; write z.int(), or z.string() for integers beyond 2^53-1',
  ],
  [
    'a Map',
    z.object({ a: z.map(z.string(), z.string()) }),
    'inputs.a is z.map(), because JSON has no Map; write z.record(z.string(), …)',
  ],
  [
    'a Set',
    z.object({ a: z.set(z.string()) }),
    'inputs.a is z.set(), because JSON has no Set; write z.array(…)',
  ],
  [
    'a class',
    z.object({ a: z.instanceof(URL) }),
    'inputs.a is z.custom() or z.instanceof(), because the library cannot say which JSON it takes; write a type that JSON has, with the check in .refine(…), such as z.string().refine(…)',
  ],
  [
    'a function',
    z.object({ a: z.function() }),
    'inputs.a is z.function(), because JSON has no functions; write a type that JSON has, such as z.string()',
  ],
  [
    'undefined',
    z.object({ a: z.void() }),
    'inputs.a is z.void(), because JSON has no undefined; write an optional type, such as z.string().optional()',
  ],
  [
    'other names',
    z
      .object({ a: z.string() })
      .transform(({ a }) => ({ b: a }))
      .pipe(z.object({ b: z.string() })),
    'inputs takes "a" and returns "b", because callers, approvers and the log know an input by one name; write a schema that returns the names it takes, and rename in the handler',
  ],
  [
    'a reserved name',
    z.object({ svc_x: z.string() }),
    'inputs.svc_x is set, because "svc_" is reserved; write a name without this prefix',
  ],
  [
    'a default of another type',
    z.object({ a: z.string().default(5 as never) }),
    'inputs.a.default is 5, because 5 is not of type "string"; write a value of type "string"',
  ],
  [
    'a catch that throws',
    z.object({
      a: z.string().catch(() => {
        throw new Error('none');
      }),
    }),
    'inputs is a zod schema, because its library cannot write the JSON Schema: Dynamic catch values are not supported in JSON Schema; write a schema without what this message names, of types that JSON has',
  ],
  [
    'too many values',
    z.object({ a: z.enum(Array.from({ length: 9_000 }, (_, place) => `value-${place}`)) }),
    'inputs is a zod schema, because the manifest cannot have its JSON Schema: it is longer than 65536 bytes; write a smaller schema, and check the rest in the handler',
  ],
  [
    'an object of schemas',
    { a: z.string() },
    'inputs is an object of schemas, because it is neither a schema nor a list of inputs; write z.object({ … }) around it',
  ],
  [
    'a JSON Schema',
    { type: 'object' },
    'inputs is an object, because it is neither a schema nor a list of inputs; write a schema such as z.object({ … }), or a list of inputs',
  ],
];

const standard = toStandardJsonSchema;

const VALIBOT: Row[] = [
  [
    'no JSON Schema',
    v.object({ a: v.string() }),
    'inputs is a valibot schema, because the declaration follows from a JSON Schema, and this schema has none; write toStandardJsonSchema(v.object({ … })), from "@valibot/to-json-schema"',
  ],
  [
    'a text',
    standard(v.string()),
    `inputs is a valibot schema of type "string", ${OBJECT}; write toStandardJsonSchema(v.object({ value: … })), with the string in a property`,
  ],
  [
    'a union',
    standard(v.variant('a', [v.object({ a: v.literal(1) }), v.object({ a: v.literal(2) })])),
    `inputs is a valibot schema of a union, ${OBJECT}; write toStandardJsonSchema(v.object({ value: … })), with the union in a property`,
  ],
  [
    'an intersection',
    standard(v.intersect([v.object({ a: v.string() }), v.object({ b: v.string() })])),
    `inputs is a valibot schema of an intersection, ${OBJECT}; write toStandardJsonSchema(v.object({ … })) with the properties of all its parts`,
  ],
  [
    'other keys',
    standard(v.looseObject({ a: v.string() })),
    `inputs ${OPEN}; write toStandardJsonSchema(v.object({ …, more: v.record(v.string(), v.unknown()) })), with the other keys in a property`,
  ],
  [
    'a record',
    standard(v.record(v.string(), v.number())),
    `inputs ${OPEN}; write toStandardJsonSchema(v.object({ …, more: v.record(v.string(), v.unknown()) })), with the other keys in a property`,
  ],
  [
    'a transform',
    standard(v.object({ a: v.pipe(v.string(), v.transform(size)) })),
    `inputs.a has v.transform(), ${NO_OUTPUT}; write v.pipe(…, v.number()), with the schema of what it returns at the end`,
  ],
  [
    'a number made of a text',
    standard(v.object({ a: v.pipe(v.string(), v.toNumber()) })),
    `inputs.a has v.toNumber(), ${NO_OUTPUT}; write v.pipe(…, v.number()), with the schema of what it returns at the end`,
  ],
  [
    'a transform of the whole',
    standard(
      v.pipe(
        v.object({ a: v.string() }),
        v.transform(({ a }) => ({ a: size(a) })),
      ),
    ),
    `inputs has v.transform(), ${NO_OUTPUT}; write the schema without it, and do its work in the handler`,
  ],
  [
    'a date in a list',
    standard(v.object({ a: v.object({ b: v.array(v.date()) }) })),
    'inputs.a.b[] is v.date(), because JSON has no dates; write v.pipe(v.string(), v.isoDate()) or v.pipe(v.string(), v.isoTimestamp())',
  ],
  [
    'a bigint',
    standard(v.object({ a: v.bigint() })),
    'inputs.a is v.bigint(), because JSON has no bigint; write v.pipe(v.number(), v.integer()), or v.string() for integers beyond 2^53-1',
  ],
  [
    'a class',
    standard(v.object({ a: v.instance(URL) })),
    'inputs.a is v.instance(), because the library cannot say which JSON it takes; write a type that JSON has, with the check in its pipe, such as v.pipe(v.string(), v.check(…))',
  ],
  [
    'a file',
    standard(v.object({ a: v.file() })),
    'inputs.a is v.file(), because JSON Schema cannot describe it; write a type that JSON has, such as v.string()',
  ],
];

const ARKTYPE: Row[] = [
  [
    'a text',
    type('string'),
    `inputs is an arktype schema of type "string", ${OBJECT}; write type({ value: … }), with the string in a property`,
  ],
  [
    'a union',
    type({ a: 'string' }).or({ b: 'string' }),
    `inputs is an arktype schema of a union, ${OBJECT}; write type({ value: … }), with the union in a property`,
  ],
  [
    'other keys',
    type({ a: 'string', '[string]': 'unknown' }),
    `inputs ${OPEN}; write type({ …, more: "Record<string, unknown>" }), with the other keys in a property`,
  ],
  [
    'a morph',
    type({ a: type('string').pipe(size) }),
    `inputs.a has a morph, ${NO_OUTPUT}; write .pipe(…).to("number"), with the type of what it returns in .to()`,
  ],
  [
    'a morph in a list',
    type({ a: type('string').pipe(size).array() }),
    `inputs.a[] has a morph, ${NO_OUTPUT}; write .pipe(…).to("number"), with the type of what it returns in .to()`,
  ],
  [
    'a morph of the whole',
    type({ a: 'string' }).pipe(({ a }) => ({ a: size(a) })),
    `inputs has a morph, ${NO_OUTPUT}; write the schema without it, and do its work in the handler`,
  ],
  [
    'a date',
    type({ 'a?': 'Date' }),
    'inputs.a is "Date", because JSON has no dates; write "string.date.iso"',
  ],
  [
    'a text that becomes a date',
    type({ a: 'string.date.parse' }),
    'inputs.a is "Date", because JSON has no dates; write "string.date.iso"',
  ],
  [
    'a bigint',
    type({ a: 'bigint' }),
    'inputs.a is "bigint", because JSON has no bigint; write "number.integer", or "string" for integers beyond 2^53-1',
  ],
  [
    'a Map',
    type({ a: 'Map' }),
    'inputs.a is "Map", because JSON has no Map; write "Record<string, …>"',
  ],
];

const LIBRARIES = { zod: ZOD, valibot: VALIBOT, arktype: ARKTYPE };

for (const [library, rows] of Object.entries(LIBRARIES)) {
  describe(`createService() reports inputs in ${library}:`, () => {
    for (const [name, inputs, line] of rows) {
      test(name, () => assert.deepEqual(linesOf({ inputs }), [line]));
    }
  });
}

test('createService() reports every wrong property of a schema', () => {
  const inputs = z.object({ a: z.date(), b: z.string(), c: z.bigint() });

  const lines = linesOf({ inputs });

  assert.deepEqual(
    lines.map((line) => line.replace(/,.*/, '')),
    ['inputs.a is z.date()', 'inputs.c is z.bigint()'],
  );
});

test('createService() reports an output in the same words', () => {
  const outputs: [output: unknown, line: string][] = [
    [z.object({ at: z.date() }), `output.at is z.date(), ${NO_DATES}`],
    [
      z.array(z.string()),
      'output is a zod schema of a list, because a caller gets an object with a property for each value; write z.object({ value: … }), with the list in a property',
    ],
    [
      { a: z.string() },
      'output is an object of schemas, because it is neither a schema nor { type, fields }; write z.object({ … }) around it',
    ],
  ];

  for (const [output, line] of outputs) assert.deepEqual(linesOf({ output }), [line]);
});

test('createService() takes an output with keys that it does not name', () => {
  for (const output of [
    z.looseObject({ a: z.string() }),
    standard(v.record(v.string(), v.any())),
  ]) {
    assert.deepEqual(linesOf({ output }), []);
  }
});

test('createService() reports a library that it does not know', () => {
  const validate = (value: unknown) => ({ value });
  const fail = () => {
    throw new Error('no JSON for that\nat line 7');
  };
  const acme = (more: object) => ({
    '~standard': { version: 1, vendor: 'acme', validate, ...more },
  });

  const lines = [{}, { jsonSchema: { input: fail, output: fail } }].flatMap((more) =>
    linesOf({ inputs: acme(more) }),
  );

  assert.deepEqual(lines, [
    'inputs is an acme schema, because the declaration follows from a JSON Schema, and this schema has none; write a schema of a library that implements Standard JSON Schema, such as z.object({ … })',
    'inputs is an acme schema, because its library cannot write the JSON Schema: no JSON for that; write a schema without what this message names, of types that JSON has',
  ]);
});

test('createService() names what stands beside a schema by the name of its input', () => {
  const inputs = z.object({ account: z.string() });
  const resolution = { mode: 'backend_resolved', resolver_ref: 'accounts' };

  assert.deepEqual(linesOf({ inputs, input_details: { acount: {} } }), [
    'input_details.acount is set, because the schema has no such input; write "account"',
  ]);
  assert.deepEqual(linesOf({ inputs, input_details: { other: {} } }), [
    'input_details.other is set, because the schema has no such input; write one of "account"',
  ]);
  const [line = ''] = linesOf({ inputs, input_details: { account: { resolution } } });
  assert.match(
    line,
    /^input_details\.account\.resolution is an object, because no resolver "accounts"/,
  );
});
