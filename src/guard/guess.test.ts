import assert from 'node:assert/strict';
import { test } from 'vitest';
import { guessEffect } from './guess.ts';
import type { UpstreamTool } from './upstream.ts';

const TOOL: UpstreamTool = { name: 'look', description: '', inputSchema: { type: 'object' } };

type Row = [name: string, given: Partial<UpstreamTool>, effect: string];

const TABLE: Row[] = [
  ['a tool without claims', {}, 'irreversible'],
  ['a claim of reading', { annotations: { readOnlyHint: true } }, 'read'],
  ['a claim that is no boolean', { annotations: { readOnlyHint: 'true' } }, 'irreversible'],
  ['a denied claim of reading', { annotations: { readOnlyHint: false } }, 'irreversible'],
  ['a claim of adding', { annotations: { destructiveHint: false } }, 'write'],
  ['a claim of destroying', { annotations: { destructiveHint: true } }, 'irreversible'],
  [
    'claims that contradict each other',
    { annotations: { readOnlyHint: true, destructiveHint: true } },
    'irreversible',
  ],
  [
    'a claim that contradicts the name',
    { name: 'file_delete', annotations: { readOnlyHint: true } },
    'irreversible',
  ],
  [
    'a name in camel case that contradicts',
    { name: 'filesDeleteAll', annotations: { readOnlyHint: true } },
    'irreversible',
  ],
  [
    'a name that only begins like a verb',
    { name: 'list_payments', annotations: { readOnlyHint: true } },
    'read',
  ],
  ['GET', { route: { method: 'get' } }, 'read'],
  ['PUT', { route: { method: 'PUT' } }, 'write'],
  ['PATCH', { route: { method: 'PATCH' } }, 'write'],
  ['POST', { route: { method: 'POST' } }, 'irreversible'],
  ['DELETE', { route: { method: 'DELETE' } }, 'irreversible'],
  ['another method', { route: { method: 'MERGE' } }, 'irreversible'],
  [
    'a method before a claim',
    { route: { method: 'POST' }, annotations: { readOnlyHint: true } },
    'irreversible',
  ],
];

for (const [name, given, effect] of TABLE) {
  test(`guessEffect() guesses "${effect}" for ${name}`, () => {
    const guess = guessEffect({ ...TOOL, ...given });
    assert.equal(guess.effect, effect);
    assert.notEqual(guess.why, '');
  });
}
