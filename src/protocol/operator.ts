/**
 * Operators' requests: the kill switch, unknown outcomes, sealing now, and deliveries.
 *
 * Strict: an operator acts under pressure, and a misspelt target must not freeze something else.
 *
 * @module
 */

import * as z from 'zod';
import { Checkpoint } from './audit.ts';
import {
  ApprovalRequestId,
  boundedText,
  CapabilityName,
  cursorOf,
  ID_LENGTH_MAX,
  InvocationId,
  Money,
  nextOf,
  optional,
  PRINCIPAL,
  Principal,
  pageSize,
  partialSchema,
  Reason,
  Timestamp,
  TokenId,
} from './primitives.ts';

export const FreezeTarget = z.enum(['root_principal', 'capability', 'service']);
export type FreezeTarget = z.infer<typeof FreezeTarget>;

const Target = {
  what: FreezeTarget,
  target: optional(boundedText(2 * ID_LENGTH_MAX)),
  /** With a capability: only the calls of this root principal. */
  root_principal: optional(Principal),
};

/** A target is required, except for the whole service. */
function namesItsTarget({ what, target }: { what: FreezeTarget; target?: string | undefined }) {
  return (what === 'service') === (target === undefined);
}
const TARGET_RULE = {
  message: 'expected a target for a root_principal or a capability, and none for the service',
  path: ['target'],
};

function namesAPrincipal({ what, target }: { what: FreezeTarget; target?: string | undefined }) {
  return what !== 'root_principal' || target === undefined || PRINCIPAL.test(target);
}
const PRINCIPAL_RULE = { message: 'expected a principal', path: ['target'] };

function narrowsACapability(named: { what: FreezeTarget; root_principal?: string | undefined }) {
  return named.what === 'capability' || named.root_principal === undefined;
}
const NARROWING_RULE = { message: 'expected only with a capability', path: ['root_principal'] };

/** The same three rules for the API description. A field that is null is left out. */
const TARGET_SCHEMA = {
  allOf: [
    {
      if: partialSchema({ what: { const: 'service' } }),
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, in an object that nothing awaits.
      then: partialSchema({ target: { type: 'null' } }),
      else: partialSchema({ target: { type: 'string' } }, ['target']),
    },
    {
      if: partialSchema({ what: { const: 'root_principal' } }),
      // biome-ignore lint/suspicious/noThenProperty: likewise.
      then: partialSchema({ target: { pattern: PRINCIPAL.source } }),
    },
    {
      if: partialSchema({ what: { not: { const: 'capability' } } }),
      // biome-ignore lint/suspicious/noThenProperty: likewise.
      then: partialSchema({ root_principal: { type: 'null' } }),
    },
  ],
};

export const FreezeRequest = z
  .strictObject({ ...Target, reason: Reason, until: optional(Timestamp) })
  .refine(namesItsTarget, TARGET_RULE)
  .refine(namesAPrincipal, PRINCIPAL_RULE)
  .refine(narrowsACapability, NARROWING_RULE)
  .meta(TARGET_SCHEMA);
export type FreezeRequest = z.output<typeof FreezeRequest>;

export const UnfreezeRequest = z
  .strictObject({ ...Target, reason: Reason })
  .refine(namesItsTarget, TARGET_RULE)
  .refine(namesAPrincipal, PRINCIPAL_RULE)
  .refine(narrowsACapability, NARROWING_RULE)
  .meta(TARGET_SCHEMA);
export type UnfreezeRequest = z.output<typeof UnfreezeRequest>;

export const Freeze = z.object({
  what: FreezeTarget,
  target: z.string().nullable(),
  /** The one root principal that a capability is frozen for. */
  root_principal: Principal.nullable(),
  reason: z.string(),
  frozen_by: Principal,
  frozen_at: Timestamp,
  until: Timestamp.nullable(),
});
export type Freeze = z.infer<typeof Freeze>;

/** A page has at most 1 MiB, so it may have fewer items than its limit. */
const FREEZE_PAGE_MAX = 1_000;

/** In characters: fits a target with a principal of any characters. */
const FREEZE_CURSOR_MAX = 4_096;

const FreezeCursor = cursorOf(FREEZE_CURSOR_MAX);

export const FrozenRequest = z.object({
  limit: pageSize(FREEZE_PAGE_MAX, FREEZE_PAGE_MAX),
  cursor: optional(FreezeCursor),
});
export type FrozenRequest = z.output<typeof FrozenRequest>;

export const FrozenAnswer = z.object({
  frozen: z.array(Freeze),
  next_cursor: nextOf(FreezeCursor),
});
export type FrozenAnswer = z.infer<typeof FrozenAnswer>;

export const UnfreezeAnswer = z.object({ lifted: z.boolean() });
export type UnfreezeAnswer = z.infer<typeof UnfreezeAnswer>;

/** A call that was admitted and whose outcome is not recorded. It stays charged. */
export const IndeterminateInvocation = z.object({
  invocation_id: InvocationId,
  capability: CapabilityName,
  root_principal: Principal,
  subject: Principal,
  token_id: TokenId,
  charged: Money.nullable(),
  admitted_at: Timestamp,
});
export type IndeterminateInvocation = z.infer<typeof IndeterminateInvocation>;

export const IndeterminateAnswer = z.object({ indeterminate: z.array(IndeterminateInvocation) });
export type IndeterminateAnswer = z.infer<typeof IndeterminateAnswer>;

export const ReconcileRequest = z.strictObject({
  invocation_id: InvocationId,
  outcome: z.enum(['executed', 'not_executed']),
  reason: Reason,
});
export type ReconcileRequest = z.output<typeof ReconcileRequest>;

export const ReconcileAnswer = z.object({
  invocation_id: InvocationId,
  outcome: z.enum(['executed', 'not_executed']),
  refunded: Money.nullable(),
});
export type ReconcileAnswer = z.infer<typeof ReconcileAnswer>;

export const SealAnswer = z.object({ checkpoint: Checkpoint });
export type SealAnswer = z.infer<typeof SealAnswer>;

export const DeliveryState = z.enum(['pending', 'delivered', 'failed']);

export const Delivery = z.object({
  delivery_id: z.string(),
  event: z.enum(['requested', 'granted', 'denied', 'expired']),
  approval_request_id: ApprovalRequestId,
  target: z.string(),
  state: DeliveryState,
  attempts: z.int().nonnegative(),
  last_error: z.string().nullable(),
  next_attempt_at: Timestamp.nullable(),
  delivered_at: Timestamp.nullable(),
});
export type Delivery = z.infer<typeof Delivery>;

export const DeliveriesAnswer = z.object({ deliveries: z.array(Delivery) });
export type DeliveriesAnswer = z.infer<typeof DeliveriesAnswer>;
