/**
 * Calls that were not finished: the entry that closes them, and how operators reconcile them.
 *
 * @module
 */

import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { eventClassOf } from '../../domain/invocation/observability.ts';
import { isWritable } from '../../domain/values/money.ts';
import type { IndeterminateInvocation, ReconcileAnswer } from '../../protocol/operator.ts';
import type { Money } from '../../protocol/primitives.ts';
import type { IntentRecord } from '../../storage/port/records.ts';
import { capabilityOf } from '../author/definition.ts';
import { notOperator, operatorEntry, operatorList } from '../authority/freeze.ts';
import { bytesOf, type Call, invokeAnswer, moneyOf, readFacts } from '../call/call.ts';
import { audited } from '../caller/audited.ts';
import { acted, actorOf, callerOf, type TokenCaller } from '../caller/caller.ts';
import { entryBy } from '../caller/entries.ts';
import { type Answer, type Ask, requestOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Close } from './recovery.ts';

/** Bounds the list that operators work through. The oldest come first. */
const INDETERMINATE_SHOWN_MAX = 1_000;
const INDETERMINATE_READ_MAX = 32;

/** Closes an abandoned call from its intent: its process ended before it recorded an outcome. */
export function closeAbandoned(parts: ServiceParts): Close {
  return async (intent) => {
    const { ids, detail, ...facts } = readFacts(intent);
    const found = failure(
      'outcome_unknown',
      'Cannot report the outcome of the call: the process that ran it ended',
    );
    const caller = { principal: intent.subject, root_principal: intent.root_principal };
    const capability = capabilityOf(parts.definition, intent.capability);
    const entry = entryBy(parts, caller, {
      entry_type: 'invocation',
      ...ids,
      capability: intent.capability,
      event_class: eventClassOf(capability, false),
      state: 'indeterminate',
      failure_type: found.type,
      token_id: intent.token_id,
      parameters_digest: facts.parametersDigest,
      approval_request_id: facts.approvalRequestId,
      approval_grant_id: facts.approvalGrantId,
      cost_actual: chargedBy(intent) ?? undefined,
      detail,
      retention: capability?.observability?.retention,
    });
    const call: Call = {
      ids,
      caller: await admittedCaller(parts, intent),
      capability,
      charge: intent.charge,
      budget: 'unsettled',
      rates: [],
    };
    const body = invokeAnswer(parts, call, { state: 'indeterminate', failure: found }, entry);
    return { entry, answer: bytesOf(body) };
  };
}

/** The caller of an admitted call, unless its token is gone. A revoked token still counts. */
export async function admittedCaller(
  { store }: ServiceParts,
  { token_id, subject, root_principal }: IntentRecord,
): Promise<TokenCaller | undefined> {
  const loaded = await store.load({ tokenId: token_id });
  const { token } = loaded;
  if (!token) return undefined;
  const { caller_class } = token;
  return { kind: 'token', principal: subject, root_principal, caller_class, token, loaded };
}

export function listIndeterminate(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return operatorList(parts, ask, {
    name: 'indeterminate',
    limit: INDETERMINATE_SHOWN_MAX,
    readMax: INDETERMINATE_READ_MAX,
    read: (limit, last) => parts.store.indeterminate(limit, last?.operation_id),
    view: viewOf,
  });
}

/** Records once what an unknown outcome was. `not_executed` refunds the charge. */
export async function reconcile(parts: ServiceParts, ask: Ask): Promise<ReconcileAnswer> {
  return audited(parts, await callerOf(parts, ask), 'operator', async (caller) => {
    refuse(notOperator(caller, 'reconcile'));
    const { invocation_id, outcome, reason } = requestOf('operator.reconcile', ask);
    const refund = outcome === 'not_executed';
    const entry = () =>
      operatorEntry(parts, caller, 'reconcile', { invocation_id, outcome, reason });
    const intent = acted(
      await parts.store.reconcile(invocation_id, refund, entry, { actor: actorOf(caller) }),
    );
    if (!intent) {
      const detail = `Cannot reconcile "${invocation_id}": no such call is of unknown outcome`;
      throw new Refusal(failure('not_found', detail));
    }
    return { invocation_id, outcome, refunded: refund ? chargedBy(intent) : null };
  });
}

function viewOf(intent: IntentRecord): IndeterminateInvocation {
  return {
    invocation_id: intent.invocation_id,
    capability: intent.capability,
    root_principal: intent.root_principal,
    subject: intent.subject,
    token_id: intent.token_id,
    charged: chargedBy(intent),
    admitted_at: intent.admitted_at.toISOString(),
  };
}

/**
 * The charge; null for an amount that no call can have. fsck reports such a row, and the list still
 * works.
 */
function chargedBy({ charge }: IntentRecord): Money | null {
  return charge && isWritable(charge.amount, charge.currency) ? moneyOf(charge) : null;
}
