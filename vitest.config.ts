import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';

const nodeConditions = defaultServerConditions.filter((name) => name !== 'module');

/** In bytes. The files of a run take less; containers often have a memory disk that is smaller. */
const MEMORY_MIN = 2 ** 30;

/** A disk in memory where there is one: flushes and removals cost nothing there. */
function temporaryFolder(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize >= MEMORY_MIN ? '/dev/shm' : tmpdir();
  } catch {
    return tmpdir();
  }
}

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  // Our own packages' names mean the sources. Tests run on the server side of vite, which does not
  // read `resolve.conditions`. Node, which imports the packages, knows no condition "module".
  ssr: { resolve: { conditions: ['writ-source', ...nodeConditions] } },
  test: {
    // One PostgreSQL for the whole run, whichever projects take part.
    globalSetup: ['test/global-setup.ts'],
    // Only to end a test that hangs: a busy machine must not fail one that is merely slow.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/**/*.process.test.ts'],
          // None of these asks what a power failure leaves; the tests of processes stay on the disk.
          env: { TMPDIR: temporaryFolder() },
          // Shared workers are ten times as fast; in return no test may keep state of the process.
          pool: 'threads',
          isolate: false,
          // Three also where there are two cores: much of the time is spent waiting for a database.
          maxWorkers: 3,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['test/**/*.process.test.ts'],
          // These start and kill processes, so each file has its own, and they take turns.
          pool: 'forks',
          isolate: true,
          fileParallelism: false,
          // They race with the machine itself. The second try of one is named in what is printed.
          retry: 1,
        },
      },
    ],
  },
});
