/**
 * The store as the service uses it: how each method of the port is traced, withheld and sealed.
 *
 * `METHODS` is the list, and `serviceStore` makes the wrapper from it once, at the start. The result has the type of
 * the port, and a method without anything to add is that of the database. A call of a method passes, in this order:
 *
 * 1. *sealed*: rows get their MACs, and the MACs of rows that are read are verified (`sealing.ts`).
 * 2. *withheld*: while the log does not extend what was signed, nothing is appended (`operations/withheld.ts`). Transitions
 *    that write an entry or follow from one are refused. Background tasks find nothing to do. Reads, heartbeats and
 *    rate permits go on.
 * 3. *traced*: a span of the call, where the service has a tracer.
 *
 * @module
 */

import type { Store } from '../../storage/port/store.ts';
import { NO_TRACER, spanned, type Tracer } from '../operations/tracing.ts';
import { LogWithheld, type Withheld } from '../operations/withheld.ts';
import {
  absentUnless,
  createSealing,
  onlyRows,
  onlyRowsOfPage,
  type Sealed,
  type Sealing,
  type SealingOptions,
  sealsAppended,
  sealsApprovalRequest,
  sealsChild,
  sealsFirst,
  sealsResults,
  sealsRevocation,
  sealsRoot,
  sealsSettlement,
  sealsVote,
  verifiesAdmission,
  verifiesCharge,
  verifiesFreezePage,
  verifiesFreezes,
  verifiesLoaded,
  verifiesToken,
} from './sealing.ts';
import {
  sealsConnection,
  sealsConsent,
  sealsConsentRenewal,
  sealsEnrolment,
  sealsRemovedIdentity,
  sealsSession,
  verifiesCode,
  verifiesConsents,
  verifiesEndedSessions,
  verifiesPasskeys,
} from './sealing-people.ts';

export interface ServiceStoreOptions extends SealingOptions {
  readonly tracer?: Tracer | undefined;
  /** Why nothing may be appended now. Without it, the log is never withheld. */
  readonly withheld?: Withheld | undefined;
  /** Called after each revocation of a token. */
  readonly onRevoked?: (() => void) | undefined;
}

/** How the service uses one method of the port: what it answers with `nothing`, and what changes its rows. */
interface Handling<Nothing = unknown, Seals = (next: Method, sealing: Sealing) => Method> {
  /** A span of the call, named after the method. */
  readonly traced?: true;
  /** While the log is withheld: as usual, refused, or answered with `nothing`. */
  readonly withheld: 'goes_on' | 'refused' | { readonly nothing: Nothing };
  /** Adds MACs to the rows that the method writes, or verifies those of the rows that it reads. */
  readonly sealed?: Seals;
  /** Called once the method has succeeded. */
  readonly reported?: 'onRevoked';
}

type Method = (...args: unknown[]) => unknown;

type AnswerOf<Name extends keyof Store> = Store[Name] extends (...args: never[]) => infer Answer
  ? Awaited<Answer>
  : never;

