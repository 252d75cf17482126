/**
 * `writ approvals` with text that would mislead the person at the terminal, and terms that were not reviewed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Decision } from '../../src/protocol/decision.ts';
import { approvals, portOf } from './at-terminal.ts';
import { BOB, CAROL, startDesk } from './desk.ts';

const desk = await startDesk();
const url = await portOf(desk);
const bob = { url, key: BOB };

async function asked(capability: string, parameters: object) {
  return desk.asked(await desk.token({ subject: 'agent:a' }), capability, parameters);
}

const digestIn = (out: string) => /Parameters {2}([0-9a-f]{64})/.exec(out)?.[1] ?? '';
const statusOf = async (id: string) => (await desk.read(BOB, id)).body.status;

test('folds long values itself, so that none begins a line like a fact of ours', async () => {
  const fill = (width: number) => ' '.repeat(width);
  const values = [40, 80, 100, 200].flatMap((columns) =>
    Array.from({ length: 40 }, (_, less) => `${fill(columns - less)}Terms  2 of 2`),
  );
  const wide = `${'漢'.repeat(70)}Terms  2 of 2`;

  for (const columns of [undefined, 40, 100]) {
    for (const note of [values.join(''), wide]) {
      const id = await asked('sign', { note });
      const isTerminal = { out: true, err: true, columns };
      const { status, out } = await approvals(['show', id], {
        ...bob,
        isTerminal,
        env: { WRIT_CLIENT_CREDENTIAL: BOB, NO_COLOR: '1' },
      });
      assert.equal(status, 0);
      const lines = out.split('\n').filter((line) => !line.startsWith('Page'));
      for (const line of lines) {
        const width = [...line].reduce((sum, each) => sum + (each === '漢' ? 2 : 1), 0);
        assert.ok(width <= (columns ?? 80), line);
        assert.doesNotMatch(line, /^ *Terms {2}2 of 2/);
      }
    }
  }
});

test('--json prints nothing that acts on a terminal, and the same values', async () => {
  const note = 'json\u009b2J\u202e\u{e0041}';
  const id = await asked('sign', { note });

  const { status, out } = await approvals(['show', id, '--json'], bob);

  assert.equal(status, 0);
  assert.doesNotMatch(out, /[\u009b\u202e\u{e0041}]/u);
  const decision: Decision = JSON.parse(out);
  assert.equal(decision.request.parameters.note, note);
});

test('does not take terms of another approver that a script did not name', async () => {
  const id = await asked('pair', { note: 'script' });
  const digest = digestIn((await approvals(['show', id], bob)).out);
  const yes = ['approve', id, '--yes', '--digest', digest];
  const carol = { url, key: CAROL };
  const answers = ['approve'];
  await approvals(['approve', id, '--expires-in', '300'], { ...bob, answers });

  const unnamed = await approvals(yes, carol);
  const named = await approvals([...yes, '--expires-in', '300'], carol);

  assert.equal(unnamed.status, 1);
  assert.match(unnamed.err, /another approver chose the terms ".* 5 min .*"; .* --expires-in 300/);
  assert.equal(named.status, 0, named.err);
  assert.equal(await statusOf(id), 'approved');
});

test('shows the request where the person reads, also when standard output is a file', async () => {
  const id = await asked('sign', { note: 'unread' });
  const isTerminal = { out: false, err: true };

  const { status, out, err } = await approvals(['approve', id], {
    ...bob,
    isTerminal,
    answers: ['approve'],
  });

  assert.equal(status, 0);
  assert.match(err, /What happens[\s\S]*unread[\s\S]*Type approve to confirm: $/);
  assert.match(out, /^\nApproved +apr_/);
});
