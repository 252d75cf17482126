/**
 * A withheld log: nothing is appended while the log does not extend what was signed.
 *
 * `guardedStore` wraps the store. It refuses transitions that write an entry or follow from one.
 * Background sweeps find nothing to do. Reads, heartbeats and rate permits go on. Operations call
 * `refuseWithheld` before they run author code, so no handler acts without an entry.
 *
 * @module
 */

import { type Store, StoreUnavailable } from '../../storage/port/store.ts';

/** Sent to callers. Readiness shows operators the reason. */
const RUNBOOK = 'docs/operating.md, "When nothing is appended to the log"';

/** The request had no effect. Requests are refused until an operator has decided. */
export class LogWithheld extends StoreUnavailable {
  constructor() {
    super(`nothing is appended to the log until an operator has looked at it; see ${RUNBOOK}`);
  }
}

/** Returns the reason, for operators; `undefined` when the log may grow. */
export type Withheld = () => string | undefined;

/** Called by operations before they run anything that an entry has to record. */
export function refuseWithheld({ withheld }: { readonly withheld: Withheld }): void {
  if (withheld() !== undefined) throw new LogWithheld();
}

/** The same store, which appends nothing while the log is withheld. */
export function guardedStore(store: Store, withheld: Withheld): Store {
  const guarded = Object.entries(WHILE_WITHHELD).flatMap(([name, rest]) => {
    if (rest === 'goes_on') return [];
    const call = (...args: unknown[]) => {
      const transition = store[name as keyof Store] as (...args: unknown[]) => Promise<unknown>;
      if (withheld() === undefined) return transition(...args);
      return rest === 'refused' ? Promise.reject(new LogWithheld()) : Promise.resolve(rest.nothing);
    };
    return [[name, call]];
  });
  // All other methods are those of the store.
  return Object.assign(Object.create(store) as Store, Object.fromEntries(guarded));
}

/**
 * How a method behaves while the log is withheld: as usual, refused, or answered with `nothing`.
 */
type Rest = 'goes_on' | 'refused' | { readonly nothing: unknown };

/** Every method of the port needs a row here to compile. */
const WHILE_WITHHELD = {
  insertRoot: 'refused',
  insertChild: 'refused',
  revokeToken: 'refused',
  admit: 'refused',
  settle: 'refused',
  append: 'refused',
  reconcile: 'refused',
  beginStep: 'refused',
  endStep: 'refused',
  requestApproval: 'refused',
  approve: 'refused',
  deny: 'refused',
  finishDelivery: 'refused',
  freeze: 'refused',
  unfreeze: 'refused',
  beginSession: 'refused',
  endSessions: 'refused',
  insertConsent: 'refused',
  renewConsent: 'refused',
  insertPasskey: 'refused',
  removePasskey: 'refused',
  insertIdentity: 'refused',
  removeIdentity: 'refused',
  connect: 'refused',
  endConnected: 'refused',
  voidPromises: 'refused',
  insertCheckpoint: 'refused',
  insertCosignature: 'refused',
  beginOrigin: 'refused',
  // A copy of unknown age may have identities that were removed since, so none counts.
  findIdentity: 'refused',
  identitiesOf: { nothing: [] },
  listIdentities: 'goes_on',
  lead: { nothing: false },
  abandonedIntents: { nothing: [] },
  adoptComposition: { nothing: undefined },
  expireApprovals: { nothing: 0 },
  takeDeliveries: { nothing: [] },
  forgetKeys: { nothing: 0 },
  erase: { nothing: 0 },
  keepDeclarations: { nothing: undefined },
  approvalState: 'goes_on',
  backlog: 'goes_on',
  busyUntil: 'goes_on',
  childrenOf: 'goes_on',
  close: 'goes_on',
  cosignatures: 'goes_on',
  describeToken: 'goes_on',
  erasures: 'goes_on',
  findAccount: 'goes_on',
  findConnected: 'goes_on',
  findConsent: 'goes_on',
  findLeaf: 'goes_on',
  findSession: 'goes_on',
  freezesUnder: 'goes_on',
  heartbeat: 'goes_on',
  indeterminate: 'goes_on',
  inspect: 'goes_on',
  keptDeclarations: 'goes_on',
  lastCheckpoint: 'goes_on',
  listApprovals: 'goes_on',
  pendingApprovals: 'goes_on',
  pendingSides: 'goes_on',
  approvalsOf: 'goes_on',
  statesSince: 'goes_on',
  listCheckpoints: 'goes_on',
  listConnected: 'goes_on',
  listConsents: 'goes_on',
  listPasskeys: 'goes_on',
  listDeliveries: 'goes_on',
  listFreezes: 'goes_on',
  listSessions: 'goes_on',
  livingSessions: 'goes_on',
  load: 'goes_on',
  loadApproval: 'goes_on',
  waitingGrants: 'goes_on',
  latestApproval: 'goes_on',
  loadCheckpoint: 'goes_on',
  logId: 'goes_on',
  nodes: 'goes_on',
  now: 'goes_on',
  onOtherCopy: 'goes_on',
  openIntents: 'goes_on',
  origins: 'goes_on',
  figures: 'goes_on',
  probe: 'goes_on',
  queryEntries: 'goes_on',
  readLedger: 'goes_on',
  releaseLeases: 'goes_on',
  renewLeases: 'goes_on',
  // The identity provider has already replaced the refresh token that this stores.
  replaceAccount: 'goes_on',
  // Likewise.
  replaceConnected: 'goes_on',
  returnComposition: 'goes_on',
  rollbackUntil: 'goes_on',
  rootsOf: 'goes_on',
  scanEntries: 'goes_on',
  scanRows: 'goes_on',
  sealRows: 'goes_on',
  sequence: 'goes_on',
  staleApprovals: 'goes_on',
  takePermits: 'goes_on',
  touchSession: 'goes_on',
  treeHead: 'goes_on',
  unrevokedRoots: 'goes_on',
} as const satisfies Record<keyof Store, Rest>;
