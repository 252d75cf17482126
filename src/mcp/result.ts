/**
 * Makes the result of a tool from an answer: structured content for programs, text for a model.
 *
 * The structured content is the whole answer, also of a failure, so that nothing is lost on this
 * surface. The text says what went wrong and what to do next. It follows from the failure's action,
 * which the service decided.
 *
 * @module
 */

import { isDuration } from '../domain/values/duration.ts';
import { parseMoment } from '../domain/values/moment.ts';
import type { Failure, FailureAnswer, FailureType, ResolutionAction } from '../protocol/failure.ts';
import type { InvokeAnswer } from '../protocol/invocation.ts';
import type { JsonObject } from '../protocol/primitives.ts';

export type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent: JsonObject;
  isError: boolean;
};

/**
 * `fields` are those that the capability declares for its output. `faultyMeta` are names in `_meta` for
 * which the service refuses the call; the service does not know that they came from `_meta`.
 */
export function toolResultOf(
  answer: InvokeAnswer | FailureAnswer,
  fields: readonly string[] = [],
  faultyMeta: readonly string[] = [],
): ToolResult {
  if (!answer.success) {
    const isOfMeta = answer.failure.type === 'invalid_parameters' && faultyMeta.length > 0;
    if (isOfMeta) return blamingMeta(answer, faultyMeta);
    return resultOf({ ...answer }, failureAdvice(answer.failure), true);
  }
  const result = withFields(answer.result, fields);
  return resultOf({ ...answer, result }, JSON.stringify(result), false);
}

/** Names in one message. The next answer names the other faults. */
const NAMES_MAX = 8;

function blamingMeta(answer: FailureAnswer, faulty: readonly string[]): ToolResult {
  const names = faulty.slice(0, NAMES_MAX).map((name) => JSON.stringify(name.slice(0, 100)));
  const detail = `Cannot use ${names.join(', ')} of "_meta": ${answer.failure.detail}`;
  const failure = { ...answer.failure, detail };
  const advice = `correct ${names.join(', ')} in "_meta", or leave it out; the arguments can stay as they are`;
  return resultOf({ ...answer, failure }, failureAdvice(failure, advice), true);
}

function resultOf(structuredContent: JsonObject, text: string, isError: boolean): ToolResult {
  return { content: [{ type: 'text', text }], structuredContent, isError };
}

/**
 * A client rejects a result that lacks a field of the schema, even if the call had an effect.
 * Null means omitted here as everywhere.
 */
function withFields(result: JsonObject, fields: readonly string[]): JsonObject {
  const missing = fields.filter((field) => !Object.hasOwn(result, field));
  if (missing.length === 0) return result;
  return { ...result, ...Object.fromEntries(missing.map((field) => [field, null])) };
}

/** What went wrong, and the next step, one line each. */
export function failureAdvice(failure: Failure, nextStep?: string): string {
  const {
    type,
    detail,
    resolution,
    approval_request_id: request,
    decision_url: page,
    clarify = [],
  } = failure;
  const { action, requires, grantable_by, estimated_availability } = resolution;
  return [
    `${type}: ${detail}`,
    `What to do: ${nextStep ?? ADVICE_ON_TYPE.get(type) ?? ADVICE[action]}.`,
    requires?.length && `Needed: ${requires.join(', ')}.`,
    grantable_by && `Can be granted by: ${grantable_by}.`,
    estimated_availability && `When: ${whenOf(estimated_availability)}.`,
    request && `Approval request: ${request}.`,
    page && `Page where an approver decides: ${page}`,
    ...clarify.map(({ input, reason, candidates }) => {
      const among = candidates ? `; choose one of ${JSON.stringify(candidates)}` : '';
      return `Input "${input}" is ${reason}${among}.`;
    }),
  ]
    .filter(Boolean)
    .join('\n');
}

/** The availability is a duration, a time, or a word. */
function whenOf(availability: string): string {
  if (isDuration(availability)) return `in ${availability}`;
  return parseMoment(availability) === undefined ? availability : `at ${availability}`;
}

/** Where the type says more than the action. */
const ADVICE_ON_TYPE: ReadonlyMap<string, string> = new Map<FailureType, string>([
  ['invalid_token', 'ask for a new token; every call with this one fails'],
  ['token_expired', 'ask for a new token; every call with this one fails'],
  [
    'principal_class_not_admitted',
    'use another tool, or tell the user: this tool is not for the principal of your token, and other tools may be',
  ],
  [
    'delegation_depth_exceeded',
    'ask for a token that was delegated fewer times; other tools may still take this one',
  ],
  [
    'account_required',
    'tell the user to open the address and connect the account there; then call the tool again with the same arguments',
  ],
  [
    'approval_grant_invalid',
    'where you sent `svc_approval_grant`, call the tool again with the same arguments and without it; otherwise stop and tell the user why the approval does not fit this call',
  ],
  [
    'approval_request_decided',
    'stop and tell the user: the approval was denied, and the service refuses the same call until the expiry of that request',
  ],
]);

const ADVICE = {
  retry_now: 'call the tool again now',
  provide_credentials: 'the connection has no valid credential; ask the person who set it up',
  wait_and_retry: 'wait, then call the tool again with the same arguments',
  revalidate_state:
    'check the current state first; the call may have had an effect, so do not repeat it without checking',
  check_manifest:
    'correct the arguments (list the tools again if needed); the same call would fail again',
  provide_input:
    'find the values of these inputs, ask the user where you do not know them, and call the tool again with them',
  request_new_delegation: 'ask for a new token; this tool refuses this one',
  request_broader_scope: 'ask for a token with the missing scope; do not try to work around it',
  request_capability_binding: 'ask for a token for this capability and task',
  request_budget_increase: 'choose something cheaper, or ask for a token with a larger budget',
  request_budget_bound_delegation: 'ask for a token that has a budget',
  obtain_matching_currency: 'ask for a token whose budget is in the currency of the cost',
  obtain_quote_first: 'get a quote that pins the price first, and call with it',
  obtain_binding: 'get the missing value from the tool that issues it, and call with it',
  refresh_binding: 'get a fresh value from the tool that issues it, and call with that one',
  request_approval:
    'tell the user that a person must approve the request; once it is approved, call the tool again with the same arguments',
  invoke_as_root_principal:
    'stop and tell the user: only the person who delegated the authority can do this',
} as const satisfies Record<ResolutionAction, string>;
