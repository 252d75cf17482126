/**
 * Approval policies as authors write them. `createService()` checks each policy, and a start
 * compares it with the configured identities.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import { isBarredAgent } from '../../domain/authority/approver.ts';
import { isPrincipalPattern } from '../../domain/authority/principal.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { type Fault, fault } from '../../domain/catalog/fault.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Catalog } from '../../protocol/capability.ts';
import type { ApprovalPolicy, DefinedCapability } from './define.ts';

/** How long a request waits for its decision when the policy sets no lifetime. */
const REQUEST_LIFETIME_DEFAULT_MS = 86_400_000;

/** A month. A request that old no longer describes the world it was made in. */
const REQUEST_LIFETIME_MAX_MS = 30 * 86_400_000;

/** A signing key stays published for as long as a token may live by default: 720 hours. */
const GRANT_LIFETIME_SECONDS_MAX = 720 * 3_600;

/** Bounds the votes that one request stores and one grant names. */
const APPROVALS_REQUIRED_MAX = 16;

/** Faults in the private part of a policy. The catalog checks the public part. */
export function approvalFaults({ name, approval }: DefinedCapability): Fault[] {
  if (!approval) return [];
  const at = (field: string, found: string) => [fault(name, `approval.${field}`, found)];
  const { request_lifetime: lifetime, separation, approvals_required = 1 } = approval;
  const lifetimeMs = requestLifetimeOf(approval);
  const stray = (approval.approvers ?? []).filter((pattern) => !isPrincipalPattern(pattern));
  return [
    ...(lifetimeMs > 0 && lifetimeMs <= REQUEST_LIFETIME_MAX_MS
      ? []
      : at('request_lifetime', `"${lifetime}" is not a duration of at most 30 days`)),
    ...(separation === undefined || separation === 'root'
      ? []
      : at('separation', `"${separation}" is not "root"`)),
    ...stray.flatMap((each) =>
      at('approvers', `"${each}" is neither a principal nor a pattern with one "*"`),
    ),
    ...(approvals_required > APPROVALS_REQUIRED_MAX
      ? at('approvals_required', `at most ${APPROVALS_REQUIRED_MAX} approvers can be asked for`)
      : []),
    ...(approval.grant_policy?.expires_in_seconds > GRANT_LIFETIME_SECONDS_MAX
      ? at('grant_policy.expires_in_seconds', `at most ${GRANT_LIFETIME_SECONDS_MAX} seconds`)
      : []),
    ...codeFaults(approval).flatMap((field) => at(field, 'expected a function')),
  ];
}

export function requestLifetimeOf({ request_lifetime: lifetime }: ApprovalPolicy): number {
  return lifetime === undefined ? REQUEST_LIFETIME_DEFAULT_MS : (parseDuration(lifetime) ?? 0);
}

export function approverScope(capability: string): string {
  return `approver:${capability}`;
}

/** The part of a service definition that approvals depend on. */
interface ApprovedService {
  readonly catalog: Catalog;
  readonly code: ReadonlyMap<string, { readonly approval?: ApprovalPolicy | undefined }>;
}

/** One sentence for each capability that too few configured identities can approve. */
export function missingApprovers(
  { catalog, code }: ApprovedService,
  config: Pick<Config, 'identities' | 'entitlements'>,
): string[] {
  return [...catalog.capabilities.values()].flatMap(({ name, approval }) => {
    if (!approval) return [];
    const policy = code.get(name)?.approval ?? {};
    const may = (scopes: readonly string[], principal: string) =>
      scopes.some((scope) => entitles(scope, approverScope(name))) &&
      !isBarredAgent(principal.replace('*', 'x'), policy);
    // A rule can match any number of people.
    const rules = config.entitlements.some(({ scopes, principals }) =>
      principals.some((principal) => may(scopes, principal)),
    );
    if (rules) return [];
    const people = config.identities.filter(({ scopes, principal }) => may(scopes, principal));
    const count = new Set(people.map(({ principal }) => principal)).size;
    if (count === 0) return [`No approver is configured for "${name}"`];
    if (count >= approval.approvals_required) return [];
    return [`"${name}" needs ${approval.approvals_required} approvers: ${count} is configured`];
  });
}

/** JavaScript authors may omit the predicate, or pass a text instead of a function. */
function codeFaults({ when, preview }: ApprovalPolicy): string[] {
  const isCondition = typeof when === 'object' && when !== null && 'condition' in when;
  return [
    ...(isCondition && typeof when.needed !== 'function' ? ['when.needed'] : []),
    ...(preview !== undefined && typeof preview !== 'function' ? ['preview'] : []),
  ];
}
