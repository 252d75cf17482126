/**
 * Composition: the part of a declaration that makes one capability of several steps.
 *
 * @module
 */

import * as z from 'zod';
import { CapabilityName, FieldName, JsonObject } from './primitives.ts';

/** A longer sequence belongs into a handler. */
export const COMPOSITION_STEPS_MAX = 16;

/** `$.input.a.b` or `$.steps.<id>.output.a.b`: own properties, by name. */
export const MappingPath = z
  .string()
  .max(512)
  .regex(
    /^\$\.(?:input|steps\.[A-Za-z][A-Za-z0-9_-]*\.output)(?:\.[A-Za-z0-9_-]+)*$/,
    'expected "$.input.name" or "$.steps.<id>.output.name"',
  );

export const CompositionStep = z.strictObject({
  id: FieldName,
  capability: CapabilityName,
  empty_result_source: z.boolean().optional(),
  empty_result_path: z
    .string()
    .regex(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/, 'expected a path inside the output')
    .optional(),
});
export type CompositionStep = z.infer<typeof CompositionStep>;

export const FailurePolicy = z.enum(['propagate', 'fail_parent', 'compensate']);
export const EmptyResultPolicy = z.enum(['return_success_no_results', 'clarify', 'deny']);

export const AuditPolicy = z.strictObject({
  record_child_invocations: z.boolean(),
  parent_task_lineage: z.boolean(),
});

export const Composition = z.strictObject({
  authority_boundary: z.literal('same_service'),
  steps: z.array(CompositionStep).min(1).max(COMPOSITION_STEPS_MAX),
  input_mapping: z.record(FieldName, z.record(FieldName, MappingPath)),
  output_mapping: z.record(FieldName, MappingPath),
  failure_policy: FailurePolicy,
  empty_result_policy: EmptyResultPolicy.optional(),
  empty_result_output: JsonObject.optional(),
  audit_policy: AuditPolicy,
  step_authority: z.enum(['caller', 'service']).default('caller'),
});
export type Composition = z.infer<typeof Composition>;
