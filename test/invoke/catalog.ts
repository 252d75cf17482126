/**
 * A small world of capabilities, one for each rule of invocation, whose handlers count their calls
 * and do whatever a test tells them to.
 *
 * @module
 */

import { defineCapability } from '../../src/service/author/define.ts';
import {
  type AskedInput,
  createService,
  type Resolution,
  type Resolver,
  type ServiceDefinition,
} from '../../src/service/author/definition.ts';
import { createScripts, ONE_TIME, type Script, type Scripts } from '../support/scripts.ts';

export interface World extends Scripts {
  readonly definition: ServiceDefinition;
  /** What the registered resolver answers from now on. */
  resolve(reference: string, answer: Resolution | Resolver): void;
}

const USD = 'USD';
const inUsd = (amount: number) => ({ currency: USD, amount });

const GRANT_POLICY = { ...ONE_TIME, expires_in_seconds: 60 };

export function createWorld(): World {
  const scripts = createScripts();
  const scripted = scripts.handler;
  const answers = new Map<string, Resolution | Resolver>();

  const plain = (name: string) => ({
    name,
    description: `Tests ${name}`,
    minimum_scope: ['w.use'],
    handler: scripted(name),
  });
  const resolver = (reference: string) => (value: unknown, asked: AskedInput) => {
    const answer = answers.get(reference) ?? { unresolved: true };
    return typeof answer === 'function' ? answer(value, asked) : answer;
  };

  const definition = createService({
    id: 'test-world',
    resolvers: { places: resolver('places') },
    capabilities: [
      ...freeCapabilities(plain),
      ...pricedCapabilities(plain, scripted),
      ...guardedCapabilities(plain),
      ...inputCapabilities(plain, scripted),
      ...composedCapabilities(plain),
    ],
  });
  return {
    ...scripts,
    definition,
    resolve: (reference, answer) => void answers.set(reference, answer),
  };
}

type Plain = (name: string) => {
  name: string;
  description: string;
  minimum_scope: string[];
  handler: Script;
};
type Scripted = (name: string, usual?: Script) => Script;

function freeCapabilities(plain: Plain) {
  const note = { name: 'note', type: 'string', required: false } as const;
  return [
    defineCapability({ ...plain('look'), side_effect: 'read', inputs: [note] }),
    defineCapability({ ...plain('touch'), side_effect: 'write', inputs: [note] }),
    defineCapability({ ...plain('hurry'), side_effect: 'write', deadline: '40ms' }),
    defineCapability({ ...plain('glance'), side_effect: 'read', deadline: '40ms' }),
    defineCapability({
      ...plain('watch'),
      side_effect: 'read',
      response_modes: ['streaming'],
    }),
  ];
}

function pricedCapabilities(plain: Plain, scripted: Scripted) {
  const fixed = (amount: number, currency = USD) =>
    ({ certainty: 'fixed', financial: { currency, amount } }) as const;
  const estimated = {
    certainty: 'estimated',
    financial: { currency: USD, range_min: 1, range_max: 100 },
  } as const;
  const quote = {
    type: 'quote',
    field: 'quote',
    source_capability: 'quote',
    max_age: 'PT15M',
  } as const;
  const handle = { name: 'quote', type: 'string' } as const;
  return [
    defineCapability({ ...plain('pay'), side_effect: 'write', cost: fixed(10) }),
    defineCapability({
      ...plain('pay_slowly'),
      side_effect: 'write',
      cost: fixed(10),
      deadline: '40ms',
    }),
    defineCapability({ ...plain('pay_yen'), side_effect: 'write', cost: fixed(1000, 'JPY') }),
    defineCapability({ ...plain('pay_to_read'), side_effect: 'read', cost: fixed(1) }),
    defineCapability({
      ...plain('pay_dynamic'),
      side_effect: 'transactional',
      cost: { certainty: 'dynamic', financial: { currency: USD, upper_bound: 20 } },
    }),
    defineCapability({ ...plain('guess'), side_effect: 'write', cost: estimated }),
    defineCapability({
      ...plain('quote'),
      side_effect: 'read',
      inputs: [
        { name: 'price', type: 'number', required: false },
        { name: 'currency', type: 'string', required: false, default: USD },
        { name: 'capability', type: 'string', required: false, default: 'book' },
        { name: 'type', type: 'string', required: false, default: 'quote' },
      ],
      handler: scripted('quote', ({ price, currency, capability, type }, context) => ({
        quote: context.issueBinding({
          type: String(type),
          capability: String(capability),
          ...(price !== undefined && {
            price: { currency: String(currency), amount: Number(price) },
          }),
          data: { seat: '12A' },
        }),
      })),
    }),
    defineCapability({
      ...plain('book'),
      side_effect: 'irreversible',
      cost: estimated,
      inputs: [handle, { name: 'price', type: 'number', required: false }],
      requires_binding: [quote],
      handler: scripted('book', (_parameters, { bindings }) => ({ bound: bindings.quote ?? null })),
    }),
    defineCapability({
      ...plain('confirm'),
      side_effect: 'write',
      inputs: [handle],
      requires_binding: [{ ...quote, max_age: 'PT1M' }],
    }),
  ];
}

