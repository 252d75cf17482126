/**
 * The store in one SQLite file, or in memory.
 *
 * One connection. The changes of one turn run in one durable transaction; the queries of one turn are
 * answered from one snapshot, between transactions. Entries get their place in the tree in the transaction
 * that makes them, so there is no sequencer.
 *
 * Several processes may share the file: each change is decided under the file's write lock, and no state of a
 * token or a budget is kept between transactions.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import type { Platform } from '../../platform.ts';
import type { Steps } from '../../steps.ts';
import { BLOCK_ENTRIES } from '../log/blocks.ts';
import * as search from '../log/search.ts';
import { nodes } from '../log/tree.ts';
import type { Store } from '../port/store.ts';
import type { OnStep } from '../port/versions.ts';
import { methodsOf, type Sql, type SqlReader } from '../sql/sql.ts';
import { readLedger } from '../stories/ledger.ts';
import * as stories from '../stories/stories.ts';
import { admit } from './calls/admission.ts';
import { type BatchTokens, createBatchTokens } from './calls/batch-tokens.ts';
import { load } from './calls/load.ts';
import { takePermits } from './calls/permits.ts';
import * as settlement from './calls/settlement.ts';
import { type Connection, failureOf, IN_MEMORY, openConnection } from './connection.ts';
import {
  type BatchWork,
  createGroupCommit,
  type GroupCommit,
  WAITING_MAX,
} from './group-commit.ts';
import { inspect } from './inspect.ts';
import { createEraser } from './log/eraser.ts';
import { foldLog } from './log/fold.ts';
import { createUpkeep } from './log/upkeep.ts';
import { createLogWriter, type LogWriter, type WriterSight } from './log/writer.ts';
import { createReader } from './reader.ts';
import { migrate, noStoreIn, unfitFile, unmadeFile } from './schema/migrations.ts';
import { atOnce, readerOn } from './sql.ts';
import { sqlOn } from './story.ts';
import type { TokensSeen } from './token-rows.ts';
import { insertChild, insertRoot } from './tokens.ts';

export interface SqliteOptions {
  /** The clock of the rules; default: the system's. */
  readonly clock?: (() => Date) | undefined;
  readonly platform?: Platform | undefined;
  /** Called after each step that brings an older store to the current version. */
  readonly onStep?: OnStep | undefined;
  /** False: refuses, and does not change, a file without a store of the current version. */
  readonly create?: boolean | undefined;
}

export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<Store> {
  const { create = true } = options;
  if (!create && path !== IN_MEMORY && !existsSync(path)) {
    throw new Error(`Cannot open the store: ${noStoreIn(path)}`);
  }
  const connection = openConnection(
    path,
    (file) => unfitFile(file) ?? (create ? undefined : unmadeFile(file, path)),
    options.platform,
  );
  try {
    return createSqliteStore(connection, options);
  } catch (error) {
    connection.close();
    throw failureOf(error);
  }
}

