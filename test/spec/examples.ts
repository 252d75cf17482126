/**
 * An example of everything that travels, by the name of its schema.
 *
 * Where a page names the fields, they are copied from that page. Shapes that no page shows (a token's
 * view, the graph, a dry run's answer, operators' answers) follow the schemas, so for those the tests
 * only hold that schema and example change together.
 *
 * @module
 */

import type { Examples } from './example.ts';
import { AUTHORITY_EXAMPLES } from './examples-authority.ts';
import { DECLARATION_EXAMPLES } from './examples-declaration.ts';
import { EXPORT_EXAMPLES } from './examples-export.ts';
import { INVOCATION_EXAMPLES } from './examples-invocation.ts';

export const EXAMPLES: Examples = {
  ...DECLARATION_EXAMPLES,
  ...AUTHORITY_EXAMPLES,
  ...INVOCATION_EXAMPLES,
  ...EXPORT_EXAMPLES,
};

/** Requests of callers: in these an optional field that is null counts as left out. */
export const REQUESTS: readonly string[] = [
  'Nothing',
  'IssueRequest',
  'RevokeRequest',
  'TokenRequest',
  'TestRequest',
  'InvokeRequest',
  'GrantRequest',
  'ApprovalListRequest',
  'ApprovalReadRequest',
  'DenyRequest',
  'AuditQuery',
  'CheckpointListRequest',
  'CheckpointReadRequest',
  'FreezeRequest',
  'FrozenRequest',
  'UnfreezeRequest',
  'ReconcileRequest',
  'GraphRequest',
  'HandshakeRequest',
];

/** Where a misspelt field must never be dropped. Everything else ignores what it does not know. */
export const STRICT: readonly string[] = [
  // Decisions 3: where authority is made.
  'IssueRequest',
  'RevokeRequest',
  'GrantRequest',
  'ApprovalListRequest',
  'ApprovalReadRequest',
  'DenyRequest',
  'Budget',
  // A misspelt filter shows more than was asked for.
  'AuditQuery',
  // An operator acts under pressure.
  'FreezeRequest',
  'UnfreezeRequest',
  'ReconcileRequest',
  // What we signed has no claim that we did not write.
  'DelegationClaims',
  // An amount beside anything else is not the amount that was checked.
  'Money',
  // What nobody knows in an export nobody verifies.
  'LogHeader',
  'TrailHeader',
  'ExportHeader',
  'LogLine',
  'TrailLine',
  // Declarations, and every part of one.
  'CapabilityDeclaration',
  'Input',
  'InputResolution',
  'Output',
  'SideEffect',
  'Cost',
  'FinancialCost',
  'BindingRequirement',
  'ControlRequirement',
  'ServiceCapabilityRef',
  'CrossService',
  'ApprovalCondition',
  'ApprovalDeclaration',
  'FailureDeclaration',
  'GrantPolicy',
  'RateLimit',
  'Observability',
  'Composition',
  'CompositionStep',
  'AuditPolicy',
];
