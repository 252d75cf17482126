/**
 * Notices: what the configured targets receive about an approval request.
 *
 * The store inserts a notice together with the change it reports, so no notice is lost and none
 * reports a change that did not happen. A notice names the request, the requester and the decision.
 * Receivers read parameters and preview from the service, where permissions are checked; people follow the link to the
 * page of the request, and sign in there. `card.ts` makes what people read in Slack and by email.
 *
 * @module
 */

import type { WebhookTarget } from '../../config/webhook.ts';
import { toHex } from '../../domain/wire/hash.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { ApprovalRecord, DeliveryRecord } from '../../storage/port/records.ts';
import { capabilityOf } from '../author/definition.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { type Card, cardOf } from './card.ts';
import { emailBody, slackBody } from './card-body.ts';

export type Notice = DeliveryRecord['event'];

/** One notice for each target that subscribes to the event. */
export function noticesOf(
  parts: Pick<ServiceParts, 'config' | 'store' | 'definition' | 'platform' | 'decisionUrl'>,
  event: Notice,
  request: ApprovalRecord,
): DeliveryRecord[] {
  const { config, store, definition, platform } = parts;
  const decisionUrl = parts.decisionUrl(request.approval_request_id) ?? null;
  const payload: JsonObject = {
    type: `approval.${event}`,
    timestamp: store.now().toISOString(),
    data: { service_id: definition.id, ...factsOf(request), decision_url: decisionUrl },
  };
  const card = () => {
    const inputs = definition.code.get(request.capability)?.approval?.card_inputs ?? [];
    const capability = capabilityOf(definition, request.capability);
    const serviceId = definition.id;
    return cardOf({ event, request, capability, serviceId, inputs, link: decisionUrl });
  };
  return config.webhooks
    .filter(({ events }) => events.includes(event))
    .map((target) => ({
      delivery_id: `msg_${toHex(platform.random(16))}`,
      event,
      approval_request_id: request.approval_request_id,
      target: target.name,
      payload: target.format === 'standard' ? payload : cardPayload(target, card()),
      state: 'pending',
      attempts: 0,
    }));
}

/** Without `email` the format is that of Slack: the configuration requires it for email. */
function cardPayload({ email }: WebhookTarget, card: Card): JsonObject {
  return email ? emailBody(card, email) : slackBody(card);
}

function factsOf(request: ApprovalRecord): JsonObject {
  return {
    approval_request_id: request.approval_request_id,
    capability: request.capability,
    contract_version: request.contract_version,
    requester: { subject: request.subject, root_principal: request.root_principal },
    requested_parameters_digest: request.parameters_digest,
    preview_digest: request.preview_digest ?? null,
    approvals_required: request.approvals_required,
    approvals: request.approvals.length,
    status: request.status,
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
    decided_at: request.decided_at?.toISOString() ?? null,
    decided_by: request.decided_by ?? null,
    reason: request.reason ?? null,
    grant_id: request.grant_id ?? null,
  };
}
