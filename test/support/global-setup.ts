/**
 * Once per run of the suite: a real PostgreSQL, whose address every test can ask for, and a folder for
 * what services keep of their user, so that none writes into the home of whoever runs the tests.
 *
 * `TEST_DATABASE_URL` names a server of one's own instead; its user must be allowed to create
 * databases.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { memoryDisk } from './memory-disk.ts';
import { PostgresMissing, startPostgres } from './postgres.ts';

declare module 'vitest' {
  // Merged into vitest's own interface, which is how it types `inject()`.
  interface ProvidedContext {
    /** Where the server of the suite is, or why there is none. */
    postgres: { readonly url?: string; readonly missing?: string };
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Before any worker is started: they and what they start inherit it.
  const state = mkdtempSync(join(tmpdir(), 'writ-state-'));
  process.env.XDG_STATE_HOME = state;
  const stop = await database(project);
  return async () => {
    await stop();
    rmSync(state, { recursive: true, force: true });
  };
}

async function database(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    project.provide('postgres', { url: given });
    // Imported late: it imports sources, which need the compiled ones here, and a new clone has none.
    return async () => (await import('./empty-store.ts')).dropKept(given);
  }

  // The tests on this server kill its clients, never the machine, so its data may lie in memory.
  try {
    const { url, stop } = await startPostgres(memoryDisk());
    project.provide('postgres', { url });
    return stop;
  } catch (error) {
    if (!(error instanceof PostgresMissing) || process.env.CI) throw error;
    project.provide('postgres', { missing: error.message });
    return async () => {};
  }
}
