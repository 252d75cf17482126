/**
 * The store in one SQLite file, or in memory.
 *
 * One connection. A change runs with others of its turn in one durable transaction; a question is
 * answered with others of its turn from one snapshot, between transactions. Entries get their place in the tree in
 * the transaction that makes them, so nothing ever waits for a sequencer.
 *
 * Several processes may share the file: each change is decided under the file's write lock, and
 * nothing is remembered from one transaction to the next.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import type { Platform } from '../../platform.ts';
import type { Store } from '../port/store.ts';
import * as approvals from './approvals.ts';
import { admit } from './calls/admission.ts';
import * as compositions from './calls/compositions.ts';
import * as invocations from './calls/invocations.ts';
import { readLedger } from './calls/ledger.ts';
import { keepOverrun } from './calls/overruns.ts';
import { takePermits } from './calls/permits.ts';
import * as settlement from './calls/settlement.ts';
import {
  BUSY_TIMEOUT_MS,
  type Connection,
  failureOf,
  IN_MEMORY,
  openConnection,
} from './connection.ts';
import * as deliveries from './deliveries.ts';
import * as freezes from './freezes.ts';
import { createGroupCommit, type GroupCommit, WAITING_MAX } from './group-commit.ts';
import { inspect } from './inspect.ts';
import * as checkpoints from './log/checkpoints.ts';
import { erasures } from './log/erase.ts';
import { createEraser, type Eraser } from './log/eraser.ts';
import { foldLog } from './log/fold.ts';
import { findLeaf, queryEntries, readNodes, readOrigins, scanEntries } from './log/reader.ts';
import { createLogWriter, type LogWriter, readHead } from './log/writer.ts';
import { createReader, type Reader } from './reader.ts';
import { scanRows, sealRows } from './row-seal.ts';
import { BINDINGS, insert } from './rows.ts';
import { migrate, noStoreIn, unfitFile, unmadeFile } from './schema/migrations.ts';
import type { TokensSeen } from './token-rows.ts';
import * as tokens from './tokens.ts';

export interface SqliteOptions {
  /** The clock of the rules; the system's when left out. */
  readonly clock?: (() => Date) | undefined;
  readonly platform?: Platform | undefined;
  /** False: a file that would have to be made or migrated is refused and stays as it is. */
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
  migrate(connection);
  const log = createLogWriter(connection);
  const commits = createGroupCommit(connection, log);
  const eraser = createEraser(connection, commits);
  // What a call reads it often judges at once: its entry is then kept in the turn that it came in.
  const reader = createReader<TokensSeen>(connection, () => new Map(), commits.expect);
  const now = options.clock ?? (() => new Date(connection.platform.now()));
  const parts: Parts = { connection, reader, log, commits, eraser, now };
  return {
    ...lifeOf(parts),
    ...tokenStore(parts),
    ...invocationStore(parts),
    ...compositionStore(parts),
    ...approvalStore(parts),
    ...operatorStore(parts),
    ...logStore(parts),
  };
}

interface Parts {
  readonly connection: Connection;
  readonly reader: Reader<TokensSeen>;
  readonly log: LogWriter;
  readonly commits: GroupCommit;
  readonly eraser: Eraser;
  readonly now: () => Date;
}

type Part<Method extends keyof Store> = Pick<Store, Method>;

function lifeOf({
  connection,
  reader,
  commits,
  now,
}: Parts): Part<'logId' | 'now' | 'probe' | 'close'> {
  const row = connection.get<{ log_id: string }>('SELECT log_id FROM store');
  if (!row) throw new Error('Cannot open the store: it has no log id');
  let isClosed = false;
  return {
    logId: row.log_id,
    now,
    probe: () => {
      return commits.submit(() => {
        connection.run('INSERT OR REPLACE INTO probes (id, at) VALUES (1, ?)', now());
      });
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      reader.close();
      commits.close();
      closeConnection(connection);
    },
  };
}

/** The log is folded into the file first, so that a copy of the file alone is the store. */
function closeConnection(connection: Connection): void {
  try {
    foldLog(connection, BUSY_TIMEOUT_MS);
  } finally {
    connection.close();
  }
}

function tokenStore({ connection, reader, log, commits }: Parts) {
  return {
    insertRoot: (token, entry) => {
      return commits.submit(() => tokens.insertRoot(connection, log, token, entry));
    },
    insertChild: (...child) => commits.submit(() => tokens.insertChild(connection, log, child)),
    revokeToken: (...revocation) => {
      return commits.submit(() => tokens.revokeToken(connection, log, revocation));
    },
    childrenOf: (...page) => reader.ask(() => tokens.childrenOf(connection, page)),
    unrevokedRoots: (...query) => reader.ask(() => tokens.unrevokedRoots(connection, query)),
    describeToken: (id, childrenMax) => {
      return reader.ask(() => tokens.describeToken(connection, id, childrenMax));
    },
  } satisfies Partial<Store>;
}

function invocationStore({ connection, reader, log, commits, eraser, now }: Parts) {
  return {
    load: (request) => {
      return reader.ask((seen) => invocations.load(connection, request, now(), seen));
    },
    admit: (admission) => {
      return commits.submit(
        () => admit(connection, admission),
        ({ admitted }) => !admitted,
      );
    },
    settle: (closing) => commits.submit(() => settlement.settle(connection, log, closing)),
    append: (entries, bindings = [], overrun = undefined) => {
      return commits.submit(() => {
        for (const binding of bindings) insert(connection, BINDINGS, binding);
        for (const entry of entries) log.append(entry);
        if (overrun) keepOverrun(connection, log, overrun);
      });
    },
    renewLeases: (id, until) => {
      return commits.submit(() => settlement.renewLeases(connection, id, until));
    },
    busyUntil: (ids, at) => reader.ask(() => settlement.busyUntil(connection, ids, at)),
    releaseLeases: (id) => commits.submit(() => settlement.release(connection, id)),
    takePermits: (request) => commits.submit(() => takePermits(connection, request)),
    forgetKeys: eraser.forgetKeys,
    heartbeat: (id, at) => commits.submit(() => invocations.heartbeat(connection, id, at)),
    abandonedIntents: (silentSince, limit) => {
      return reader.ask(() => invocations.abandonedIntents(connection, silentSince, limit));
    },
    indeterminate: (...page) => {
      return reader.ask(() => invocations.indeterminate(connection, ...page));
    },
    reconcile: (...word) => {
      return commits.submit(() => settlement.reconcile(connection, log, word, now()));
    },
  } satisfies Partial<Store>;
}

