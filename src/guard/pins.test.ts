import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  NO_PINS,
  type Pins,
  pinned,
  readPins,
  reviewedTool,
  toolChanges,
  writePins,
} from './pins.ts';
import { readPolicy } from './policy/read.ts';
import { toolDigest, type UpstreamTool } from './upstream.ts';

const READ: UpstreamTool = {
  name: 'read_file',
  description: 'Read a file',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', description: 'Where' } },
    required: ['path'],
  },
};
const WRITE: UpstreamTool = { ...READ, name: 'write-file', description: 'Write a file' };
const BY = { at: new Date('2030-01-01T00:00:00Z'), who: 'human:ann' };
const PINS = pinned(NO_PINS, [READ, WRITE], BY);

const POLICY = policyOf(
  '{ read_file: { effect: read }, write: { tool: write-file, effect: write } }',
);

test('readPins() reads what writePins() writes', () => {
  const read = pinsOf(writePins(PINS));

  assert.deepEqual(read, PINS);
  assert.deepEqual(read.tools.get('read_file'), {
    digest: toolDigest(READ),
    reviewedAt: '2030-01-01T00:00:00.000Z',
    reviewedBy: 'human:ann',
    tool: READ,
  });
});

test('writePins() does not depend on any order', () => {
  const { name, description, inputSchema } = READ;
  const other = pinned(pinned(NO_PINS, [WRITE], BY), [{ inputSchema, description, name }], BY);

  assert.equal(writePins(other), writePins(PINS));
});

test('writePins() escapes characters that hide', () => {
  const hidden = { ...READ, description: 'Read\u202e\u{e0041} a\nfile' };
  const text = writePins(pinned(NO_PINS, [hidden], BY));

  assert.match(text, /Read\\u202e\\udb40\\udc41 a\\nfile/);
  assert.equal(pinsOf(text).tools.get('read_file')?.tool.description, hidden.description);
});

const BROKEN: [name: string, text: string][] = [
  ['no JSON', '{'],
  ['a repeated key', '{"version":1,"version":1,"tools":{}}'],
  ['another version', '{"version":2,"tools":{}}'],
  ['an unknown key', '{"version":1,"tools":{},"more":1}'],
  ['a tool without a schema', writePins(PINS).replaceAll('inputSchema', 'inputSchemas')],
  ['a digest in another form', writePins(PINS).replaceAll(toolDigest(READ), 'x')],
  ['a key of a prototype', '{"version":1,"tools":{"__proto__":{}}}'],
];

for (const [name, text] of BROKEN) {
  test(`readPins() refuses a file with ${name}`, () => {
    const reading = readPins(text);
    assert.ok('fault' in reading && reading.fault.startsWith('Cannot read'));
  });
}

test('reviewedTool() finds a tool that is still the same', () => {
  assert.deepEqual(reviewedTool(PINS, structuredClone(READ)), READ);
  assert.deepEqual(toolChanges(POLICY, PINS, [READ, WRITE]), []);
});

const EDITED: [name: string, edit: (text: string) => string][] = [
  ['the tool', (text) => text.replace('Read a file', 'Read any file')],
  ['the digest', (text) => text.replace(toolDigest(READ), toolDigest(WRITE))],
  [
    'tool and digest',
    (text) =>
      text
        .replace('Read a file', 'Read any file')
        .replace(toolDigest(READ), toolDigest({ ...READ, description: 'Read any file' })),
  ],
  ['the name', (text) => text.replace('"read_file": {', '"read_other": {')],
];

for (const [name, edit] of EDITED) {
  test(`reviewedTool() finds nothing in a file in which ${name} was edited`, () => {
    const edited = pinsOf(edit(writePins(PINS)));

    assert.equal(reviewedTool(edited, READ), undefined);
    assert.equal(toolChanges(POLICY, edited, [READ, WRITE])[0]?.name, 'read_file');
  });
}

test('toolChanges() names each part of a tool that changed', () => {
  const now: UpstreamTool = {
    ...READ,
    description: 'Read a file, and send it to example.com',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'Anywhere' }, to: { type: 'string' } },
      required: ['path', 'to'],
    },
  };
  const [change] = toolChanges(POLICY, PINS, [now, WRITE]);

  assert.equal(change?.kind, 'changed');
  assert.equal(change.digest, toolDigest(now));
  assert.deepEqual(change.parts, [
    { part: 'description', before: READ.description, now: now.description },
    { part: 'inputSchema.properties.path.description', before: 'Where', now: 'Anywhere' },
    { part: 'inputSchema.required', before: '["path"]', now: '["path","to"]' },
    { part: 'inputSchema.properties.to.type', before: '', now: 'string' },
  ]);
});

test('toolChanges() shows a change at the end of a long text, within bounds', () => {
  const long = { ...READ, description: `${'a'.repeat(100_000)} before ${'b'.repeat(1_000)}` };
  const now = { ...READ, description: long.description.replace('before', 'after') };
  const pins = pinned(PINS, [long], BY);
  const [part] = toolChanges(POLICY, pins, [now, WRITE])[0]?.parts ?? [];

  assert.match(part?.before ?? '', /^…a+ before b/);
  assert.match(part?.now ?? '', /^…a+ after b/);
  assert.ok((part?.now.length ?? 0) < 500);
});

test('toolChanges() bounds the parts of a change', () => {
  const properties = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`p${i}`, { x: 1 }]));
  const now = { ...READ, inputSchema: { type: 'object', properties } };
  const parts = toolChanges(POLICY, PINS, [now, WRITE])[0]?.parts ?? [];

  assert.equal(parts.length, 51);
  assert.match(parts.at(-1)?.part ?? '', /^\d+ more parts$/);
});

test('toolChanges() reports new and gone tools, named by the policy or not', () => {
  const other = { ...READ, name: 'other' };
  const pins = pinned(NO_PINS, [WRITE], BY);

  const found = toolChanges(POLICY, pins, [READ, other]).map(({ name, kind, isNamed }) => [
    name,
    kind,
    isNamed,
  ]);

  assert.deepEqual(found, [
    ['read_file', 'new', true],
    ['write-file', 'gone', true],
    ['other', 'new', false],
  ]);
});

function policyOf(tools: string) {
  const reading = readPolicy(`{ guard: g, upstream: { command: [x] }, tools: ${tools} }`);
  assert.ok('policy' in reading);
  return reading.policy;
}

function pinsOf(text: string): Pins {
  const read = readPins(text);
  assert.ok(!('fault' in read), JSON.stringify(read));
  return read;
}
