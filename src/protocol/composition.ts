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
  /** The name of the step in paths. @example 'search' */
  id: FieldName,
  /** The capability that the step runs. @example 'search_flights' */
  capability: CapabilityName,
  /** The `empty_result_policy` applies when this step finds nothing. @example true */
  empty_result_source: z.boolean().optional(),
  /** Where in the step's output the list is that may be empty. @example 'flights' */
  empty_result_path: z
    .string()
    .regex(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/, 'expected a path inside the output')
    .optional(),
});
export type CompositionStep = z.infer<typeof CompositionStep>;

export const FailurePolicy = z.enum(['propagate', 'fail_parent', 'compensate']);
export const EmptyResultPolicy = z.enum(['return_success_no_results', 'clarify', 'deny']);

export const AuditPolicy = z.strictObject({
  /** Each step has an entry of its own. @example true */
  record_child_invocations: z.boolean(),
  /** Entries of steps name the task of the whole. @example true */
  parent_task_lineage: z.boolean(),
});

export const Composition = z.strictObject({
  /** Steps run in this service alone. @example 'same_service' */
  authority_boundary: z.literal('same_service'),
  /** What runs, one after the other. @example [{ id: 'search', capability: 'search_flights' }] */
  steps: z.array(CompositionStep).min(1).max(COMPOSITION_STEPS_MAX),
  /** Where each step's parameters come from, by step and input. @example { search: { origin: '$.input.origin' } } */
  input_mapping: z.record(FieldName, z.record(FieldName, MappingPath)),
  /** Where each field of the result comes from. @example { booking_id: '$.steps.book.output.booking_id' } */
  output_mapping: z.record(FieldName, MappingPath),
  /** What a failed step does: its failure is passed on, fails the whole, or undoes the steps before it. @example 'compensate' */
  failure_policy: FailurePolicy,
  /** How the call ends when a step finds nothing; the next step runs without it. @example 'return_success_no_results' */
  empty_result_policy: EmptyResultPolicy.optional(),
  /** The result when a step found nothing. @example { flights: [] } */
  empty_result_output: JsonObject.optional(),
  /** What the log has of the steps. @example { record_child_invocations: true, parent_task_lineage: true } */
  audit_policy: AuditPolicy,
  /** Whose scopes the steps need: those of the caller, or none beside the ones of the whole. @example 'service' */
  step_authority: z.enum(['caller', 'service']).default('caller'),
});
export type Composition = z.infer<typeof Composition>;
