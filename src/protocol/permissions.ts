/**
 * Permissions: what a token may do, what it lacks, and how to obtain that.
 *
 * @module
 */

import * as z from 'zod';
import { ControlRequirementType } from './capability.ts';
import { CapabilityName, JsonObject, Principal } from './primitives.ts';

export const ReasonType = z.enum([
  'insufficient_scope',
  'insufficient_delegation_depth',
  'stronger_delegation_required',
  'unmet_control_requirement',
  'non_delegable',
]);
export type ReasonType = z.infer<typeof ReasonType>;

export const AvailableCapability = z.object({
  capability: CapabilityName,
  scope_match: z.string(),
  constraints: JsonObject,
});
export type AvailableCapability = z.infer<typeof AvailableCapability>;

export const DeniedCapability = z.object({
  capability: CapabilityName,
  reason: z.string(),
  reason_type: ReasonType,
});
export type DeniedCapability = z.infer<typeof DeniedCapability>;

export const RestrictedCapability = DeniedCapability.extend({
  grantable_by: Principal.optional(),
  unmet_token_requirements: z.array(ControlRequirementType).optional(),
  resolution_hint: z.string().optional(),
});
export type RestrictedCapability = z.infer<typeof RestrictedCapability>;

export const PermissionsAnswer = z.object({
  available: z.array(AvailableCapability),
  restricted: z.array(RestrictedCapability),
  denied: z.array(DeniedCapability),
});
export type PermissionsAnswer = z.infer<typeof PermissionsAnswer>;
