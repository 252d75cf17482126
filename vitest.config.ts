import { tmpdir } from 'node:os';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { memoryDisk } from './test/memory-disk.ts';

const nodeConditions = defaultServerConditions.filter((name) => name !== 'module');

const TMPDIR = memoryDisk() ?? tmpdir();

/**
 * Files that take half a minute or more, of each project the longest first. They start first and in this
 * order, so that the other workers have work until the last of them ends. A new checkout has no durations,
 * and vitest would order its files by size, but some of these only call a long contract.
 */
export const LONGEST_FILES = [
  'test/store.test.ts',
  'test/store-races.test.ts',
  'test/log/recover.test.ts',
  'test/attack/attack.test.ts',
  'test/surfaces/scenarios.test.ts',
  'test/attack/weaknesses.test.ts',
  'src/storage/fsck/tampering.test.ts',
  'test/invoke/hostile.test.ts',
  'test/compose/ledger.test.ts',
  'test/log/backup.test.ts',
  'test/guides/operate.process.test.ts',
  'test/console/looks.process.test.ts',
  'test/guides/people.process.test.ts',
  'test/guides/build.process.test.ts',
  'test/simulation/mutants/mutants.process.test.ts',
  'test/docs.process.test.ts',
  'test/pack.process.test.ts',
  'test/sign-in/pages.process.test.ts',
  'test/operating.process.test.ts',
  'test/serve-file.process.test.ts',
  'test/guides/protocol.process.test.ts',
  'test/failed-start.process.test.ts',
  'test/demo.process.test.ts',
  'test/kills/limits.process.test.ts',
  'test/console/evidence.process.test.ts',
  'test/console/views.process.test.ts',
  'test/spend.process.test.ts',
  'test/guard/reference.process.test.ts',
  'test/backup-kills.process.test.ts',
  'test/console/approvals.process.test.ts',
  'test/kills/kills.process.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST_FILES.findIndex((path) => moduleId.endsWith(`/${path}`));
      return place === -1 ? LONGEST_FILES.length : place;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
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
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/**/*.{process,alone}.test.ts'],
          // No test of this project or the next asks what a power failure leaves.
          env: { TMPDIR },
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
          env: { TMPDIR },
          // These start a browser or programs, wait for them or kill them, so three files run at once. Each
          // file has folders and databases of its own, and the system chooses its ports. Like threads they
          // load the sources once: to load them for each file costs a second and a half.
          pool: 'forks',
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/**/*.alone.test.ts'],
          // These load or measure the machine, take its disk or its database server away, or take a port
          // that they found free. They run last, one file at a time, and their folders are on the disk.
          pool: 'forks',
          isolate: false,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          // They race with the machine itself. The second try of one is named in what is printed.
          retry: 1,
        },
      },
    ],
  },
});
