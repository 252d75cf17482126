/**
 * The rules of a declaration, in words: who may use a capability, when people must approve, what else holds.
 *
 * @module
 */

import { approvalRule, ruleWords } from '../../../domain/conditions/words.ts';
import { spanOf } from '../../../domain/sign-in/consent-words.ts';
import { parseDuration } from '../../../domain/values/duration.ts';
import type { ApprovalDeclaration, Capability } from '../../../protocol/capability.ts';
import type { ResolutionAction } from '../../../protocol/failure.ts';
import { counted } from '../counted.ts';

/** Sentences about the rules that a call must satisfy. Approval has sentences of its own. */
export function rulesOf(capability: Capability): string[] {
  const { delegable, principal_classes, max_delegation_depth, rate_limit } = capability;
  return [
    delegable ? undefined : 'Only the root principal may use it; it cannot be delegated',
    principal_classes && `Only callers of these kinds may use it: ${principal_classes.join(', ')}`,
    max_delegation_depth === undefined
      ? undefined
      : `At most ${counted(max_delegation_depth, 'delegation')} below the root token`,
    rate_limit &&
      `At most ${counted(rate_limit.limit, 'call')} in ${durationWords(rate_limit.window)}`,
    ...(capability.control_requirements ?? []).map(({ type }) => CONTROLS[type]),
    ...(capability.requires_binding ?? []).map(bindingWords),
    capability.on_overrun && 'A cost above what was reserved freezes it for that root principal',
    capability.response_modes.includes('streaming') ? 'Can answer as a stream' : undefined,
    ...retentionWords(capability),
  ].filter((sentence) => sentence !== undefined);
}

const CONTROLS = {
  cost_ceiling: 'The token of the call must have a budget',
  stronger_delegation_required: 'The token of the call must be bound to this capability',
} as const;

function bindingWords({
  field,
  type,
  source_capability,
  max_age,
}: NonNullable<Capability['requires_binding']>[number]): string {
  const from = source_capability === undefined ? '' : ` from ${source_capability}`;
  const age = max_age === undefined ? '' : `, at most ${durationWords(max_age)} old`;
  return `The input ${field} must be a ${type}${from}${age}`;
}

function retentionWords({ observability }: Capability): string[] {
  if (!observability) return [];
  const { retention, fields_logged: fields } = observability;
  return [
    ...(fields?.length ? [`The log records these fields: ${fields.join(', ')}`] : []),
    ...(retention ? [`The log keeps personal data for ${durationWords(retention)}`] : []),
  ];
}

/** When approval is needed, by how many, and what a grant can allow. */
export function approvalSentences(approval: ApprovalDeclaration): string[] {
  const { when, approvals_required: count, grant_policy: policy } = approval;
  const lifetime = spanOf(policy.expires_in_seconds * 1_000);
  const types = policy.allowed_grant_types.map((type) => GRANTS[type]).join(' or ');
  return [
    `${count === 1 ? 'One person approves' : `${count} people approve`} ${whenWords(when)}`,
    `A grant is ${types}, for at most ${lifetime} and ${counted(policy.max_uses, 'use')}`,
  ];
}

const GRANTS = { one_time: 'for one call', session_bound: 'for one session' } as const;

function whenWords(when: ApprovalDeclaration['when']): string {
  if (when === 'always') return 'every call';
  if ('condition' in when) return `a call when ${when.condition}`;
  const rule = approvalRule(when);
  return rule ? `a call ${ruleWords(rule)}` : 'every call';
}

export function durationWords(text: string): string {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) return text;
  return milliseconds < 60_000 ? `${milliseconds / 1_000} s` : spanOf(milliseconds);
}

/** What a person can do after a refusal. */
export const NEXT_STEP = {
  retry_now: 'Try again.',
  provide_credentials: 'Sign in again.',
  wait_and_retry: 'Wait, then try again.',
  revalidate_state: 'Look at the current state first, then try again.',
  check_manifest: 'Compare the call with the declaration on this page.',
  provide_input: 'Complete or correct the inputs.',
  request_new_delegation: 'A new delegation is needed.',
  request_broader_scope: 'A delegation with more scopes is needed.',
  request_capability_binding: 'A delegation that is bound to this capability is needed.',
  request_budget_increase: 'A larger budget is needed, or a cheaper call.',
  request_budget_bound_delegation: 'A delegation with a budget is needed.',
  obtain_matching_currency: 'A budget in the currency of the price is needed.',
  obtain_quote_first: 'Get a quote first: it fixes the price.',
  obtain_binding: 'Call the capability that this input comes from first.',
  refresh_binding: 'Get a new value: the one given is too old.',
  request_approval: 'An approver must approve the call.',
  invoke_as_root_principal: 'Only the root principal can make this call, not an agent.',
} as const satisfies Record<ResolutionAction, string>;
