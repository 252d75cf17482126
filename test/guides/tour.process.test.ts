/**
 * The tour, walked word for word against the compiled travel desk, in each shell that people use.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { shellTraps } from '../support/shell-words.ts';
import { blocksOf, missingTool, walk } from './walk.ts';

const TOUR = 'docs/tour.md';

for (const shell of ['bash', 'zsh'] as const) {
  const missing = missingTool(shell, 'curl');
  const name = `${TOUR} goes through the desk as it says in ${shell}`;
  test.skipIf(missing)(
    missing ? `${name} (not run: ${missing} is not installed)` : name,
    { timeout: 60_000 },
    async () => {
      const desk = await addressOf(launch([DESK], temporaryFolder(), { WRIT_LOG_LEVEL: 'silent' }));

      await walk(TOUR, { shell, port: Number(new URL(desk).port) });
    },
  );
}

test(`${TOUR} has no command that zsh reads differently`, () => {
  const scripts = blocksOf(readFileSync(TOUR, 'utf8')).filter(({ language }) => language === 'sh');

  assert.ok(scripts.length > 10);
  assert.deepEqual(
    scripts.flatMap(({ text }) => shellTraps(text)),
    [],
  );
});
