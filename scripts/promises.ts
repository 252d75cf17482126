/**
 * What Writ promises, with the tests that would prove each promise wrong and the long runs that try it harder.
 *
 * Data for the table in SECURITY.md, which `security-table.ts` makes. A test compares every name in it with the
 * repository. `open` says what neither a test nor a run shows; it is empty only where nothing of the promise is left.
 *
 * @module
 */

import type { FigureName } from './security-figures.ts';

/** A run, and which of its figures belong to the promise; the first of them where no label is given. */
export type Tried = FigureName | readonly [name: FigureName, ...labels: string[]];

export interface Promised {
  readonly promise: string;
  /** Files from the root of the repository. */
  readonly tests: readonly string[];
  readonly runs: readonly Tried[];
  /** Where the promise is about speed: rows of bench/RESULTS.md, each with the unit of its first figure. */
  readonly measured?: Readonly<Record<string, string>>;
  readonly open?: string;
}

const SIMULATION = ['simulation-memory', 'simulation-sqlite'] as const;
const KILLS = [
  ['kills-sqlite', 'kills', 'acknowledged'],
  ['kills-postgresql', 'kills', 'acknowledged'],
] as const;

/** What an operator decides by the settings of the server, and no test of ours can change. */
const STANDBY =
  'A standby of PostgreSQL that is promoted may lack the newest changes, unless replication is synchronous.';