/** Every method of the port needs a row here to compile. */
const METHODS: {
  readonly [Name in keyof Store]-?: Handling<AnswerOf<Name>, Sealed<Name>>;
} = {
  // Tokens.
  insertRoot: { withheld: 'refused', sealed: sealsRoot },
  insertChild: { withheld: 'refused', sealed: sealsChild },
  revokeToken: { withheld: 'refused', sealed: sealsRevocation, reported: 'onRevoked' },
  describeToken: { withheld: 'goes_on', sealed: verifiesToken },
  childrenOf: { withheld: 'goes_on' },
  rootsOf: { withheld: 'goes_on' },
  unrevokedRoots: { withheld: 'goes_on' },

  // Calls.
  load: { traced: true, withheld: 'goes_on', sealed: verifiesLoaded },
  admit: { traced: true, withheld: 'refused', sealed: verifiesAdmission },
  settle: { traced: true, withheld: 'refused', sealed: sealsSettlement },
  append: { traced: true, withheld: 'refused', sealed: sealsAppended },
  takePermits: { traced: true, withheld: 'goes_on' },
  reconcile: { withheld: 'refused', sealed: verifiesCharge },
  busyUntil: { withheld: 'goes_on' },
  renewLeases: { withheld: 'goes_on' },
  releaseLeases: { withheld: 'goes_on' },
  heartbeat: { withheld: 'goes_on' },
  abandonedIntents: { withheld: { nothing: [] } },
  openIntents: { withheld: 'goes_on' },
  indeterminate: { withheld: 'goes_on' },
  forgetKeys: { withheld: { nothing: 0 } },

  // Composed calls.
  beginStep: { traced: true, withheld: 'refused' },
  endStep: { traced: true, withheld: 'refused', sealed: sealsResults },
  adoptComposition: { withheld: { nothing: undefined } },
  returnComposition: { withheld: 'goes_on' },
  rollbackUntil: { withheld: 'goes_on' },

  // Approvals.
  requestApproval: { traced: true, withheld: 'refused', sealed: sealsApprovalRequest },
  approve: { withheld: 'refused', sealed: sealsVote },
  deny: { withheld: 'refused' },
  expireApprovals: { withheld: { nothing: [] } },
  loadApproval: { withheld: 'goes_on', sealed: absentUnless('isApproval') },
  latestApproval: { withheld: 'goes_on' },
  approvalState: { withheld: 'goes_on' },
  waitingGrants: { withheld: 'goes_on', sealed: onlyRows('isGrant') },
  listApprovals: { withheld: 'goes_on', sealed: onlyRowsOfPage('requests', 'isApproval') },
  pendingApprovals: { withheld: 'goes_on', sealed: onlyRowsOfPage('requests', 'isApproval') },
  approvalsOf: { withheld: 'goes_on', sealed: onlyRowsOfPage('requests', 'isApproval') },
  pendingSides: { withheld: 'goes_on' },
  statesSince: { withheld: 'goes_on' },
  takeDeliveries: { withheld: { nothing: [] } },
  finishDelivery: { withheld: 'refused' },
  listDeliveries: { withheld: 'goes_on' },

  // Operators.
  freeze: { withheld: 'refused', sealed: sealsFirst('freeze') },
  unfreeze: { withheld: 'refused' },
  freezesUnder: { withheld: 'goes_on', sealed: verifiesFreezes },
  listFreezes: { withheld: 'goes_on', sealed: verifiesFreezePage },
  voidPromises: { withheld: 'refused' },

  // People.
  beginSession: { withheld: 'refused', sealed: sealsSession },
  findSession: { withheld: 'goes_on', sealed: absentUnless('isSession') },
  touchSession: { withheld: 'goes_on' },
  endSessions: { withheld: 'refused', sealed: verifiesEndedSessions },
  listSessions: { withheld: 'goes_on', sealed: onlyRows('isSession') },
  livingSessions: { withheld: 'goes_on', sealed: onlyRowsOfPage('sessions', 'isSession') },
  findAccount: { withheld: 'goes_on', sealed: absentUnless('isAccount') },
  // The identity provider has already replaced the refresh token that this stores.
  replaceAccount: { withheld: 'goes_on', sealed: sealsFirst('account') },
  insertConsent: { withheld: 'refused', sealed: sealsConsent },
  renewConsent: { withheld: 'refused', sealed: sealsConsentRenewal },
  findConsent: { withheld: 'goes_on', sealed: absentUnless('isConsent') },
  listConsents: { withheld: 'goes_on', sealed: verifiesConsents },
  insertPasskey: { withheld: 'refused', sealed: sealsFirst('passkey') },
  removePasskey: { withheld: 'refused' },
  listPasskeys: { withheld: 'goes_on', sealed: verifiesPasskeys },
  findPasskey: { withheld: 'goes_on', sealed: absentUnless('isPasskey') },
  connect: { withheld: 'refused', sealed: sealsConnection },
  // As for `replaceAccount`.
  replaceConnected: { withheld: 'goes_on', sealed: sealsFirst('connected_account') },
  endConnected: { withheld: 'refused' },
  findConnected: { withheld: 'goes_on', sealed: absentUnless('isConnected') },
  listConnected: { withheld: 'goes_on' },

  insertInvitation: { withheld: 'refused', sealed: sealsFirst('invitation') },
  findInvitation: { withheld: 'goes_on', sealed: absentUnless('isInvitation') },
  openInvitations: { withheld: 'goes_on', sealed: onlyRows('isInvitation') },
  openInvitationOf: { withheld: 'goes_on', sealed: absentUnless('isInvitation') },
  waitingInvitations: { withheld: 'goes_on', sealed: onlyRows('isInvitation') },
  tryCode: { withheld: 'refused', sealed: verifiesCode },
  enrol: { withheld: 'refused', sealed: sealsEnrolment },
  // Ends what a row gives, so also one that does not match.
  cancelInvitation: { withheld: 'refused' },

  // Identities that operators added.
  insertIdentity: { withheld: 'refused', sealed: sealsFirst('identity') },
  removeIdentity: { withheld: 'refused', sealed: sealsRemovedIdentity },
  // A copy of unknown age may have identities that were removed since, so none counts.
  findIdentity: { withheld: 'refused', sealed: absentUnless('isIdentity') },
  identitiesOf: { withheld: { nothing: [] }, sealed: onlyRows('isIdentity') },
  listIdentities: { withheld: 'goes_on', sealed: onlyRowsOfPage('identities', 'isIdentity') },

  // Declarations.
  keptDeclarations: { withheld: 'goes_on' },
  keepDeclarations: { withheld: { nothing: undefined } },
  staleApprovals: { withheld: 'goes_on' },

  // The log.
  sequence: { withheld: 'goes_on' },
  backlog: { withheld: 'goes_on' },
  queryEntries: { withheld: 'goes_on' },
  scanEntries: { withheld: 'goes_on' },
  findLeaf: { withheld: 'goes_on' },
  nodes: { withheld: 'goes_on' },
  treeHead: { withheld: 'goes_on' },
  origins: { withheld: 'goes_on' },
  beginOrigin: { withheld: 'refused' },
  insertCheckpoint: { withheld: 'refused' },
  insertCosignature: { withheld: 'refused' },
  cosignatures: { withheld: 'goes_on' },
  lastCheckpoint: { withheld: 'goes_on' },
  loadCheckpoint: { withheld: 'goes_on' },
  listCheckpoints: { withheld: 'goes_on' },
  erase: { withheld: { nothing: 0 } },
  erasures: { withheld: 'goes_on' },
  lead: { withheld: { nothing: false } },

  // The store as a whole.
  logId: { withheld: 'goes_on' },
  now: { withheld: 'goes_on' },
  probe: { withheld: 'goes_on' },
  figures: { withheld: 'goes_on' },
  pool: { withheld: 'goes_on' },
  inspect: { withheld: 'goes_on' },
  readLedger: { withheld: 'goes_on' },
  scanRows: { withheld: 'goes_on' },
  sealRows: { withheld: 'goes_on' },
  onOtherCopy: { withheld: 'goes_on' },
  close: { withheld: 'goes_on' },
};

