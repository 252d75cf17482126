/**
 * `writ attack` can say `broken`: each weakness of a proxy before a real service is reported, by the right cases alone.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CASES } from '../../src/attack/run.ts';
import { jsonLines } from '../cli/run.ts';
import { openDesk } from '../client/desk.ts';
import { attack, brokenIn, type Line, WHOLE_RUN_MS } from './run.ts';
import { openWeakProxy } from './weak-proxy.ts';
import { WEAKNESSES } from './weaknesses.ts';

/** A quick read, so that no run has to find one. */
const SEARCH = [
  '--capability',
  'search_flights',
  '--parameters',
  '{"origin":"SEA","destination":"SFO","date":"2026-12-01"}',
];

const desk = await openDesk();

test('every case is reported by a weakness', () => {
  const proved = new Set(WEAKNESSES.flatMap(({ breaks }) => breaks));

  assert.deepEqual(
    CASES.map(({ id }) => id).filter((id) => !proved.has(id)),
    [],
  );
});

for (const weakness of WEAKNESSES) {
  const { name, breaks, beside = [], withEffects, isEachAlone } = weakness;
  const effects = withEffects ? ['--with-effects', '--yes'] : [];
  const runs = isEachAlone ? breaks.map((id) => [id]) : [[...breaks]];
  test(`writ attack reports that ${name}`, { timeout: WHOLE_RUN_MS }, async () => {
    for (const expected of runs) {
      const url = await openWeakProxy(desk.url, weakness);
      const only = [...new Set([...expected, ...beside])].join(',');
      const ran = await attack(url, ['--only', only, '--json', ...SEARCH, ...effects]);
      const lines = jsonLines(ran);

      const broken = lines.filter(({ verdict }) => verdict === 'broken');
      const found = broken.map((line: Line) => line.case);
      assert.deepEqual(found.sort(), expected.sort(), brokenIn(lines).join('\n') || ran.out);
      assert.equal(ran.status, 1);
    }
  });
}
