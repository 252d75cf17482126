/**
 * The page of a capability's fields: it has every field, and each has a sentence and an example that its schema takes.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import { describe, test } from 'vitest';
import * as z from 'zod';
import { documentedFields } from '../../scripts/fields-page.ts';
import { usd } from '../../src/index.ts';
import { CapabilityDeclaration } from '../../src/protocol/capability.ts';

const FIELDS = documentedFields();

test('documentedFields() has every field that a declaration has and an author writes', () => {
  const paths = FIELDS.map(({ path }) => path.replace('[]', ''));
  const made = ['input_schema', 'output_schema'];
  const missing = Object.keys(CapabilityDeclaration.shape).filter((name) => !paths.includes(name));

  assert.deepEqual(missing, made);
  for (const nested of ['inputs[].resolution.mode', 'composition.steps[].id', 'approval.preview']) {
    assert.ok(
      FIELDS.some(({ path }) => path === nested),
      nested,
    );
  }
});

describe('documentedFields() has for', () => {
  for (const { path, sentence, example, type, schema } of FIELDS) {
    test(`${path} a type, a sentence, and an example that is taken`, () => {
      assert.match(sentence, /^[A-Z`].*\.$/);
      assert.match(type, /\w/);
      const value = runInNewContext(`(${example})`, { z, usd });
      const { error } = schema?.safeParse(structuredClone(value)) ?? {};
      assert.equal(error, undefined);
    });
  }
});
