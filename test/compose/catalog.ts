/**
 * Small capabilities to compose, whose handlers note what they did, and wholes made of them.
 *
 * @module
 */

import type { Composition } from '../../src/protocol/composition.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import {
  type CapabilityDefinition,
  type DefinedCapability,
  defineCapability,
} from '../../src/service/author/define.ts';
import { createService, type ServiceDefinition } from '../../src/service/author/definition.ts';
import { createScripts, ONE_TIME, type Script, type Scripts } from '../support/scripts.ts';

export interface World extends Scripts {
  readonly definition: ServiceDefinition;
  /** Every effect, oldest first: the capability, and what it was told to act on. */
  readonly effects: string[];
}

const USD = 'USD';
const fixed = (amount: number) =>
  ({ certainty: 'fixed', financial: { currency: USD, amount } }) as const;
const ITEM = { name: 'item', type: 'string' } as const;

export const GRANT_POLICY = { ...ONE_TIME, expires_in_seconds: 60 };

/** A whole of the given steps, each fed with `item` from the input where it takes one. */
export function whole(
  name: string,
  steps: readonly (string | [id: string, capability: string])[],
  {
    composition,
    ...changes
  }: Partial<
    Omit<CapabilityDefinition<string, [], { type: string; fields: string[] }, []>, 'composition'>
  > & {
    composition?: Partial<Composition>;
  } = {},
): DefinedCapability {
  const named = steps.map(
    (step) => (typeof step === 'string' ? [step, step] : step) as [string, string],
  );
  const fed = named.filter(([, capability]) => TAKE_ITEM.test(capability));
  const last = named.at(-1)?.[0];
  return defineCapability({
    name,
    description: `Tests ${name}`,
    kind: 'composed',
    inputs: [{ ...ITEM, required: false }] as never,
    output: { type: 'object', fields: ['id'] },
    minimum_scope: ['w.use'],
    side_effect: 'irreversible',
    cost: fixed(30),
    ...changes,
    composition: {
      authority_boundary: 'same_service',
      steps: named.map(([id, capability]) => ({ id, capability })),
      input_mapping: Object.fromEntries(fed.map(([id]) => [id, { item: '$.input.item' }])),
      output_mapping: { id: `$.steps.${last}.output.id` },
      failure_policy: 'compensate',
      audit_policy: { record_child_invocations: true, parent_task_lineage: true },
      ...composition,
    },
  });
}

const TAKE_ITEM = /^(hold|act|look|need|signed|human|secret|shallow|tight)/;

export function createWorld(wholes: readonly DefinedCapability[]): World {
  const effects: string[] = [];
  const scripts = createScripts();
  let ids = 0;

  /** Notes the effect first, as a backend does that acts and then fails to answer. */
  const acting = (name: string, result: (item: unknown) => JsonObject) =>
    scripts.handler(name, ({ item, id }) => {
      effects.push(`${name} ${item ?? id ?? ''}`.trim());
      return result(item);
    });
  const made = (item: unknown): JsonObject => ({ id: `id-${++ids}`, item: item ?? null });
  const plain = (name: string, result = made) => ({
    name,
    description: `Tests ${name}`,
    minimum_scope: ['w.use'],
    inputs: [{ ...ITEM, required: false }],
    output: { type: 'object', fields: ['id', 'item', 'deep', 'list'] },
    handler: acting(name, result),
  });
  const undo = (name: string) =>
    defineCapability({
      ...plain(name, () => ({ released: true })),
      side_effect: 'write',
      inputs: [{ name: 'id', type: 'string' }],
    });
  const hold = (name: string, compensation: string) =>
    defineCapability({
      ...plain(name),
      side_effect: { type: 'transactional', rollback_window: 'PT1H', compensation },
      cost: fixed(10),
    });

  const definition = createService({
    id: 'composed-world',
    trust: { level: 'signed' },
    capabilities: [
      defineCapability({ ...plain('look'), side_effect: 'read' }),
      defineCapability({ ...plain('look_again'), side_effect: 'read' }),
      defineCapability({ ...plain('look_paid'), side_effect: 'read', cost: fixed(1) }),
      ...['one', 'two', 'three'].flatMap((each) => [
        hold(`hold_${each}`, `undo_${each}`),
        undo(`undo_${each}`),
      ]),
      defineCapability({ ...plain('act'), side_effect: 'write' }),
      defineCapability({
        ...plain('need'),
        side_effect: 'write',
        inputs: [{ name: 'item', type: 'integer' }],
      }),
      ...pricedSteps(plain),
      ...guardedSteps(plain),
      ...wholes,
    ],
  });
  return {
    ...scripts,
    definition,
    effects,
    reset() {
      effects.length = 0;
      scripts.reset();
    },
  };
}

type Plain = (name: string) => {
  name: string;
  description: string;
  minimum_scope: string[];
  inputs: { name: 'item'; type: 'string'; required: boolean }[];
  output: { type: string; fields: string[] };
  handler: Script;
};

function pricedSteps(plain: Plain) {
  const dynamic = { certainty: 'dynamic', financial: { currency: USD, upper_bound: 20 } } as const;
  const estimated = {
    certainty: 'estimated',
    financial: { currency: USD, range_min: 1, range_max: 99 },
  } as const;
  return [
    defineCapability({ ...plain('spend'), side_effect: 'write', cost: dynamic }),
    defineCapability({ ...plain('spend_more'), side_effect: 'write', cost: dynamic }),
    defineCapability({ ...plain('guess'), side_effect: 'write', cost: estimated }),
    defineCapability({
      ...plain('quote'),
      side_effect: 'read',
      inputs: [{ name: 'price', type: 'number' }],
      output: { type: 'object', fields: ['quote'] },
      handler: ({ price }, context) => ({
        quote: context.issueBinding({
          type: 'quote',
          capability: 'book',
          price: { currency: USD, amount: Number(price) },
          data: { seat: '12A' },
        }),
      }),
    }),
    defineCapability({
      ...plain('book'),
      side_effect: 'irreversible',
      cost: estimated,
      inputs: [{ name: 'quote', type: 'string' }],
      requires_binding: [{ type: 'quote', field: 'quote', max_age: 'PT15M' }],
    }),
  ];
}

function guardedSteps(plain: Plain) {
  const write = (name: string) => ({ ...plain(name), side_effect: 'write' as const });
  const approval = { when: 'always' as const, grant_policy: GRANT_POLICY };
  return [
    defineCapability({ ...write('signed'), approval }),
    defineCapability({
      ...write('signed_if'),
      approval: {
        when: { condition: 'sometimes', needed: ({ item }) => item === 'dear' },
        grant_policy: GRANT_POLICY,
      },
    }),
    defineCapability({ ...write('human_step'), principal_classes: ['human'] }),
    defineCapability({ ...write('service_step'), principal_classes: ['service'] }),
    defineCapability({ ...write('secret_step'), minimum_scope: ['w.secret'] }),
    defineCapability({ ...write('shallow_step'), max_delegation_depth: 0 }),
    defineCapability({
      ...write('tight_step'),
      control_requirements: [{ type: 'stronger_delegation_required' }],
    }),
    defineCapability({ ...write('limited_step'), rate_limit: { limit: 2, window: 'PT1H' } }),
  ];
}