export const PROMISES: readonly Promised[] = [
  {
    promise: 'A handler runs only after the intent of its call is durable in the store.',
    tests: [
      'test/invoke/faults.test.ts',
      'test/disk-faults.alone.test.ts',
      'test/flush-faults.alone.test.ts',
    ],
    runs: [...SIMULATION, ...KILLS],
    open: 'Faults of a real disk need strace or a mount of its own; elsewhere these tests say that they did not run.',
  },
  {
    promise: 'The log has each answered invocation exactly once, and its numbers have no gap.',
    tests: [
      'test/sqlite-faults.process.test.ts',
      'test/postgres-faults.process.test.ts',
      'test/spend.process.test.ts',
      'test/kills/kills.process.test.ts',
    ],
    runs: [...KILLS, ...SIMULATION],
    open: `${STANDBY} The service stops if it lacks entries that were signed, and goes on if it lacks later ones.`,
  },
  {
    promise:
      'A call whose process died has an outcome in the log within a minute after a process runs again; “unknown” is one.',
    tests: ['src/storage/recovery.test.ts', 'test/spend.process.test.ts'],
    runs: [...KILLS, ...SIMULATION],
    open: 'The minute follows from two intervals that a test adds up. No test measures it.',
  },
  {
    promise:
      'No budget is overspent, of a token or of one above it, by any number of callers, replicas and crashes.',
    tests: [
      'test/store-races.test.ts',
      'test/invoke/races.test.ts',
      'test/spend.process.test.ts',
      'test/compose/ledger.test.ts',
    ],
    runs: [...SIMULATION, ...KILLS],
    open: `What a handler reports above its reservation is shown as a debt, not refused: it is spent already. ${STANDBY}`,
  },
  {
    promise:
      'A call of unknown outcome stays charged. Money comes back once, and only where nothing happened or an operator says so.',
    tests: [
      'test/invoke/outcomes.test.ts',
      'test/invoke/late-overruns.test.ts',
      'test/compose/crash.test.ts',
      'test/store.test.ts',
    ],
    runs: SIMULATION,
  },
  {
    promise: 'An approval request yields one grant.',
    tests: ['test/approvals/races.test.ts', 'test/approvals/kills.test.ts'],
    runs: SIMULATION,
    open: 'The suite races for 120 requests; `WRIT_TEST_RACED_REQUESTS` sets another number.',
  },
  {
    promise:
      'A grant is used at most as often as it says, before it ends, and only by its chain of principals for its capability, parameters and session.',
    tests: [
      'test/approvals/races.test.ts',
      'test/approvals/continuation.test.ts',
      'test/approvals/chains.test.ts',
      'test/approvals/chain-forest.test.ts',
    ],
    runs: [...SIMULATION, 'attack'],
  },
  {
    promise:
      'Below an exclusive token one call runs at a time, also when a replica stands still past its lease.',
    tests: ['test/pause.alone.test.ts', 'test/store-races.test.ts'],
    runs: SIMULATION,
    open: 'A handler that has lost its lease may still act outside: the service refuses its end, and cannot stop it.',
  },
  {
    promise:
      'An acknowledged revocation holds for every later admission, on every replica and below.',
    tests: [
      'test/two-processes.process.test.ts',
      'test/authority/revoke.test.ts',
      'test/authority/many.test.ts',
    ],
    runs: [...SIMULATION, 'attack'],
    measured: { 'revoking 10000 descendants': '' },
    open: `That ten thousand descendants end within a second is measured, not tested. ${STANDBY}`,
  },
  {
    promise:
      'A repeated call with the same idempotency key has one effect, and the same answer for a day.',
    tests: [
      'test/invoke/idempotency.test.ts',
      'test/invoke/cut.test.ts',
      'test/invoke/races.test.ts',
      'test/client/client.test.ts',
    ],
    runs: [...SIMULATION, ...KILLS],
    open: 'The tests cut connections between answers of the database and after the commit, not at each byte.',
  },
  {
    promise:
      'Any two signed checkpoints of a log are consistent. A log that lacks what was signed is neither signed nor continued.',
    tests: [
      'test/log/withheld.test.ts',
      'test/log/recover.test.ts',
      'test/log/seal.test.ts',
      'test/log/other-copy.test.ts',
      'test/kills/failover.process.test.ts',
      'test/seal-faults.process.test.ts',
    ],
    runs: ['kills-postgresql', ...SIMULATION],
    open: 'It needs the mark: a mark that is set back together with the store shows nothing, unless a witness is the mark. Behind a pooler, changes of up to five seconds reach another copy of the database before it is compared.',
  },
  {
    promise:
      'A third party verifies an entry offline, also with a program that shares no code with the service.',
    tests: [
      'test/guides/protocol.process.test.ts',
      'src/verify/vectors.test.ts',
      'src/domain/log/merkle-vectors.test.ts',
      'test/verify/service.test.ts',
    ],
    runs: [['vectors', 'inclusion proofs', 'consistency proofs'], 'proofs'],
    open: 'The second program is the Python client of a guide, which we wrote ourselves from the text of the standards.',
  },
  {
    promise: 'A changed byte of the log, in its tables or in an export, is found.',
    tests: [
      'src/storage/fsck/tampering.test.ts',
      'src/storage/fsck/tampering-postgres.test.ts',
      'src/verify/export/export.test.ts',
      'src/storage/fsck/ledger.test.ts',
    ],
    runs: [],
    open: 'Every byte of an export; every byte of some rows on SQLite; one byte of each column of each row on PostgreSQL. `writ fsck` finds it when it runs, not before.',
  },
  {
    promise: 'A checkpoint covers an entry within the cadence and a second.',
    tests: ['test/log/seal.test.ts'],
    runs: [],
    open: 'Tested is that sealing follows its cadence. How late a checkpoint is under full load is not measured.',
  },
  {
    promise:
      'Two cores serve 1,500 governed writes a second on SQLite, and 1,000 with two replicas on PostgreSQL.',
    tests: [],
    runs: [],
    measured: {
      'invoke, write with budget and admission, SQLite': ' a second',
      'invoke, write with budget and admission, PostgreSQL, two processes': ' a second',
    },
    open: 'Measured, not tested, and not reached in every run: load generator and database share the two cores with the service.',
  },
  {
    promise:
      'Overload is answered with 503 or 429 and a time to wait; work that was taken stays correct.',
    tests: [
      'test/http/operability.test.ts',
      'test/http/rates.test.ts',
      'test/http/connections.test.ts',
      'src/http/bounds/shed.test.ts',
    ],
    runs: ['hostile'],
    open: 'No run holds five times the capacity for ten minutes.',
  },
  {
    promise: 'A forged, altered or malformed token is never accepted.',
    tests: [
      'src/keyring/wire-fuzz.test.ts',
      'src/keyring/es256-vectors.test.ts',
      'src/keyring/wire.test.ts',
      'test/authority/verify.test.ts',
    ],
    runs: [
      ['vectors', 'ECDSA signatures'],
      ['fuzz', 'edited tokens', 'edited tokens accepted'],
      'attack',
    ],
    open: 'The published vectors are those of ECDSA; the form of tokens has tests and mutations of our own.',
  },
  {
    promise: 'A hostile request neither ends the process nor keeps others from being answered.',
    tests: [
      'test/http/bad-input.test.ts',
      'test/http/framing.test.ts',
      'test/http/connections.test.ts',
      'test/http/long-queries.test.ts',
      'src/domain/wire/json.test.ts',
    ],
    runs: ['hostile', ['fuzz', 'hostile requests', 'answers of 500']],
    open: 'Bounds on the work of one turn are tested. How many milliseconds a turn takes is not asserted.',
  },
  {
    promise:
      'A caller reads the entries of its own root principal only. An id of others is answered like one that does not exist.',
    tests: [
      'test/log/trail-forest.test.ts',
      'test/approvals/unknown.test.ts',
      'test/http/audit-filters.test.ts',
      'test/authority/revoke.test.ts',
    ],
    runs: ['attack'],
    open: 'Status and body are compared. The times of the answers are not.',
  },
  {
    promise: 'A child has at most the authority of each token above it, in every dimension.',
    tests: [
      'src/domain/authority/narrowing-subset.test.ts',
      'test/authority/forest.test.ts',
      'test/authority/only-capabilities.test.ts',
    ],
    runs: [['narrowing', 'delegations asked for', 'wider than their parent'], 'attack'],
  },
  {
    promise: 'Keys rotate without a refused request, and what old keys signed still verifies.',
    tests: [
      'test/rotation/load.test.ts',
      'test/serve.process.test.ts',
      'test/verify/rotation.test.ts',
    ],
    runs: ['rotation'],
    open: 'In the suite the lead of a rotation is shorter than in operation.',
  },
  {
    promise: 'A replica that is asked to stop answers what it took, and cuts no request.',
    tests: ['test/serve.process.test.ts', 'test/http/serve.test.ts', 'test/mcp/stop.test.ts'],
    runs: ['rolling'],
  },
  {
    promise: 'What was acknowledged survives a kill, a crash of the database and a failing disk.',
    tests: [
      'test/flush-faults.alone.test.ts',
      'test/sqlite-faults.process.test.ts',
      'test/server-faults.alone.test.ts',
      'test/export/kill.process.test.ts',
    ],
    runs: KILLS,
    open: `Tests see that each commit is flushed. None takes the power from a machine, and a disk that lies about a flush is believed. ${STANDBY}`,
  },
  {
    promise: 'Two versions of the program with one schema version serve one database side by side.',
    tests: ['test/rolling-upgrade.process.test.ts'],
    runs: ['versions'],
    open: 'The suite runs one program under two version numbers; the script builds an older commit.',
  },
  {
    promise: 'No secret reaches the log of the process, an entry, a metric or a row.',
    tests: [
      'test/http/secrets.test.ts',
      'test/http/secrets-stored.test.ts',
      'test/accounts/canary.test.ts',
      'src/domain/wire/redaction.test.ts',
    ],
    runs: [],
    open: 'Credentials are meant. Parameters of a call are data: an approval request keeps them, and an entry as its capability declares.',
  },
  {
    promise: 'Equal parameters have one digest, on both stores and by other programs.',
    tests: [
      'src/domain/wire/canonical.test.ts',
      'test/approvals/continuation.test.ts',
      'test/guides/protocol.process.test.ts',
      'test/verify/browser.test.ts',
    ],
    runs: [
      ['vectors', 'canonical texts'],
      ['fuzz', 'digests compared'],
    ],
    open: 'Tried with Node and V8 on Linux, and with Python.',
  },
  {
    promise: 'A request that the service sends for others reaches no inside address, and ends.',
    tests: [
      'src/service/outbound/outbound.test.ts',
      'test/sign-in/attacks-clients.test.ts',
      'test/oidc/hostile-issuer.test.ts',
      'test/approvals/webhooks.test.ts',
    ],
    runs: ['outgoing'],
    open: 'Hosts that an operator allows by name are reached, also inside.',
  },
];

