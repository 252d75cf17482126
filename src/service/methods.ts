/**
 * The methods of a service by operation: which rows of the operations table it offers, and who answers each.
 *
 * @module
 */

import { listAgents } from './agents/agents.ts';
import { readDecision } from './approval/decision.ts';
import { issueGrant } from './approval/grants.ts';
import { denyRequest, listRequests, readRequest } from './approval/requests.ts';
import { listDeliveries } from './approval/webhooks.ts';
import { freeze, frozen, unfreeze } from './authority/freeze.ts';
import { issueToken } from './authority/issue.ts';
import { createPermissions } from './authority/permissions.ts';
import { addIdentity, listIdentities, removeIdentity } from './authority/stored-identities.ts';
import { revokeToken, viewToken } from './authority/tokens.ts';
import { dryRun } from './invoke/dry-run.ts';
import type { InvokeParts } from './invoke/handler.ts';
import { listIndeterminate, reconcile } from './invoke/indeterminate.ts';
import { invoke } from './invoke/invoke.ts';
import { queryAudit } from './log/audit.ts';
import type { Ask, Method, Methods } from './operations/operations.ts';
import type { ServiceParts } from './operations/parts.ts';

export function authorityMethods(parts: InvokeParts): Methods {
  const answering =
    (method: (parts: ServiceParts, ask: Ask) => Promise<object>): Method =>
    async (ask) => ({ body: await method(parts, ask) });
  return {
    'tokens.issue': answering(issueToken),
    'tokens.revoke': answering(revokeToken),
    'tokens.get': answering(viewToken),
    'agents.list': answering(listAgents),
    permissions: createPermissions(parts),
    invoke: (ask) => invoke(parts, ask),
    test: (ask) => dryRun(parts, ask),
    'audit.query': (ask) => queryAudit(parts, ask),
    'operator.freeze': answering(freeze),
    'operator.unfreeze': answering(unfreeze),
    'operator.frozen': (ask) => frozen(parts, ask),
    'operator.indeterminate': (ask) => listIndeterminate(parts, ask),
    'operator.reconcile': answering(reconcile),
    'operator.deliveries': (ask) => listDeliveries(parts, ask),
    'identities.list': (ask) => listIdentities(parts, ask),
    'identities.add': answering(addIdentity),
    'identities.remove': answering(removeIdentity),
  };
}

/** Bound only when a capability can require approval. */
export function approvalMethods(parts: ServiceParts): Methods {
  const capabilities = [...parts.definition.catalog.capabilities.values()];
  if (!capabilities.some(({ approval }) => approval)) return {};
  return {
    'approval_grants.issue': (ask) => issueGrant(parts, ask),
    'approval_requests.list': (ask) => listRequests(parts, ask),
    'approval_requests.get': (ask) => readRequest(parts, ask),
    'approval_requests.decision': (ask) => readDecision(parts, ask),
    'approval_requests.deny': async (ask) => ({ body: await denyRequest(parts, ask) }),
  };
}
