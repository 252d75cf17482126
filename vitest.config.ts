import { tmpdir } from 'node:os';
import { defaultServerConditions, type Plugin } from 'vite';
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
  'test/store/store-races.test.ts',
  'test/attack/attack.test.ts',
  'test/log/recover.test.ts',
  'src/storage/fsck/tampering.test.ts',
  'test/simulation/simulation.test.ts',
  'test/compose/ledger.test.ts',
  'test/attack/weaknesses.test.ts',
  'test/hostile/fuzz.test.ts',
  'test/model/model.test.ts',
  'src/storage/postgres/log/index.test.ts',
  'test/compose/crash.test.ts',
  'test/invoke/hostile.test.ts',
  'src/storage/fsck/inspect.test.ts',
  'test/log/backup.test.ts',
  'src/verify/export/export.test.ts',
  'test/export/http.test.ts',
  'src/storage/backup/backup.test.ts',
  'test/verify/service.test.ts',
  'test/cli/audit-tail.test.ts',
  'test/sign-in/attacks-consent.test.ts',
  'test/export/break.test.ts',
  'src/keyring/wire-fuzz.test.ts',
  'test/cli/identities.test.ts',
  'test/surfaces/openapi-strictness.test.ts',
  'test/sign-in/attacks-clients.test.ts',
  'test/http/secrets.test.ts',
  'test/mcp/search-scenarios.test.ts',
  'test/http/reload.test.ts',
  'test/sign-in/attacks-refresh.test.ts',
  'test/console/steps.test.ts',
  'test/log/recover-faults.test.ts',
  'test/mounted/fetch.test.ts',
  'test/authority/forest.test.ts',
  'test/export/source.test.ts',
  'test/hostile/parameters.test.ts',
  'src/storage/postgres/lock-order.test.ts',
  'test/accounts/attacks.test.ts',
  'src/http/bounds/segment.test.ts',
  'test/sign-in/attacks-recover.test.ts',
  'test/model/bugs.test.ts',
  'test/guard/shop.test.ts',
  'test/hostile/outgoing.test.ts',
  'src/storage/fsck/ledger.test.ts',
  'test/approvals/cards.test.ts',
  'src/storage/sqlite/log/damage.test.ts',
  'src/keyring/first-start.test.ts',
  'test/authority/many.test.ts',
  'test/hostile/floods.test.ts',
  'test/http/secrets-stored.test.ts',
  'test/surfaces/stdio-load.test.ts',
  'test/approvals/kills.test.ts',
  'src/storage/sqlite/log-pages.test.ts',
  'test/approvals/long-lists.test.ts',
  'src/domain/log/merkle-proof.test.ts',
  'test/invoke/rates.test.ts',
  'src/storage/postgres/log/damage.test.ts',
  'src/storage/sqlite/log/sight.test.ts',
  'test/export/s3.test.ts',
];

/** Files of processes that `npm test` runs too: one for each program, and one decision in a browser. */
const SMOKE = [
  'test/console/approvals.process.test.ts',
  'test/docs/readme.process.test.ts',
  'test/programs/serve.process.test.ts',
  'test/guard/guard.process.test.ts',
  'test/programs/stdio.process.test.ts',
];

/** Other files of processes that take 25 seconds or more, the longest first. */
const LONG_PROCESSES = [
  'test/programs/pack.process.test.ts',
  'test/simulation/mutants/mutants.process.test.ts',
  'test/guides/operate.process.test.ts',
  'test/guides/build.process.test.ts',
  'test/guides/people.process.test.ts',
  'test/docs/operating.process.test.ts',
  'test/programs/demo.process.test.ts',
  'test/console/looks.process.test.ts',
  'test/kills/limits.process.test.ts',
  'test/programs/failed-start.process.test.ts',
  'test/faults/spend.process.test.ts',
  'test/guides/protocol.process.test.ts',
  'test/faults/backup-kills.process.test.ts',
  'test/sign-in/pages.process.test.ts',
  'test/programs/serve-file.process.test.ts',
  'test/kills/kills.process.test.ts',
  'test/guard/reference.process.test.ts',
  'test/programs/workers.process.test.ts',
  'test/docs/docs.process.test.ts',
  'test/console/views.process.test.ts',
  'test/faults/seal-faults.process.test.ts',
  'test/faults/postgres-faults.process.test.ts',
  'test/console/passkeys.process.test.ts',
  'test/console/evidence.process.test.ts',
  'test/sign-in/login.process.test.ts',
];

/** Files of `npm test` that take longest: begun late, they would keep one worker busy while the others wait. */
const FIRST = ['test/store/store.test.ts', 'test/surfaces/scenarios.test.ts'];

/** In the order in which they start. Every path here exists: a test compares. */
export const NAMED_FILES = [...FIRST, ...LONG, ...SMOKE, ...LONG_PROCESSES];

const UNIT = ['{src,test}/**/*.test.ts'];
const PROCESS = ['test/**/*.process.test.ts'];
const ALONE = ['test/**/*.alone.test.ts'];

/** Vitest cannot print an error of the global setup whose source it has read from its cache. */
const UNCACHED: Plugin = {
  name: 'uncached-setup',
  configureVitest: ({ experimental_defineCacheKeyGenerator: define }) =>
    define(({ id }) => (id.includes('/test/support/') ? false : undefined)),
};

/**
 * Four also where there are two cores: much of the time is spent waiting for a database, a page or a program. One group
 * for all projects: when the last files of one are under way, idle workers begin with the next.
 */
const WORKERS = { maxWorkers: 4, sequence: { groupOrder: 0 } } as const;

const THREADS = {
  // No test of these or of the next asks what a power failure leaves.
  env: { TMPDIR },
  // Shared workers are ten times as fast; in return no test may keep state of the process.
  pool: 'threads',
  isolate: false,
  ...WORKERS,
} as const;

/**
 * These start a browser or programs, wait for them or kill them. Each file has folders and databases of its own, and the
 * system chooses its ports. Like threads they load the sources once: to load them for each file costs a second and a half.
 */
const PROCESSES = { env: { TMPDIR }, pool: 'forks', isolate: false, ...WORKERS } as const;

/** In the order in which they run. A worker serves one project, and begins anew where the next file is of another. */
const PROJECTS = ['unit', 'smoke', 'long', 'process', 'alone'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const index = NAMED_FILES.findIndex((path) => moduleId.endsWith(`/${path}`));
      const named = index === -1 ? NAMED_FILES.length : index;
      return PROJECTS.indexOf(project.name) * (NAMED_FILES.length + 1) + named;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  plugins: [UNCACHED],
  // Our own packages' names mean the sources. Tests run on the server side of vite, which does not
  // read `resolve.conditions`. Node, which imports the packages, knows no condition "module".
  ssr: { resolve: { conditions: ['writ-source', ...nodeConditions] } },
  test: {
    // One PostgreSQL for the whole run, whichever projects take part.
    globalSetup: ['test/support/global-setup.ts'],
    runner: './test/support/runner.ts',
    // Only to end a test that hangs: a busy machine must not fail one that is merely slow.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    // Sources that were compiled once serve every project and later runs: node_modules keeps them by their content.
    experimental: { fsModuleCache: true },
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
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