function compositionStore({ connection, reader, log, commits }: Parts) {
  return {
    beginStep: (step, instanceId) => {
      return commits.submit(() => compositions.beginStep(connection, step, instanceId));
    },
    endStep: (...ended) => commits.submit(() => compositions.endStep(connection, log, ended)),
    adoptComposition: (instanceId, silentSince) => {
      return commits.submit(() => compositions.adopt(connection, instanceId, silentSince));
    },
    returnComposition: (id, instanceId) => {
      return commits.submit(() => compositions.returnComposition(connection, id, instanceId));
    },
    rollbackUntil: (key) => reader.ask(() => compositions.rollbackUntil(connection, key)),
  } satisfies Partial<Store>;
}

function approvalStore({ connection, reader, log, commits }: Parts) {
  return {
    requestApproval: (...question) => {
      return commits.submit(() => approvals.requestApproval(connection, log, question));
    },
    loadApproval: (id) => reader.ask(() => approvals.loadApproval(connection, id)),
    waitingGrants: (...query) => reader.ask(() => approvals.waitingGrants(connection, query)),
    latestApproval: (question) => {
      return reader.ask(() => approvals.latestApproval(connection, question));
    },
    approvalState: (id) => reader.ask(() => approvals.approvalState(connection, id)),
    listApprovals: (query) => reader.ask(() => approvals.listApprovals(connection, query)),
    approve: (decision) => commits.submit(() => approvals.approve(connection, log, decision)),
    deny: (denial) => commits.submit(() => approvals.deny(connection, log, denial)),
    expireApprovals: (...expiry) => {
      return commits.submit(() => approvals.expireApprovals(connection, log, expiry));
    },
    takeDeliveries: (...claim) => {
      return commits.submit(() => deliveries.takeDeliveries(connection, claim));
    },
    finishDelivery: (result) => {
      return commits.submit(() => deliveries.finishDelivery(connection, result));
    },
    listDeliveries: (...page) => {
      return reader.ask(() => deliveries.listDeliveries(connection, ...page));
    },
  } satisfies Partial<Store>;
}

function operatorStore({ connection, reader, log, commits, now }: Parts) {
  return {
    freeze: (...freeze) => commits.submit(() => freezes.freeze(connection, log, freeze)),
    unfreeze: (...target) => {
      return commits.submit(() => freezes.unfreeze(connection, log, target, now()));
    },
    freezesUnder: (keys) => reader.ask(() => freezes.freezesUnder(connection, keys)),
    listFreezes: (...page) => reader.ask(() => freezes.listFreezes(connection, ...page)),
    sealRows: (decide) => commits.submit(() => sealRows(connection, decide)),
    scanRows: (...page) => reader.ask(() => scanRows(connection, ...page)),
    voidPromises: () => commits.submit(() => settlement.voidPromises(connection)),
  } satisfies Partial<Store>;
}

function logStore({ connection, reader, log, commits, eraser }: Parts) {
  const treeHead = () => reader.ask(() => readHead(connection));
  return {
    // An entry that was acknowledged has its place already.
    sequence: treeHead,
    treeHead,
    origins: () => reader.ask(() => readOrigins(connection)),
    beginOrigin: (from, logId, entry, signed = 0) => {
      return commits.submit(() => {
        const { first, size } = readHead(connection);
        if (first !== from.first || size !== from.size) return false;
        log.beginOrigin(logId, entry, signed);
        return true;
      });
    },
    backlog: () => {
      const waiting = commits.waiting();
      return { waiting, overloaded: waiting >= WAITING_MAX };
    },
    queryEntries: (query) => reader.ask(() => queryEntries(connection, query)),
    scanEntries: (from, limit) => reader.ask(() => scanEntries(connection, from, limit)),
    findLeaf: (by) => reader.ask(() => findLeaf(connection, by)),
    erase: eraser.erase,
    erasures: () => reader.ask(() => erasures(connection)),
    nodes: (ids) => reader.ask(() => readNodes(connection, ids)),
    inspect: () => reader.ask(() => inspect(connection)),
    readLedger: (from, see) => reader.ask(() => readLedger(connection, from, see)),
    insertCheckpoint: (checkpoint) => {
      return commits.submit(() => checkpoints.insertCheckpoint(connection, checkpoint));
    },
    lastCheckpoint: () => reader.ask(() => checkpoints.lastCheckpoint(connection)),
    loadCheckpoint: (id) => reader.ask(() => checkpoints.loadCheckpoint(connection, id)),
    listCheckpoints: (limit, before) => {
      return reader.ask(() => checkpoints.listCheckpoints(connection, limit, before));
    },
    keepCosignature: (id, line) => {
      return commits.submit(() => checkpoints.keepCosignature(connection, id, line));
    },
    cosignatures: (id) => reader.ask(() => checkpoints.cosignatures(connection, id)),
    lead: (...bid) => commits.submit(() => checkpoints.lead(connection, bid)),
  } satisfies Partial<Store>;
}