/** One kind of long run. */
interface Run {
  readonly what: string;
  readonly command: string;
  /** The short form in the suite: a file, or a folder with tests. */
  readonly suite: string;
}

export const RUNS: Readonly<Record<FigureName, Run>> = {
  'simulation-memory': {
    what: 'simulation, store in memory',
    command: 'npm run simulate -- --mode memory --record',
    suite: 'test/simulation',
  },
  'simulation-sqlite': {
    what: 'simulation, SQLite',
    command: 'npm run simulate -- --mode sqlite --record',
    suite: 'test/simulation',
  },
  mutants: {
    what: 'deliberate bugs that the simulation finds',
    command: 'npm run mutants -- --record',
    suite: 'test/simulation',
  },
  'kills-sqlite': {
    what: 'kills, SQLite',
    command: 'npm run kills -- --store sqlite --record',
    suite: 'test/kills',
  },
  'kills-postgresql': {
    what: 'kills, PostgreSQL',
    command: 'npm run kills -- --store postgresql --record',
    suite: 'test/kills',
  },
  rolling: {
    what: 'stops under load',
    command: 'npm run rolling -- --record',
    suite: 'test/kills',
  },
  rotation: {
    what: 'key rotations under load',
    command: 'npm run rolling -- --record',
    suite: 'test/rotation',
  },
  versions: {
    what: 'two versions on one database',
    command: 'npm run rolling -- --record',
    suite: 'test/rolling-upgrade.process.test.ts',
  },
  hostile: {
    what: 'hostile clients',
    command: 'npm run suites -- hostile --record',
    suite: 'test/hostile',
  },
  fuzz: {
    what: 'random requests, tokens and digests',
    command: 'npm run fuzz -- --record',
    suite: 'test/hostile',
  },
  outgoing: {
    what: 'requests to hostile peers',
    command: 'npm run suites -- outgoing --record',
    suite: 'test/hostile',
  },
  attack: {
    what: '`writ attack` at the showcase and at weakened services',
    command: 'npm run suites -- attack --record',
    suite: 'test/attack',
  },
  vectors: {
    what: 'published vectors',
    command: 'npm run vectors -- --record',
    suite: 'src/domain/log/merkle-vectors.test.ts',
  },
  proofs: {
    what: 'random proofs, verified in Python',
    command: 'npm run vectors -- --record',
    suite: 'test/guides/protocol.process.test.ts',
  },
  narrowing: {
    what: 'random delegations',
    command: 'npm run vectors -- --record',
    suite: 'src/domain/authority/narrowing-subset.test.ts',
  },
};
