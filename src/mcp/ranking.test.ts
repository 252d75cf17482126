import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CapabilityDeclaration } from '../protocol/capability.ts';
import { inRank, scoreOf, searchQuery } from './ranking.ts';

function declared(description: string, inputs: readonly string[] = []): CapabilityDeclaration {
  return CapabilityDeclaration.parse({
    description,
    contract_version: '1.0.0',
    inputs: inputs.map((name) => ({ name, type: 'string' })),
    output: { type: 'thing', fields: [] },
    side_effect: { type: 'read' },
    minimum_scope: [],
  });
}

const FILES: Readonly<Record<string, CapabilityDeclaration>> = {
  read_text_file: declared('Reads a file as text', ['path', 'head']),
  write_file: declared('Creates or overwrites a file', ['path', 'content']),
  delete_branch: declared('Removes a branch of a repository', ['branchName']),
  list_issues: declared('Shows the open issues of the repository', ['repo', 'labels']),
};

function ranked(text: string): string[] {
  const query = searchQuery(text);
  return Object.entries(FILES)
    .map(([name, each]) => ({ name, score: scoreOf(query, name, each) }))
    .filter(({ score }) => score > 0)
    .sort(inRank)
    .map(({ name }) => name);
}

const QUERIES: [query: string, found: string[]][] = [
  ['write a file', ['write_file', 'read_text_file']],
  ['WRITE_FILE', ['write_file', 'read_text_file']],
  ['delete the branch', ['delete_branch']],
  ['branch name', ['delete_branch']],
  ['repositories', ['list_issues']],
  ['repository', ['list_issues', 'delete_branch']],
  ['open an issue', ['list_issues']],
  ['labels', ['list_issues']],
  ['the', ['list_issues']],
  ['of', ['delete_branch', 'list_issues']],
  ['zeppelin', []],
  ['constructor', []],
  ['', []],
];
for (const [query, found] of QUERIES) {
  test(`scoreOf() ranks the capabilities for "${query}"`, () => {
    assert.deepEqual(ranked(query), found);
  });
}

test('scoreOf() puts the capability first whose name is the query', () => {
  const query = searchQuery('pay');
  const busy = declared('Pay, pay and pay', ['pay', 'pay_more', 'paying']);

  const own = scoreOf(query, 'pay', declared('Moves money'));

  assert.ok(own > scoreOf(query, 'pay_now', busy));
});

test('searchQuery() counts a word once, and sixteen words', () => {
  const many = Array.from({ length: 40 }, (_, each) => `word${each}`).join(' ');

  assert.deepEqual(searchQuery('pay PAY pays').words, ['pay']);
  assert.equal(searchQuery(many).words.length, 16);
});

test('scoreOf() reads a bounded part of a description and of the inputs', () => {
  const long = declared(
    `${'x '.repeat(2_000)}zeppelin`,
    Array.from({ length: 65 }, (_, each) => (each === 64 ? 'zeppelin' : `input${each}`)),
  );

  assert.equal(scoreOf(searchQuery('zeppelin'), 'fly', long), 0);
  assert.ok(scoreOf(searchQuery('zeppelin'), 'fly', declared(`${'x '.repeat(1_990)}zeppelin`)) > 0);
});