function guardedCapabilities(plain: Plain) {
  const free = (name: string) => ({ ...plain(name), side_effect: 'write' as const });
  return [
    defineCapability({ ...free('secret'), minimum_scope: ['w.use', 'w.secret'] }),
    defineCapability({ ...free('human_only'), principal_classes: ['human'] }),
    defineCapability({ ...free('service_only'), principal_classes: ['service'] }),
    defineCapability({ ...free('root_only'), delegable: false }),
    defineCapability({ ...free('shallow'), max_delegation_depth: 1 }),
    defineCapability({
      ...free('bounded'),
      control_requirements: [{ type: 'cost_ceiling' }],
      cost: { certainty: 'fixed', financial: inUsd(10) },
    }),
    defineCapability({
      ...free('bound'),
      control_requirements: [{ type: 'stronger_delegation_required' }],
    }),
    defineCapability({
      ...free('signed_off'),
      approval: { when: 'always', grant_policy: GRANT_POLICY },
    }),
    defineCapability({
      ...free('everything_wrong'),
      minimum_scope: ['w.secret'],
      principal_classes: ['human'],
      max_delegation_depth: 0,
      control_requirements: [{ type: 'cost_ceiling' }],
      inputs: [
        { name: 'quote', type: 'string' },
        { name: 'size', type: 'integer' },
      ],
      requires_binding: [{ type: 'quote', field: 'quote' }],
      cost: {
        certainty: 'estimated',
        financial: { currency: USD, range_min: 1, range_max: 9 },
      },
    }),
  ];
}

function inputCapabilities(plain: Plain, scripted: Scripted) {
  const echo = (name: string) => ({
    ...plain(name),
    side_effect: 'read' as const,
    handler: scripted(name, (parameters) => ({ got: parameters })),
  });
  return [
    defineCapability({
      ...echo('types'),
      inputs: [
        ...(
          ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'array', 'object'] as const
        ).map((type) => ({ name: `a_${type}`, type, required: false })),
        { name: 'a_hint', type: 'travel:airport', required: false },
        { name: 'constructor', type: 'string', required: false },
      ],
    }),
    defineCapability({
      ...echo('defaults'),
      inputs: [
        { name: 'must', type: 'string' },
        { name: 'may', type: 'integer', required: false },
        { name: 'filled', type: 'integer', required: false, default: 7 },
        { name: 'closed', type: 'string', default: 'a', allowed_values: ['a', 'b'] },
      ],
    }),
    defineCapability({
      ...echo('travel'),
      deadline: '40ms',
      inputs: [
        {
          name: 'place',
          type: 'string',
          resolution: {
            mode: 'backend_resolved',
            resolver_ref: 'places',
            on_ambiguous: 'clarify',
            on_unresolved: 'deny_or_clarify',
          },
        },
      ],
    }),
    defineCapability({
      ...echo('tenant'),
      inputs: [
        { name: 'account', type: 'string', resolution: { mode: 'actor_policy' } },
        {
          name: 'region',
          type: 'string',
          required: false,
          resolution: { mode: 'actor_policy_or_explicit' },
        },
        {
          name: 'tier',
          type: 'string',
          allowed_values: ['basic', 'gold'],
          resolution: { mode: 'closed_values', on_missing: 'use_actor_scope' },
        },
      ],
    }),
    defineCapability({
      ...echo('ask'),
      inputs: [
        { name: 'first', type: 'string', resolution: { mode: 'clarify' } },
        {
          name: 'second',
          type: 'string',
          allowed_values: ['x', 'y'],
          resolution: { mode: 'app_selected', on_missing: 'app_select_or_clarify' },
        },
      ],
    }),
  ];
}

/** Something that can be undone for an hour, and something that is made of two others. */
function composedCapabilities(plain: Plain) {
  const window = { rollback_window: 'PT1H', compensation: 'unreserve' };
  return [
    defineCapability({
      ...plain('reserve'),
      side_effect: { type: 'transactional', ...window },
      output: { type: 'object', fields: ['id'] },
    }),
    defineCapability({
      ...plain('unreserve'),
      side_effect: 'write',
      inputs: [{ name: 'id', type: 'string' }],
    }),
    defineCapability({
      name: 'both',
      description: 'Looks, then touches',
      kind: 'composed',
      minimum_scope: ['w.use'],
      side_effect: 'write',
      composition: {
        authority_boundary: 'same_service',
        steps: [
          { id: 'look', capability: 'look', empty_result_source: true },
          { id: 'touch', capability: 'touch' },
        ],
        input_mapping: {},
        output_mapping: {},
        failure_policy: 'fail_parent',
        empty_result_policy: 'deny',
        audit_policy: { record_child_invocations: true, parent_task_lineage: true },
      },
    }),
  ];
}
