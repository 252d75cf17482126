/**
 * Once per run of the suite: a real PostgreSQL, whose address every test can ask for.
 *
 * `TEST_DATABASE_URL` names a server of one's own instead; its user must be allowed to create
 * databases.
 *
 * @module
 */

import type { TestProject } from 'vitest/node';
import { dropKept } from './empty-store.ts';
import { startPostgres } from './postgres.ts';

declare module 'vitest' {
  // Merged into vitest's own interface, which is how it types `inject()`.
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    project.provide('postgresUrl', given);
    return () => dropKept(given);
  }

  const postgres = await startPostgres();
  project.provide('postgresUrl', postgres.url);
  return postgres.stop;
}
