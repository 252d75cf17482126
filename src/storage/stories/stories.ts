/**
 * The stories of the store: which read, and which change.
 *
 * @module
 */

import * as checkpoints from '../log/checkpoints.ts';
import { erasures } from '../log/erase.ts';
import * as tree from '../log/tree.ts';
import * as lists from './approval-lists.ts';
import * as approvals from './approvals.ts';
import * as calls from './calls.ts';
import * as compositions from './compositions.ts';
import * as connected from './connected.ts';
import * as declarations from './declarations.ts';
import * as deliveries from './deliveries.ts';
import * as freezes from './freezes.ts';
import * as identities from './identities.ts';
import * as invitations from './invitations.ts';
import * as passkeys from './passkeys.ts';
import * as rows from './rows.ts';
import * as signIn from './sign-in.ts';
import * as tokens from './tokens.ts';

/** Without a lock, of one statement. */
export const READS = {
  childrenOf: tokens.childrenOf,
  unrevokedRoots: tokens.unrevokedRoots,
  rootsOf: tokens.rootsOf,
  describeToken: tokens.describeToken,
  busyUntil: calls.busyUntil,
  abandonedIntents: calls.abandonedIntents,
  openIntents: calls.openIntents,
  indeterminate: calls.indeterminate,
  rollbackUntil: compositions.rollbackUntil,
  loadApproval: approvals.loadApproval,
  approvalState: approvals.approvalState,
  waitingGrants: approvals.waitingGrants,
  latestApproval: approvals.latestApproval,
  listApprovals: lists.listApprovals,
  pendingApprovals: lists.pendingApprovals,
  pendingSides: lists.pendingSides,
  approvalsOf: lists.approvalsOf,
  statesSince: lists.statesSince,
  listPasskeys: passkeys.listPasskeys,
  findPasskey: passkeys.findPasskey,
  freezesUnder: freezes.freezesUnder,
  listFreezes: freezes.listFreezes,
  findConnected: connected.findConnected,
  listConnected: connected.listConnected,
  treeHead: tree.treeHead,
  origins: tree.origins,
  erasures,
  lastCheckpoint: checkpoints.lastCheckpoint,
  loadCheckpoint: checkpoints.loadCheckpoint,
  listCheckpoints: checkpoints.listCheckpoints,
  cosignatures: checkpoints.cosignatures,
  findIdentity: identities.findIdentity,
  identitiesOf: identities.identitiesOf,
  listIdentities: identities.listIdentities,
  findInvitation: invitations.findInvitation,
  openInvitations: invitations.openInvitations,
  openInvitationOf: invitations.openInvitationOf,
  waitingInvitations: invitations.waitingInvitations,
  keptDeclarations: declarations.keptDeclarations,
  staleApprovals: declarations.staleApprovals,
  listDeliveries: deliveries.listDeliveries,
  scanRows: rows.scanRows,
  figures: rows.figures,
  findSession: signIn.findSession,
  listSessions: signIn.listSessions,
  livingSessions: signIn.livingSessions,
  findConsent: signIn.findConsent,
  listConsents: signIn.listConsents,
  findAccount: signIn.findAccount,
};

/** Changes of one statement. */
export const WRITES = {
  heartbeat: calls.heartbeat,
  forgetKeys: calls.forgetKeys,
  beginStep: compositions.beginStep,
  returnComposition: compositions.returnComposition,
  replaceConnected: connected.replaceConnected,
  insertCheckpoint: checkpoints.insertCheckpoint,
  insertCosignature: checkpoints.insertCosignature,
  lead: checkpoints.lead,
  takeDeliveries: deliveries.takeDeliveries,
  finishDelivery: deliveries.finishDelivery,
  touchSession: signIn.touchSession,
  replaceAccount: signIn.replaceAccount,
};

/** Whole or not at all. */
export const CHANGES = {
  revokeToken: tokens.revokeToken,
  renewLeases: calls.renewLeases,
  endStep: compositions.endStep,
  adoptComposition: compositions.adoptComposition,
  freeze: freezes.freeze,
  unfreeze: freezes.unfreeze,
  voidPromises: freezes.voidPromises,
  sealRows: rows.sealRows,
  requestApproval: approvals.requestApproval,
  approve: approvals.approve,
  deny: approvals.deny,
  expireApprovals: approvals.expireApprovals,
  insertPasskey: passkeys.insertPasskey,
  removePasskey: passkeys.removePasskey,
  connect: connected.connect,
  endConnected: connected.endConnected,
  insertIdentity: identities.insertIdentity,
  removeIdentity: identities.removeIdentity,
  insertInvitation: invitations.insertInvitation,
  tryCode: invitations.tryCode,
  enrol: invitations.enrol,
  cancelInvitation: invitations.cancelInvitation,
  keepDeclarations: declarations.keepDeclarations,
  beginSession: signIn.beginSession,
  endSessions: signIn.endSessions,
  insertConsent: signIn.insertConsent,
  renewConsent: signIn.renewConsent,
};

/** A repetition changes nothing and answers the same, so after a lost answer PostgreSQL repeats it until it has one. */
export const REPEATABLE: ReadonlySet<string> = new Set<keyof typeof WRITES | keyof typeof CHANGES>([
  'beginStep',
  'endStep',
  'returnComposition',
]);
