/**
 * The simulated store: the whole storage port over plain data in memory.
 *
 * A second implementation, written from the sentences of the port and not from the SQL of the others. Each call
 * is one synchronous transition, which happens whole or not at all. Results share no object with the rows,
 * except tokens, which are frozen. There is no input or output, no timer and no turn: an entry has its place
 * when its call returns.
 *
 * Several stores may share one database. The order of their calls is the order of commits.
 *
 * @module
 */

import { newUuid, type Platform } from '../../../src/platform.ts';
import { type Store, StoreUnavailable } from '../../../src/storage/port/store.ts';
import * as admission from './admission.ts';
import * as lists from './approval-lists.ts';
import * as approvals from './approvals.ts';
import * as calls from './calls.ts';
import * as checkpoints from './checkpoints.ts';
import * as compositions from './compositions.ts';
import { factOf, type MemoryDatabase, setFact } from './database.ts';
import * as deliveries from './deliveries.ts';
import { readLedger } from './ledger.ts';
import * as logReads from './log-reads.ts';
import * as operators from './operators.ts';
import * as passkeys from './passkeys.ts';
import * as people from './people.ts';
import { erase } from './retention.ts';
import { scanRows, sealRows } from './rows.ts';
import * as settlement from './settlement.ts';
import * as signIn from './sign-in.ts';
import * as tokens from './tokens.ts';

interface MemoryOptions {
  /** Makes the id of a new database's log. */
  readonly platform: Pick<Platform, 'random'>;
  /** The clock of the rules. */
  readonly clock: () => Date;
}

