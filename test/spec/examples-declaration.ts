/**
 * Capability declarations, manifest and discovery, as the tables of the specification have them.
 *
 * @module
 */

import { type Examples, HASH, only, TIME, whole } from './example.ts';
import { open } from './openness.ts';

const step = { id: 'search', capability: 'search_flights' };
const fullStep = { ...step, empty_result_source: true, empty_result_path: 'flights' };

const auditPolicy = { record_child_invocations: true, parent_task_lineage: true };

const composition = {
  authority_boundary: 'same_service',
  steps: [fullStep],
  input_mapping: open('mapping', {
    search: open('mapping', { destination: '$.input.destination' }),
  }),
  output_mapping: open('mapping', { flights: '$.steps.search.output.flights' }),
  failure_policy: 'propagate',
  empty_result_policy: 'return_success_no_results',
  empty_result_output: open('empty_result_output', { flights: [] }),
  audit_policy: auditPolicy,
  step_authority: 'service',
};

const minimalComposition = {
  ...only(composition, 'authority_boundary', 'input_mapping', 'output_mapping', 'failure_policy'),
  steps: [step],
  audit_policy: auditPolicy,
};

const resolution = {
  mode: 'closed_values',
  resolver_ref: 'airports',
  on_missing: 'clarify',
  on_ambiguous: 'app_select_or_clarify',
  on_unresolved: 'deny',
};

const input = {
  name: 'destination',
  type: 'string',
  required: false,
  default: open('default', { code: 'CDG' }),
  description: 'Where to',
  semantic_type: 'entity_reference',
  entity_reference: true,
  allowed_values: open('allowed_values', ['CDG', { code: 'ORY' }]),
  catalog_ref: 'airports',
  input_meanings: open('input_meanings', { CDG: 'Paris' }),
  resolution,
};
const minimalInput = only(input, 'name', 'type');

const output = { type: 'booking', fields: ['booking_id'] };

const sideEffect = {
  type: 'transactional',
  rollback_window: 'PT24H',
  compensation: 'cancel_booking',
};

const financial = {
  currency: 'USD',
  amount: 300,
  upper_bound: 900,
  range_min: 200,
  range_max: 800,
  typical: 420,
};

const cost = {
  certainty: 'estimated',
  financial,
  compute: open('compute', { expected_duration: 'PT2S', memory: { mb: 64 } }),
  determined_by: 'search_flights',
};

const binding = {
  type: 'quote',
  field: 'quote_id',
  source_capability: 'search_flights',
  max_age: 'PT15M',
};

const control = { type: 'cost_ceiling', enforcement: 'reject' };

const reference = { service: 'hotel-service', capability: 'book_hotel' };
const crossService = {
  handoff_to: [reference],
  refresh_via: [reference],
  verify_via: [reference],
  followup_via: [reference],
};

export const grantPolicy = {
  allowed_grant_types: ['one_time', 'session_bound'],
  default_grant_type: 'one_time',
  expires_in_seconds: 900,
  max_uses: 3,
};

const above = { amount_above: 1_000, input: 'price' };
const approval = { when: above, grant_policy: grantPolicy, approvals_required: 2 };
const minimalApproval = { when: 'always', grant_policy: grantPolicy };

const rateLimit = { limit: 10, window: 'PT1M' };
const observability = { logged: true, retention: 'P90D', fields_logged: ['booking_id'] };

const ownFailure = {
  type: 'seat_taken',
  description: 'another booking has the seat',
  retry: false,
  action: 'revalidate_state',
};

const declaration = {
  description: 'Book a flight',
  contract_version: '1.2.0',
  inputs: [input],
  output,
  side_effect: sideEffect,
  minimum_scope: ['travel.book'],
  cost,
  requires: [{ capability: 'search_flights', reason: 'a flight has to be found first' }],
  kind: 'composed',
  composition,
  business_effects: { produces: ['booking'], does_not_produce: ['payment'] },
  requires_binding: [binding],
  control_requirements: [control],
  response_modes: ['unary', 'streaming'],
  observability,
  refresh_via: ['search_flights'],
  verify_via: ['get_booking'],
  cross_service: crossService,
  delegable: false,
  principal_classes: ['human'],
  max_delegation_depth: 2,
  rate_limit: rateLimit,
  on_overrun: 'freeze',
  approval,
  failure_types: [ownFailure],
};

const minimalDeclaration = {
  ...only(declaration, 'description', 'contract_version', 'output', 'minimum_scope'),
  inputs: [minimalInput],
  side_effect: { type: 'read' },
};

const trust = { level: 'anchored', anchoring: { cadence: 'PT1H' } };
const minimalTrust = { level: 'declarative' };

const summary = {
  description: 'Book a flight',
  side_effect: { type: 'transactional' },
  minimum_scope: ['travel.book'],
  financial: true,
};

