/**
 * `writ attack`: nothing is broken at the showcase, and each weakness of a proxy before it is reported by its cases.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CASES } from '../../src/attack/run.ts';
import { atService, jsonLines, type RunOptions } from '../cli/run.ts';
import { type Desk, openDesk } from '../client/desk.ts';
import { AGENT, ALICE, BOB, onEachStore } from '../world.ts';
import { openWeakProxy } from './weak-proxy.ts';
import { WEAKNESSES } from './weaknesses.ts';

/** A whole run waits for the end of a token and for a checkpoint, and holds connections for seconds. */
const WHOLE_RUN_MS = 180_000;

const SECRETS = { WRIT_CLIENT_OTHER_CREDENTIAL: AGENT, WRIT_CLIENT_APPROVER_CREDENTIAL: BOB };

function attack(url: string, args: readonly string[], more: RunOptions = {}) {
  const options = { credential: ALICE, env: SECRETS, ...more };
  return atService(url)(['attack', '--url', url, ...args], options);
}

interface Line {
  readonly case: string;
  readonly verdict: string;
  readonly evidence: string;
}

function brokenIn(lines: readonly Line[]): string[] {
  return lines
    .filter(({ verdict }) => verdict === 'broken')
    .map((line) => `${line.case}: ${line.evidence}`);
}

onEachStore(
  ({ url }) => openDesk({ store: url }),
  (desk: () => Desk) => {
    test('writ attack finds nothing broken at the showcase, with effects, and ends every token', {
      timeout: WHOLE_RUN_MS,
    }, async () => {
      const ran = await attack(desk().url, ['--with-effects', '--yes', '--json']);
      const lines = jsonLines(ran);
      const [sum] = lines.slice(-1);

      assert.deepEqual(brokenIn(lines), []);
      assert.equal(ran.status, 0, ran.err);
      assert.equal(lines.length, CASES.length + 1);
      assert.equal(sum.tokens_left, 0);
      // Only what this desk does not have: it has rotated no key, and nothing that runs is left out.
      const idle = lines.filter(({ verdict }) => verdict === 'not applicable');
      assert.deepEqual(
        idle.map((line: Line) => `${line.case}: ${line.evidence}`),
        [],
      );
      for (const secret of [ALICE, AGENT, BOB]) assert.ok(!`${ran.out}${ran.err}`.includes(secret));
      assert.doesNotMatch(`${ran.out}${ran.err}`, /eyJ[\w-]{10}/, 'a token is printed');
    });
  },
);

const desk = await openDesk();

for (const weakness of WEAKNESSES) {
  const { name, breaks, beside = [], withEffects } = weakness;
  test(`writ attack reports that ${name}`, { timeout: WHOLE_RUN_MS }, async () => {
    const url = await openWeakProxy(desk.url, weakness);
    const only = [...new Set([...breaks, ...beside])].join(',');
    const effects = withEffects ? ['--with-effects', '--yes'] : [];
    const ran = await attack(url, ['--only', only, '--json', ...effects]);
    const lines = jsonLines(ran);

    const found = lines
      .filter(({ verdict }) => verdict === 'broken')
      .map((line: Line) => line.case);
    assert.deepEqual(found.sort(), [...breaks].sort(), brokenIn(lines).join('\n') || ran.out);
    assert.equal(ran.status, 1);
  });
}
