/**
 * The guides for operators, typed word for word: guard what exists, verify the log, operate a service, scale out.
 *
 * @module
 */

import { test } from 'vitest';
import { freshDatabase } from '../support/postgres.ts';
import { missingTool, walk } from './walk.ts';

/** Only to end a walk that hangs. */
const timeout = 240_000;

/** Each guide, and the tools that it needs besides Node. */
const GUIDES = {
  'docs/guides/guard-what-exists.md': ['script'],
  'docs/guides/verify-the-log.md': ['curl'],
  'docs/guides/operate-a-service.md': ['curl'],
} as const;

for (const [guide, tools] of Object.entries(GUIDES)) {
  const missing = missingTool(...tools);
  const name = `${guide} goes as it says`;
  test.skipIf(missing)(
    missing ? `${name} (not run: ${missing} is not installed)` : name,
    { timeout },
    () => walk(guide),
  );
}

test('docs/guides/scale-out-on-postgresql.md goes as it says', { timeout }, async () => {
  const { url } = await freshDatabase();

  await walk('docs/guides/scale-out-on-postgresql.md', { env: { DATABASE_URL: url } });
});
