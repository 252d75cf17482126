import assert from 'node:assert/strict';
import { test } from 'vitest';
import { toolOutput } from './declared.ts';

const TOOL = {
  name: 'look',
  description: '',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object', properties: { found: { type: 'integer' } } },
};

test('the schema of an answer is declared and checked for a tool of MCP', () => {
  const output = toolOutput(TOOL);
  assert.deepEqual(output.fields, ['found']);
  assert.equal(output.schema?.type, 'object');
  assert.equal(output.issues({ found: 'many' }).length, 1);
});

test('the schema of an answer gives only names of fields for an HTTP API', () => {
  const output = toolOutput({ ...TOOL, route: { method: 'GET' } });
  assert.deepEqual(output.fields, ['found']);
  assert.equal(output.schema, undefined);
  assert.deepEqual(output.issues({ found: 'many' }), []);
});
