/**
 * The operator's page, run word for word with real processes: a backup, a rollback, a recovery, a lost mark.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { freePort } from '../support/free-ports.ts';

/** In milliseconds: several services are started and stopped one after the other. */
const SLOW = 180_000;

const page = readFileSync('docs/operating.md', 'utf8');
/** What stands before sets machines up, and is tried by `npm run deploy:try`. */
const rehearsal = page.slice(page.indexOf('\n## Rehearse it\n'));
const steps = [...rehearsal.matchAll(/```sh\n([\s\S]*?)```(?:\n```text\n([\s\S]*?)```)?/g)].map(
  ([, script = '', text = '']) => ({ script, expected: text.split('\n').filter(Boolean) }),
);
const hasTools = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const name = hasTools
  ? 'docs/operating.md recovers a desk as it says'
  : 'docs/operating.md recovers a desk as it says (not run: bash or curl is not installed)';

test.skipIf(!hasTools)(name, { timeout: SLOW }, async () => {
  const folder = temporaryFolder();
  const port = await freePort();
  const script = steps.map((step, index) => `${step.script}\necho; echo "=== ${index}"`).join('\n');
  const shell = spawnSync('bash', ['-c', `${SHELL}\n${script.replaceAll('8420', `${port}`)}`], {
    cwd: folder,
    encoding: 'utf8',
    // A shell that hangs would keep the runner's own timer from coming round.
    timeout: SLOW - 20_000,
    env: {
      PATH: process.env.PATH,
      XDG_STATE_HOME: process.env.XDG_STATE_HOME,
      REPOSITORY: process.cwd(),
    },
  });

  assert.equal(shell.status, 0, shell.stderr + shell.stdout);
  const outputs = shell.stdout.split(/=== \d+\n/);
  assert.ok(steps.length >= 9);
  for (const [index, { expected }] of steps.entries()) {
    for (const text of expected) {
      assert.ok(
        outputs[index]?.replaceAll('\\"', '"').includes(text),
        `step ${index} lacks ${text}:\n${outputs[index]}`,
      );
    }
  }
});

/** Whatever fails, the service that was started last is stopped. */
const SHELL = `set -euo pipefail
service=
trap 'test -z "$service" || kill "$service" 2>/dev/null || true' EXIT`;
