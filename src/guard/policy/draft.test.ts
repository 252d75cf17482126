import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { guessEffect } from '../guess.ts';
import type { UpstreamTool } from '../upstream.ts';
import { capabilityNames, draftPolicy } from './draft.ts';
import { type GuardPolicy, readPolicy } from './read.ts';
import type { UpstreamPolicy } from './upstream-schema.ts';

const COMMAND = [
  'npx',
  '-y',
  '@modelcontextprotocol/server-filesystem',
  './shared',
  'yes',
  '1.0',
  '-1',
  '-.inf',
];

function drafted(name: string, isOffered: boolean, readOnlyHint = true) {
  const annotations = { readOnlyHint };
  const tool: UpstreamTool = {
    name,
    description: '',
    inputSchema: { type: 'object' },
    annotations,
  };
  return { tool, guess: guessEffect(tool), isOffered };
}

test('draftPolicy() writes a small file', () => {
  const text = draftPolicy({
    id: 'files',
    upstream: { command: COMMAND },
    tools: [drafted('read_file', true), drafted('files/edit', true, false), drafted('list', false)],
  });

  assert.equal(
    text,
    `# The policy of a guard: only the tools listed here are offered.
guard: files
upstream:
  command: [npx, -y, "@modelcontextprotocol/server-filesystem", ./shared, "yes", "1.0", "-1", "-.inf"]
tools:
  read_file: { effect: read } # the upstream claims that it only reads
  files_edit: { tool: files/edit, effect: irreversible, approval: always, review: yes } # the upstream claims nothing about it; check the effect, then delete "review"
  # Not offered. Check the effect of a tool before you offer it.
  # list: { effect: read } # the upstream claims that it only reads
`,
  );
});

test('draftPolicy() writes what readPolicy() reads', () => {
  const upstreams: UpstreamPolicy[] = [
    { command: COMMAND, env: ['GITHUB_TOKEN'], deadline: '30s' },
    {
      url: 'https://mcp.example.com/mcp?a=b',
      credential: { header: 'Authorization', value: 'Bearer $TOKEN' },
    },
    { openapi: './a b.yaml', origin: 'http://127.0.0.1:1', inside: true, headers: ['X-Tenant'] },
  ];
  for (const upstream of upstreams) {
    const { policy } = read(draftPolicy({ id: 'g', upstream, tools: [drafted('a', false)] }));
    assert.deepEqual(policy.upstream, upstream);
    assert.equal(policy.tools.size, 0);
  }
});

test('draftPolicy() offers exactly the chosen tools, however they are called', () => {
  const name = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
    fc.constantFrom(
      'a\n  evil: { effect: read }',
      '# x',
      'a: b',
      '"',
      'x\u2028y',
      '\u{1f600}',
      'é',
    ),
    fc.constantFrom('constructor', 'a/b', 'a_b', 'a.b', '9', '__proto__', '\u202etxt', '}, {'),
  );
  const tools = fc.uniqueArray(fc.tuple(name, fc.boolean(), fc.boolean()), {
    selector: ([each]) => each,
  });
  fc.assert(
    fc.property(tools, (rows) => {
      const text = draftPolicy({
        id: 'g',
        upstream: { command: COMMAND },
        tools: rows.map(([each, isOffered, isRead]) => drafted(each, isOffered, isRead)),
      });
      const found = [...read(text).policy.tools.values()].map(({ tool }) => tool);
      assert.deepEqual(
        found,
        rows.filter(([, isOffered]) => isOffered).map(([each]) => each),
      );
      assert.doesNotMatch(text, /[^\P{C}\n]|[\u2028\u2029]/u);
    }),
  );
});

test('draftPolicy() leaves out a name that is too long', () => {
  const text = draftPolicy({
    id: 'g',
    upstream: { command: COMMAND },
    tools: [drafted('x'.repeat(257), true)],
  });

  assert.equal(read(text).policy.tools.size, 0);
});

test('capabilityNames() keeps names that fit, and makes the others different', () => {
  const long = `${'x'.repeat(130)}`;
  const names = capabilityNames(['a/b', 'a_b', 'a b', '9', '', '/', long, `${long}y`]);

  assert.deepEqual(
    [...names.values()],
    ['a_b', 'a_b_2', 'a_b_3', 'tool_9', 'tool', 'tool_2', 'x'.repeat(128), `${'x'.repeat(126)}_2`],
  );
  assert.equal(names.get('a_b'), 'a_b');
});

function read(text: string): { policy: GuardPolicy } {
  const reading = readPolicy(text);
  assert.ok('policy' in reading, `${JSON.stringify(reading)}\n${text}`);
  return reading;
}