/** The same store, used as `METHODS` says. */
export function serviceStore(store: Store, options: ServiceStoreOptions): Store {
  const { tracer = NO_TRACER, withheld, onRevoked } = options;
  const sealing = createSealing(store, options);
  const own: Record<string, Method> = {};
  // Each row fits its own method.
  for (const [name, row] of Object.entries(METHODS as Readonly<Record<string, unknown>>)) {
    const handling = row as Handling;
    const method = store[name as keyof Store] as Method;
    let next = method;
    if (handling.traced && tracer !== NO_TRACER) next = traced(next, tracer, `store.${name}`);
    if (withheld && handling.withheld !== 'goes_on') next = resting(next, withheld, handling);
    if (handling.sealed) next = handling.sealed(next, sealing);
    if (handling.reported && onRevoked) next = reporting(next, onRevoked);
    if (next !== method) own[name] = next;
  }
  // All other methods are those of the database.
  return Object.assign(Object.create(store) as Store, own);
}

function traced(next: Method, tracer: Tracer, span: string): Method {
  return (...args) => spanned(tracer, span, () => next(...args));
}

function resting(
  next: Method,
  isWithheld: Withheld,
  { withheld }: Pick<Handling, 'withheld'>,
): Method {
  return (...args) => {
    if (isWithheld() === undefined) return next(...args);
    if (typeof withheld === 'string') return Promise.reject(new LogWithheld());
    return Promise.resolve(withheld.nothing);
  };
}

function reporting(next: Method, tell: () => void): Method {
  return async (...args) => {
    const answer = await next(...args);
    tell();
    return answer;
  };
}
