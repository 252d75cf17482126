import { tmpdir } from 'node:os';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { memoryDisk } from './test/support/memory-disk.ts';
import { missingReporter } from './test/support/missing-reporter.ts';

const nodeConditions = defaultServerConditions.filter((name) => name !== 'module');

const report = process.env.WRIT_TEST_REPORT;
const json: [string, { outputFile: string }][] = report ? [['json', { outputFile: report }]] : [];

const TMPDIR = memoryDisk() ?? tmpdir();

/**
 * Files of threads that take more than about eight seconds, the longest first: `npm run test:all` runs them, `npm test`
 * does not. They start in this order, so that the other workers have work until the last of them ends.
 */
const LONG = [
  'test/model/model.test.ts',
  'test/store/store-races.test.ts',
  'src/storage/fsck/inspect.test.ts',
  'test/simulation/simulation.test.ts',
  'test/hostile/fuzz.test.ts',
  'src/storage/postgres/log/index.test.ts',
  'src/storage/fsck/ledger.test.ts',
  'test/log/recover.test.ts',
  'src/verify/export/export.test.ts',
  'test/hostile/parameters.test.ts',
  'test/attack/attack.test.ts',
  'test/attack/weaknesses.test.ts',
  'src/storage/sqlite/log-pages.test.ts',
  'src/storage/sqlite/log/damage.test.ts',
  'src/storage/postgres/log/damage.test.ts',
  'test/model/bugs.test.ts',
  'test/surfaces/openapi-strictness.test.ts',
  'test/compose/crash.test.ts',
  'src/storage/sqlite/log/sight.test.ts',
  'test/export/source.test.ts',
  'test/export/break.test.ts',
  'test/export/http.test.ts',
  'test/export/s3.test.ts',
  'test/log/recover-faults.test.ts',
  'test/invoke/hostile.test.ts',
  'test/approvals/long-lists.test.ts',
  'test/http/secrets-stored.test.ts',
  'test/http/secrets.test.ts',
  'src/keyring/first-start.test.ts',
  'test/approvals/kills.test.ts',
  'test/sign-in/attacks-recover.test.ts',
  'src/http/bounds/segment.test.ts',
  'test/compose/ledger.test.ts',
  'test/guard/shop.test.ts',
  'test/invoke/rates.test.ts',
  'test/console/steps.test.ts',
  'test/hostile/floods.test.ts',
  'test/hostile/outgoing.test.ts',
  'test/authority/forest.test.ts',
  'test/authority/many.test.ts',
  'src/storage/postgres/lock-order.test.ts',
  'test/surfaces/stdio-load.test.ts',
  'test/log/backup.test.ts',
  'src/storage/fsck/tampering.test.ts',
  'test/verify/service.test.ts',
  'src/keyring/wire-fuzz.test.ts',
  'test/sign-in/attacks-consent.test.ts',
  'test/sign-in/attacks-refresh.test.ts',
  'test/sign-in/attacks-clients.test.ts',
  'test/accounts/attacks.test.ts',
  'test/mcp/search-scenarios.test.ts',
  'test/mounted/fetch.test.ts',
  'test/http/reload.test.ts',
  'test/cli/audit-tail.test.ts',
  'test/cli/identities.test.ts',
  'src/domain/log/merkle-proof.test.ts',
  'src/storage/backup/backup.test.ts',
  'test/approvals/cards.test.ts',
];

/** Files of processes that `npm test` runs too: one for each program, and one decision in a browser. */
const SMOKE = [
  'test/console/approvals.process.test.ts',
  'test/docs/readme.process.test.ts',
  'test/programs/serve.process.test.ts',
  'test/guard/guard.process.test.ts',
  'test/programs/stdio.process.test.ts',
];

/** Other files of processes that take half a minute or more, the longest first. */
const LONG_PROCESSES = [
  'test/guides/operate.process.test.ts',
  'test/console/looks.process.test.ts',
  'test/guides/people.process.test.ts',
  'test/guides/build.process.test.ts',
  'test/simulation/mutants/mutants.process.test.ts',
  'test/docs/docs.process.test.ts',
  'test/programs/pack.process.test.ts',
  'test/sign-in/pages.process.test.ts',
  'test/docs/operating.process.test.ts',
  'test/programs/serve-file.process.test.ts',
  'test/guides/protocol.process.test.ts',
  'test/programs/failed-start.process.test.ts',
  'test/programs/demo.process.test.ts',
];

/** Files of `npm test` that take longest: begun late, they would keep one worker busy while the others wait. */
const FIRST = ['test/store/store.test.ts', 'test/surfaces/scenarios.test.ts'];

/** In the order in which they start. Every path here exists: a test compares. */
export const NAMED_FILES = [...FIRST, ...LONG, ...SMOKE, ...LONG_PROCESSES];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = NAMED_FILES.findIndex((path) => moduleId.endsWith(`/${path}`));
      return index === -1 ? NAMED_FILES.length : index;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

const UNIT = ['{src,test}/**/*.test.ts'];
const PROCESS = ['test/**/*.process.test.ts'];
const ALONE = ['test/**/*.alone.test.ts'];

const THREADS = {
  // No test of these or of the next asks what a power failure leaves.
  env: { TMPDIR },
  // Shared workers are ten times as fast; in return no test may keep state of the process.
  pool: 'threads',
  isolate: false,
  // Three also where there are two cores: much of the time is spent waiting for a database.
  maxWorkers: 3,
} as const;

/**
 * These start a browser or programs, wait for them or kill them, so three files run at once. Each file has folders and
 * databases of its own, and the system chooses its ports. Like threads they load the sources once: to load them for
 * each file costs a second and a half.
 */
const PROCESSES = {
  env: { TMPDIR },
  pool: 'forks',
  isolate: false,
  maxWorkers: 3,
  sequence: { groupOrder: 1 },
} as const;

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  // Our own packages' names mean the sources. Tests run on the server side of vite, which does not
  // read `resolve.conditions`. Node, which imports the packages, knows no condition "module".
  ssr: { resolve: { conditions: ['writ-source', ...nodeConditions] } },
  test: {
    // One PostgreSQL for the whole run, whichever projects take part.
    globalSetup: ['test/support/global-setup.ts'],
    // Only to end a test that hangs: a busy machine must not fail one that is merely slow.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', missingReporter, ...json],
    projects: [
      // `npm test` runs the first two.
      {
        extends: true,
        test: { name: 'unit', include: UNIT, exclude: [...LONG, ...PROCESS, ...ALONE], ...THREADS },
      },
      { extends: true, test: { name: 'smoke', include: SMOKE, ...PROCESSES } },
      { extends: true, test: { name: 'long', include: LONG, ...THREADS } },
      { extends: true, test: { name: 'process', include: PROCESS, exclude: SMOKE, ...PROCESSES } },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          // These load or measure the machine, take its disk or its database server away, or take a port
          // that they found free. They run last, one file at a time, and their folders are on the disk.
          pool: 'forks',
          isolate: false,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