const discovery = {
  version: '0.24',
  protocol: 'svc/0.24',
  service_id: 'travel-service',
  endpoints: open('endpoints', { manifest: '/svc/manifest', tokens: '/svc/tokens' }),
  // Not in the table: decision 0027.
  surfaces: open('surfaces', { mcp: '/mcp' }),
  capabilities: open('capabilities', { book_flight: summary }),
  trust,
  // Not in the table: decision 0044.
  manifest_access: 'authenticated',
  metadata_disclosure: {
    caller_class: 'default',
    failure_detail: 'reduced',
    classes: [{ caller_class: 'internal', failure_detail: 'full' }],
  },
};
const minimalDiscovery = {
  ...only(discovery, 'version', 'protocol', 'service_id', 'endpoints', 'capabilities'),
  trust: minimalTrust,
};

const manifest = {
  manifest_metadata: { version: '0.24', sha256: HASH, issued_at: TIME, expires_at: TIME },
  service_identity: {
    id: 'travel-service',
    jwks_uri: 'https://travel.example.com/.well-known/jwks.json',
    issuer_mode: 'self',
  },
  trust,
  capabilities: open('capabilities', { book_flight: declaration }),
};
const minimalManifest = {
  ...only(manifest, 'manifest_metadata', 'service_identity'),
  trust: minimalTrust,
  capabilities: open('capabilities', { book_flight: minimalDeclaration }),
};

const key = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  kid: 'cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s',
  use: 'sig',
  alg: 'ES256',
};

const node = {
  capability: 'book_hotel',
  service: 'hotel-service',
  side_effect: 'write',
  kind: 'atomic',
};
const edge = {
  type: 'cross_service',
  from: 'book_flight',
  to: 'book_hotel',
  service: 'hotel-service',
  relation: 'handoff_to',
  reason: 'a trip needs a bed',
};
const minimalNode = only(node, 'capability');
const minimalEdge = only(edge, 'type', 'from', 'to');

const handshake = {
  protocol_versions: ['0.24'],
  capabilities: open('asked', { search: '^1.0.0' }),
};
const compatible = {
  compatible: true,
  protocol_version: '0.24',
  capabilities: open('capabilities', { search: { compatible: true, contract_version: '1.2.0' } }),
};
const unknown = {
  compatible: false,
  protocol_version: '0.24',
  capabilities: open('capabilities', { gone: { compatible: false, contract_version: null } }),
};

export const DECLARATION_EXAMPLES: Examples = {
  CompositionStep: [{ full: fullStep, minimal: step }],
  AuditPolicy: [whole(auditPolicy)],
  Composition: [{ full: composition, minimal: minimalComposition }],
  InputResolution: [{ full: resolution, minimal: { mode: 'closed_values' } }],
  Input: [{ full: input, minimal: minimalInput }],
  Output: [whole(output)],
  SideEffect: [{ full: sideEffect, minimal: { type: 'read' } }],
  FinancialCost: [{ full: financial, minimal: { currency: 'USD' } }],
  Cost: [{ full: cost, minimal: { certainty: 'fixed' } }],
  BindingRequirement: [{ full: binding, minimal: { type: 'quote', field: 'quote_id' } }],
  ControlRequirement: [{ full: control, minimal: { type: 'cost_ceiling' } }],
  ServiceCapabilityRef: [whole(reference)],
  CrossService: [{ full: crossService, minimal: {} }],
  GrantPolicy: [whole(grantPolicy)],
  ApprovalCondition: [
    whole('always'),
    { full: above, minimal: { amount_above: 1_000 } },
    whole({ condition: 'the traveller is not an employee' }),
  ],
  FailureDeclaration: [whole(ownFailure)],
  ApprovalDeclaration: [{ full: approval, minimal: minimalApproval }],
  RateLimit: [whole(rateLimit)],
  Observability: [{ full: observability, minimal: {} }],
  CapabilityDeclaration: [{ full: declaration, minimal: minimalDeclaration }],
  Trust: [{ full: trust, minimal: minimalTrust }],
  CapabilitySummary: [whole(summary)],
  Discovery: [{ full: discovery, minimal: minimalDiscovery }],
  DiscoveryAnswer: [
    { full: { svc_discovery: discovery }, minimal: { svc_discovery: minimalDiscovery } },
  ],
  PublicKey: [whole(key)],
  Jwks: [{ full: { keys: [key], svc_successors: ['eyJ.eyJ.AAAA'] }, minimal: { keys: [key] } }],
  Manifest: [{ full: manifest, minimal: minimalManifest }],
  GraphNode: [{ full: node, minimal: minimalNode }],
  GraphEdge: [{ full: edge, minimal: minimalEdge }],
  Graph: [
    {
      full: { nodes: [node], edges: [edge] },
      minimal: { nodes: [minimalNode], edges: [minimalEdge] },
    },
  ],
  GraphRequest: [whole({ capability: 'book_flight' })],
  HandshakeRequest: [{ full: handshake, minimal: {} }],
  HandshakeAnswer: [whole(compatible), whole(unknown)],
};
