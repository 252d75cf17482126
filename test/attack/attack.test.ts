/**
 * `writ attack` at the showcase: nothing is broken, everything applies, and no secret is printed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CASES } from '../../src/attack/run.ts';
import { jsonLines } from '../cli/run.ts';
import { type Desk, openDesk } from '../client/desk.ts';
import { AGENT, ALICE, BOB, onEachStore } from '../world.ts';
import { attack, brokenIn, type Line, WHOLE_RUN_MS } from './run.ts';

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
