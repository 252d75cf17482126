import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parseSync } from 'vite';
import { describe, test } from 'vitest';
import type { CapabilityDeclaration } from '../../protocol/capability.ts';
import type { Manifest } from '../../protocol/trust.ts';
import { declarationsOf } from './declarations.ts';

const CAPABILITY: CapabilityDeclaration = {
  description: 'Answers',
  contract_version: '1.0.0',
  inputs: [],
  output: { type: 'answer', fields: [] },
  side_effect: { type: 'read' },
  minimum_scope: ['a'],
  kind: 'atomic',
  response_modes: ['unary'],
  delegable: true,
};

function manifestOf(id: string, capabilities: Record<string, Partial<CapabilityDeclaration>>) {
  const whole = Object.entries(capabilities).map(([name, more]) => [
    name,
    { ...CAPABILITY, ...more },
  ]);
  return {
    manifest_metadata: { version: '0.24', sha256: '', issued_at: '', expires_at: '' },
    service_identity: { id, jwks_uri: '', issuer_mode: 'self' },
    trust: { level: 'signed' },
    capabilities: Object.fromEntries(whole),
  } satisfies Manifest;
}

/** The kinds of the statements, and the names that they declare. Throws where the text is not source. */
function statementsOf(text: string): string[] {
  const { errors, program } = parseSync('types.ts', text);
  assert.deepEqual(errors, [], text);
  return program.body.map((statement) => {
    const declared =
      statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    const name = declared && 'id' in declared && declared.id && 'name' in declared.id;
    return `${declared?.type} ${name && declared.id && 'name' in declared.id ? declared.id.name : ''}`;
  });
}

describe('declarationsOf()', () => {
  test('begins with what it was made from, and ends with one line break', () => {
    const text = declarationsOf(
      manifestOf('travel-desk', { b: {}, a: { contract_version: '2.1.0' }, c: {} }),
    );

    assert.equal(
      text.split('\n', 1)[0],
      '// Made by "writ types" from the manifest of travel-desk, contract versions: 1.0.0, 2.1.0',
    );
    assert.match(text, /[^\n]\n$/);
    assert.deepEqual(statementsOf(text), ['TSInterfaceDeclaration TravelDesk']);
  });

  test('does not depend on the order of the capabilities or on times', () => {
    const one = manifestOf('desk', { a: {}, b: {} });
    const other = manifestOf('desk', { b: {}, a: {} });
    other.manifest_metadata.issued_at = '2026-01-01T00:00:00Z';

    assert.equal(declarationsOf(one), declarationsOf(other));
  });

  test('of a service without capabilities is an empty interface', () => {
    assert.deepEqual(statementsOf(declarationsOf(manifestOf('a', {}))), [
      'TSInterfaceDeclaration A',
    ]);
  });

  for (const [id, name] of [
    ['3d.print/v2', 'Service3dPrintV2'],
    ['record', 'Record'],
    ['a_b:c', 'ABC'],
  ] as const) {
    test(`names the interface of "${id}" ${name}`, () => {
      assert.deepEqual(statementsOf(declarationsOf(manifestOf(id, { a: {} }))), [
        `TSInterfaceDeclaration ${name}`,
      ]);
    });
  }

  test('of inputs by a list has their types, and marks those that may be left out', () => {
    const inputs = [
      { name: 'a', type: 'date', required: true, description: 'A day' },
      { name: 'b', type: 'integer', required: false },
      { name: 'c-d', type: 'string', required: true, default: 'x', allowed_values: ['x', 'y'] },
      { name: 'e', type: 'desk:place', required: true, resolution: { mode: 'clarify' as const } },
      { name: 'f', type: 'toString', required: true },
    ];
    const output = { type: 'answer', fields: ['one', 'two'] };

    const text = declarationsOf(manifestOf('desk', { call: { inputs, output } }));

    assert.ok(
      text.includes(`
    parameters: {
      /** A day */
      a: string;
      b?: number;
      "c-d"?: "x" | "y";
      e?: unknown;
      f: unknown;
    };
    /** Fields: one, two */
    result: { [name: string]: unknown };
`),
      text,
    );
  });

  /** Texts that would end a comment or a string, or give an order to the compiler. */
  const HOSTILE = [
    '*/ export const a = 1; /*',
    '*\u200b/',
    '"; export const a = 1; //',
    '@ts-ignore',
    'a\r\n@ts-nocheck\n/// <reference path="x" />\u2028export {}',
    '\\',
    '`$'.concat('{a}`'),
    "'",
    '\u202e\u0000\ud800',
    '__proto__',
    'constructor',
    'new',
    'get',
    'readonly',
    '[name: string]',
    '',
  ];

  test('of hostile names, values and descriptions declares one interface and nothing else', () => {
    for (const text of HOSTILE) {
      const properties = Object.fromEntries([[text, { description: text, enum: [text] }]]);
      const input_schema = {
        type: 'object' as const,
        properties: { ...properties, a: { $ref: `#/$defs/${text}` } },
        required: [text],
        $defs: Object.fromEntries([[text, { type: 'object', properties }]]),
      };
      const inputs = [{ name: 'a', type: text, required: true, description: text, default: text }];
      const source = declarationsOf(
        manifestOf('desk', {
          a: { description: text, input_schema, output_schema: input_schema },
          b: { description: text, inputs: [{ ...inputs[0], allowed_values: [text] } as never] },
        }),
      );

      const statements = statementsOf(source);
      assert.equal(statements[0], 'TSInterfaceDeclaration Desk', source);
      for (const each of statements.slice(1))
        assert.match(each, /^TSTypeAliasDeclaration DeskType/);
      assert.doesNotMatch(source, /\p{Cf}|\u2028|^\s*(\*|\/\/|\/\*\*)\s*@ts-/mu);
    }
  });

  test('of any JSON as a schema declares one interface and named types, and nothing else', () => {
    const keyword = fc.constantFrom(
      'type',
      'properties',
      'required',
      'items',
      'prefixItems',
      'anyOf',
      'allOf',
      'oneOf',
      'enum',
      'const',
      '$ref',
      '$defs',
      'additionalProperties',
      'description',
      'minItems',
      'a',
    );
    const word = fc.constantFrom('object', 'array', 'string', 'null', '#', '#/$defs/a', '*/', '"');
    const { schema } = fc.letrec((tie) => ({
      schema: fc.dictionary(keyword, tie('value'), { maxKeys: 6 }),
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        word,
        fc.oneof(fc.boolean(), fc.integer(), fc.constant(null), fc.string({ unit: 'binary' })),
        tie('schema'),
        fc.array(tie('value'), { maxLength: 4 }),
      ),
    }));

    return fc.assert(
      fc.property(schema, (found) => {
        const input_schema = { ...(found as object), type: 'object' as const };
        const source = declarationsOf(manifestOf('desk', { a: { input_schema } }));

        const [first, ...others] = statementsOf(source);
        assert.equal(first, 'TSInterfaceDeclaration Desk');
        for (const each of others) assert.match(each, /^TSTypeAliasDeclaration DeskType\d+$/);
      }),
    );
  });

  test('of a long description has its beginning', () => {
    const text = declarationsOf(manifestOf('desk', { a: { description: 'x'.repeat(100_000) } }));

    assert.ok(text.length < 3_000);
    assert.match(text, /xxx…$/m);
  });
});
