/**
 * Delegation tokens: request, answer, and claims of the signed text.
 *
 * Request schemas are strict: a misspelt constraint of a token must not be ignored.
 *
 * @module
 */

import * as z from 'zod';
import { CURRENCY_EXPONENTS } from './currencies.ts';
import {
  Amount,
  Budget,
  CallerClass,
  CallerId,
  CapabilityName,
  Digest,
  JsonObject,
  Money,
  optional,
  Principal,
  SCOPES_PER_TOKEN_MAX,
  Scope,
  ServiceId,
  Timestamp,
  TokenId,
} from './primitives.ts';

export const TTL_HOURS_DEFAULT = 2;

/** The default of the longest lifetime of a root token. */
export const TTL_HOURS_MAX_DEFAULT = 720;

/** The purpose is part of the token, and a token must fit into a header of 8 KiB. */
const PURPOSE_LENGTH_MAX = 2_048;

export const ConcurrentBranches = z.enum(['allowed', 'exclusive']);
export type ConcurrentBranches = z.infer<typeof ConcurrentBranches>;

const ScopeList = z
  .array(Scope)
  .min(1)
  .max(SCOPES_PER_TOKEN_MAX)
  .refine((scopes) => new Set(scopes).size === scopes.length, { message: 'a scope appears twice' })
  .meta({ uniqueItems: true });

/**
 * Opaque except for the keys that rules read: these two, and `only_capabilities`, which authorization
 * reads. A null value means absent (decision 01).
 */
export const Purpose = z
  .looseObject({ task_id: CallerId.nullish(), session_id: CallerId.nullish() })
  .transform(
    (purpose): JsonObject =>
      Object.fromEntries(Object.entries(purpose).filter(([, value]) => value != null)),
  )
  .refine((purpose) => JSON.stringify(purpose).length <= PURPOSE_LENGTH_MAX, {
    message: `expected at most ${PURPOSE_LENGTH_MAX} characters`,
  });

/** Conditions on the arguments of calls, by capability and path. `domain/conditions` reads them. */
const AskedConditions = z
  .record(CapabilityName, z.unknown())
  .describe(
    'Conditions on the arguments of calls, by capability and by path of the value, such as `{"refund_order": {"amount": {"at_least": 0, "at_most": 50}}}`. A child inherits what it does not state.',
  );

/** In canonical form: by capability, path and operator. */
export const WireConditions = z.record(
  CapabilityName,
  z.record(z.string(), z.record(z.string(), z.unknown())),
);
export type WireConditions = z.infer<typeof WireConditions>;

/** A requested budget, in a currency of the table. */
const AskedBudget = Budget.extend({
  currency: z.enum([...CURRENCY_EXPONENTS.keys()], {
    error: 'expected an active ISO 4217 code such as "USD"',
  }),
});

export const IssueRequest = z.strictObject({
  scope: ScopeList,
  capability: optional(CapabilityName),
  subject: optional(Principal),
  parent_token: optional(TokenId),
  purpose_parameters: optional(Purpose),
  budget: optional(AskedBudget),
  caller_class: optional(CallerClass),
  concurrent_branches: optional(ConcurrentBranches),
  ttl_hours: optional(z.number().positive()),
  max_delegation_depth: optional(z.int().nonnegative()),
  session_id: optional(CallerId),
  conditions: optional(AskedConditions),
});
export type IssueRequest = z.output<typeof IssueRequest>;

export const IssueAnswer = z.object({
  issued: z.literal(true),
  token_id: TokenId,
  token: z.string(),
  scope: z.array(Scope),
  capability: CapabilityName.nullable(),
  task_id: CallerId.nullable(),
  budget: Budget.nullable(),
  /** Its own and the inherited ones; absent in the answer of a service that knows none. */
  conditions: WireConditions.nullable().optional(),
  expires_at: Timestamp,
  expires: Timestamp,
});
export type IssueAnswer = z.infer<typeof IssueAnswer>;

/** A NumericDate in whole seconds. */
const Seconds = z.int().nonnegative();

/** The claims of the JWT. Strict: an unknown claim is a forgery or a defect. */
export const DelegationClaims = z.strictObject({
  iss: ServiceId,
  aud: ServiceId,
  sub: Principal,
  jti: TokenId,
  iat: Seconds,
  exp: Seconds,
  expires: Timestamp,
  scope: z.array(Scope),
  capability: CapabilityName.optional(),
  purpose: JsonObject.optional(),
  constraints: z.strictObject({
    budget: Budget.optional(),
    max_delegation_depth: z.int().nonnegative(),
    /** `shape` is the digest of the inputs that the capability had when it was conditioned. */
    conditions: z
      .record(CapabilityName, z.strictObject({ shape: Digest, where: JsonObject }))
      .optional(),
  }),
  concurrent_branches: ConcurrentBranches,
  caller_class: CallerClass,
  parent_token_id: TokenId.optional(),
  root_principal: Principal,
  session_id: CallerId.optional(),
});
export type DelegationClaims = z.infer<typeof DelegationClaims>;

export const RevokeRequest = z.strictObject({ token_id: TokenId });
export type RevokeRequest = z.output<typeof RevokeRequest>;

/** Bounds the time to count for the answer of a revocation to some seconds. */
export const ENDED_COUNT_MAX = 100_000;

export const RevokeAnswer = z.object({
  revoked: z.literal(true),
  token_id: TokenId,
  ended: z
    .int()
    .nonnegative()
    .describe(
      `The tokens that were alive until now: this one and its descendants, counted up to ${ENDED_COUNT_MAX}. Fewer where the store failed before all were counted.`,
    ),
  revoked_at: Timestamp,
});
export type RevokeAnswer = z.infer<typeof RevokeAnswer>;

export const TokenRequest = z.object({ token_id: TokenId });

export const TokenState = z.enum(['active', 'expired', 'revoked']);

/** The view of a stored token for its holder, an ancestor's holder or an operator. Never contains its text. */
export const TokenView = z.object({
  token_id: TokenId,
  state: TokenState,
  subject: Principal,
  root_principal: Principal,
  parent_token_id: TokenId.nullable(),
  depth: z.int().nonnegative(),
  scope: z.array(Scope),
  capability: CapabilityName.nullable(),
  purpose: JsonObject.nullable(),
  budget: Budget.nullable(),
  budget_spent: Amount.nullable(),
  budget_reserved: Amount.nullable(),
  budget_remaining: Amount.nullable(),
  /** The cost beyond the reservation, of calls under the token or its descendants. */
  debts: z.array(Money),
  conditions: WireConditions.nullable().optional(),
  max_delegation_depth: z.int().nonnegative(),
  concurrent_branches: ConcurrentBranches,
  caller_class: CallerClass,
  session_id: CallerId.nullable(),
  issued_at: Timestamp,
  expires_at: Timestamp,
  revoked_at: Timestamp.nullable(),
  children: z.array(TokenId),
  children_count: z.int().nonnegative(),
});
export type TokenView = z.infer<typeof TokenView>;