/** The store on a connection that is already open. The store closes it. */
export function createSqliteStore(connection: Connection, options: SqliteOptions = {}): Store {
  migrate(connection, options.onStep);
  const sight: WriterSight = search.createSight();
  const log = createLogWriter(connection, sight, () => upkeep.nudge());
  const tokens = createBatchTokens(connection);
  const calls = createGroupCommit(connection, batchWork(log, tokens));
  // Every other change reads and writes the rows of tokens and budgets themselves.
  const commits: GroupCommit = {
    ...calls,
    submit: (transition, isRefusal) =>
      calls.submit(() => {
        tokens.flush();
        return transition();
      }, isRefusal),
  };
  const upkeep = createUpkeep(connection, commits, sight.damaged);
  // A call often writes its entry in the turn of its read, so each read also schedules a commit.
  const reader = createReader<TokensSeen>(connection, () => new Map(), commits.expect);
  const asked = <Result>(story: Steps<Result>) => reader.ask(() => atOnce(story));
  const searched = async <Result>(story: Steps<Result>): Promise<Result> => {
    const found = await asked(story);
    if (sight.damaged.size > 0 || sight.unindexed >= BLOCK_ENTRIES) upkeep.nudge();
    return found;
  };
  const now = options.clock ?? (() => new Date(connection.platform.now()));
  const [read, sql] = [readerOn(connection), sqlOn(connection, log, now)];
  const writers = { log, tokens, sql };
  const changes = methodsOf<Sql, typeof CHANGES>(CHANGES, (story) =>
    commits.submit(() => atOnce(story(sql))),
  );
  return {
    ...methodsOf<SqlReader, typeof READ_STORIES>(READ_STORIES, (story) => asked(story(read))),
    ...changes,
    ...createEraser(connection, commits, { sight, forgetKeys: changes.forgetKeys }),
    ...lifeOf(connection, now, () => {
      upkeep.stop();
      reader.close();
      commits.close();
    }),

    queryEntries: (query) => searched(search.queryEntries(read, sight, query)),
    findLeaf: (by) => searched(search.findLeaf(read, sight, by)),
    beginOrigin: (...next) => commits.submit(() => log.beginOrigin(...next)),
    inspect: () => reader.ask(() => inspect(connection)),
    load: (request) => reader.ask((seen) => load(connection, request, now(), seen)),
    settle: (call) => calls.submit(() => settlement.settle(connection, writers, call)),
    append: (...added) => calls.submit(() => settlement.append(connection, writers, ...added)),
    admit: (admission) => {
      return calls.submit(
        () => admit(connection, tokens, admission),
        ({ admitted }) => !admitted,
      );
    },
    reconcile: (...word) => {
      return calls.submit(() => settlement.reconcile(connection, writers, word, now()));
    },
    releaseLeases: (id) => commits.submit(() => settlement.release(connection, id)),
    takePermits: (request) => commits.submit(() => takePermits(connection, request)),
    insertRoot: (...issued) => commits.submit(() => insertRoot(connection, log, ...issued)),
    insertChild: (...issued) => commits.submit(() => insertChild(connection, log, ...issued)),
    probe: () => commits.submit(() => connection.run(PROBE, now())),
    backlog: () => {
      const waiting = commits.waiting();
      return { waiting, overloaded: waiting >= WAITING_MAX };
    },
  };
}

const CHANGES = { ...stories.WRITES, ...stories.CHANGES };

/** Reads, from one snapshot of a turn. An acknowledged entry already has its place. */
const READ_STORIES = {
  ...stories.READS,
  sequence: stories.READS.treeHead,
  nodes,
  scanEntries: search.scanEntries,
  readLedger,
};

function batchWork(log: LogWriter, tokens: BatchTokens): BatchWork {
  return {
    begin() {
      tokens.forget();
      log.begin();
    },
    mark: log.mark,
    rewind(mark) {
      tokens.forget();
      log.rewind(mark);
    },
    // A budget that cannot be changed so, because its row was edited, fails the transition and not the transaction.
    settle: tokens.flush,
    finish: log.finish,
    committed: log.committed,
  };
}

const PROBE = 'INSERT OR REPLACE INTO probes (id, at) VALUES (1, ?)';

function lifeOf(
  connection: Connection,
  now: () => Date,
  finish: () => void,
): Pick<Store, 'logId' | 'now' | 'close'> {
  const row = connection.get<{ log_id: string }>('SELECT log_id FROM store');
  if (!row) throw new Error('Cannot open the store: it has no log id');
  let isClosed = false;
  return {
    logId: row.log_id,
    now,
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      finish();
      closeConnection(connection);
    },
  };
}

/** Moves the log into the file first, so that a copy of the file alone is the store. */
function closeConnection(connection: Connection): void {
  try {
    foldLog(connection);
  } finally {
    connection.close();
  }
}