/** Opens one more store over the database. */
export function openMemoryStore(database: MemoryDatabase, options: MemoryOptions): Store {
  const logId = nameLog(database, options);
  let isClosed = false;
  const run = <Result>(transition: () => Result): Promise<Result> => {
    if (isClosed) {
      return Promise.reject(new StoreUnavailable('Cannot use the store: it is closed'));
    }
    try {
      return Promise.resolve(database.journal.run(transition));
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return {
    ...bound<[MemoryDatabase], typeof TRANSITIONS>(TRANSITIONS, (act, args) => {
      return run(() => act(database, ...args));
    }),
    ...bound<[MemoryDatabase, Date], typeof TIMED>(TIMED, (act, args) => {
      return run(() => act(database, options.clock(), ...args));
    }),
    logId,
    now: options.clock,
    sequence: () => run(() => database.log.head()),
    treeHead: () => run(() => database.log.head()),
    erasures: () => run(() => erasures(database)),
    inspect: () => run(() => []),
    probe: () => run(() => undefined),
    figures: (now) => run(() => ({ bytes: 0, openApprovals: lists.openApprovals(database, now) })),
    backlog: () => ({ waiting: 0, overloaded: false }),
    close: async () => {
      isClosed = true;
    },
  };
}

/** Transitions and reads whose arguments name every time that they use. */
const TRANSITIONS = {
  insertRoot: tokens.insertRoot,
  insertChild: tokens.insertChild,
  revokeToken: tokens.revokeToken,
  childrenOf: tokens.childrenOf,
  unrevokedRoots: tokens.unrevokedRoots,
  rootsOf: tokens.rootsOf,
  describeToken: tokens.describeToken,
  admit: admission.admit,
  settle: settlement.settle,
  append: settlement.append,
  renewLeases: settlement.renewLeases,
  busyUntil: settlement.busyUntil,
  releaseLeases: settlement.release,
  takePermits: calls.takePermits,
  heartbeat: calls.heartbeat,
  forgetKeys: calls.forgetKeys,
  abandonedIntents: calls.abandonedIntents,
  openIntents: calls.openIntents,
  indeterminate: calls.indeterminate,
  beginStep: compositions.beginStep,
  endStep: compositions.endStep,
  adoptComposition: compositions.adoptComposition,
  returnComposition: compositions.returnComposition,
  rollbackUntil: compositions.rollbackUntil,
  requestApproval: approvals.requestApproval,
  loadApproval: approvals.loadApproval,
  approvalState: approvals.approvalState,
  waitingGrants: approvals.waitingGrants,
  latestApproval: approvals.latestApproval,
  approve: approvals.approve,
  deny: approvals.deny,
  expireApprovals: approvals.expireApprovals,
  listApprovals: lists.listApprovals,
  pendingApprovals: lists.pendingApprovals,
  pendingSides: lists.pendingSides,
  approvalsOf: lists.approvalsOf,
  statesSince: lists.statesSince,
  keptDeclarations: lists.keptDeclarations,
  keepDeclarations: lists.keepDeclarations,
  staleApprovals: lists.staleApprovals,
  takeDeliveries: deliveries.takeDeliveries,
  finishDelivery: deliveries.finishDelivery,
  listDeliveries: deliveries.listDeliveries,
  freeze: operators.freeze,
  freezesUnder: operators.freezesUnder,
  listFreezes: operators.listFreezes,
  voidPromises: operators.voidPromises,
  beginSession: signIn.beginSession,
  findSession: signIn.findSession,
  touchSession: signIn.touchSession,
  endSessions: signIn.endSessions,
  listSessions: signIn.listSessions,
  livingSessions: signIn.livingSessions,
  insertConsent: signIn.insertConsent,
  findConsent: signIn.findConsent,
  listConsents: signIn.listConsents,
  renewConsent: signIn.renewConsent,
  findAccount: signIn.findAccount,
  replaceAccount: signIn.replaceAccount,
  insertPasskey: passkeys.insertPasskey,
  listPasskeys: passkeys.listPasskeys,
  removePasskey: passkeys.removePasskey,
  insertIdentity: people.insertIdentity,
  findIdentity: people.findIdentity,
  identitiesOf: people.identitiesOf,
  listIdentities: people.listIdentities,
  findConnected: people.findConnected,
  listConnected: people.listConnected,
  connect: people.connect,
  replaceConnected: people.replaceConnected,
  endConnected: people.endConnected,
  sealRows,
  scanRows,
  queryEntries: logReads.queryEntries,
  scanEntries: logReads.scanEntries,
  findLeaf: logReads.findLeaf,
  nodes: logReads.readNodes,
  origins: logReads.readOrigins,
  beginOrigin: logReads.beginOrigin,
  erase,
  readLedger,
  insertCheckpoint: checkpoints.insertCheckpoint,
  lastCheckpoint: checkpoints.lastCheckpoint,
  loadCheckpoint: checkpoints.loadCheckpoint,
  listCheckpoints: checkpoints.listCheckpoints,
  insertCosignature: checkpoints.insertCosignature,
  cosignatures: checkpoints.cosignatures,
  lead: checkpoints.lead,
};

/** Transitions that use the clock of the store. */
const TIMED = {
  load: calls.load,
  reconcile: settlement.reconcile,
  unfreeze: operators.unfreeze,
  removeIdentity: people.removeIdentity,
};

type Act<Given extends unknown[]> = (...all: [...Given, ...never[]]) => unknown;

type Methods<Given extends unknown[], Acts> = {
  [Name in keyof Acts]: Acts[Name] extends (...all: [...Given, ...infer Args]) => infer Result
    ? (...args: Args) => Promise<Result>
    : never;
};

/** The acts of a table as methods of a store. */
function bound<Given extends unknown[], Acts extends Record<string, Act<Given>>>(
  acts: Acts,
  call: (act: Act<Given>, args: never[]) => Promise<unknown>,
): Methods<Given, Acts> {
  const methods = Object.entries(acts).map(([name, act]) => {
    return [name, (...args: never[]) => call(act, args)];
  });
  return Object.fromEntries(methods);
}

function erasures(database: MemoryDatabase): Map<string, number> {
  return new Map(database.erasures.entries());
}

/** The id of the first log: that of the database, which gets one when its first store opens. */
function nameLog(database: MemoryDatabase, { platform }: MemoryOptions): string {
  const named = factOf(database, 'log');
  if (named !== undefined) return named;
  const logId = newUuid(platform);
  return database.journal.run(() => {
    setFact(database, 'log', logId);
    database.log.beginFirst(logId);
    return logId;
  });
}
