import assert from 'node:assert/strict';
import { test } from 'vitest';
import { toolDigest, type UpstreamTool } from './upstream.ts';

const TOOL: UpstreamTool = {
  name: 'read_file',
  description: 'Read a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
};

test('the digest of a tool does not depend on the order of its keys', () => {
  const { name, description, inputSchema } = TOOL;
  assert.equal(toolDigest({ inputSchema, description, name }), toolDigest(TOOL));
  assert.equal(toolDigest({ ...TOOL, title: undefined }), toolDigest(TOOL));
});

test('the digest of a tool changes with everything that is shown of it', () => {
  const changes: Partial<UpstreamTool>[] = [
    { name: 'read_files' },
    { title: 'Read' },
    { description: 'Read a file.' },
    { inputSchema: { type: 'object' } },
    { outputSchema: { type: 'object' } },
    { annotations: { readOnlyHint: true } },
    { route: { method: 'GET' } },
  ];
  const digests = changes.map((change) => toolDigest({ ...TOOL, ...change }));
  assert.equal(new Set([toolDigest(TOOL), ...digests]).size, changes.length + 1);
});
