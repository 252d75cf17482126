/**
 * The pages about the guard have every field of a policy, and the policy of the example.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { blocksOf } from '../guides/walk.ts';

test('docs/guides/guard-what-exists.md shows the policy of examples/guard', () => {
  const blocks = blocksOf(readFileSync('docs/guides/guard-what-exists.md', 'utf8'));

  const shown = blocks.find(({ name }) => name === 'writ-guard.yaml');

  assert.equal(shown?.text, readFileSync('examples/guard/writ-guard.yaml', 'utf8'));
});

test('docs/guard.md names every field of a policy', () => {
  const page = readFileSync('docs/guard.md', 'utf8');
  const schema = JSON.parse(readFileSync('docs/guard.schema.json', 'utf8'));

  const fields = fieldsOf(schema);

  assert.ok(fields.length > 30);
  const missing = fields.filter((field) => !new RegExp(`[\`{ ]${field}[\`:]`).test(page));
  assert.deepEqual(missing, []);
});

/** The names of all properties in a JSON Schema. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { properties?: object };
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(fieldsOf)];
}
