/**
 * The service under test: a table of facts about its capabilities, and the definition made from it.
 *
 * The model reads the same table. It contains what is declared (prices, scopes, ages) and decides nothing.
 *
 * @module
 */

import type { JsonObject } from '../../src/protocol/primitives.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, type ServiceDefinition } from '../../src/service/author/definition.ts';
import { type Handler, HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { person } from '../support/person.ts';
import { ONE_TIME } from '../support/scripts.ts';

/** An amount in minor units: cents, or whole yen. */
export interface Money {
  readonly currency: 'USD' | 'JPY';
  readonly amount: number;
}

/** The amount as it travels. */
export function wireMoney({ currency, amount }: Money) {
  return { currency, amount: currency === 'USD' ? amount / 100 : amount };
}

export interface Facts {
  readonly effect: 'read' | 'write' | 'irreversible';
  readonly scope: readonly string[];
  /** The price, the upper bound of a dynamic cost, or the largest amount of an estimated one. */
  readonly cost?: { readonly certainty: 'fixed' | 'dynamic' | 'estimated' } & Money;
  /** The price of a call is so much for each unit of the parameter `size`. */
  readonly priceOfUnit?: number;
  /** Inputs beside those that every capability has. */
  readonly inputs?: Readonly<Record<string, 'string' | 'integer'>>;
  /** In milliseconds, how old the binding in the parameter `quote` may be. */
  readonly quoteMaxAge?: number;
  readonly rootOnly?: boolean;
  readonly humansOnly?: boolean;
  readonly depthMax?: number;
  readonly control?: 'cost_ceiling' | 'stronger_delegation_required';
  readonly isApproved?: boolean;
  readonly freezesOnOverrun?: boolean;
}

const USE = ['w.use'];
const usd = <Certainty extends string>(certainty: Certainty, amount: number) => ({
  certainty,
  currency: 'USD' as const,
  amount,
});

const MINUTE_MS = 60_000;

const TABLE = {
  look: { effect: 'read', scope: USE },
  touch: { effect: 'write', scope: USE },
  pay: { effect: 'write', scope: USE, cost: usd('fixed', 1_000) },
  paid_read: { effect: 'read', scope: USE, cost: usd('fixed', 100) },
  pay_yen: {
    effect: 'write',
    scope: USE,
    cost: { certainty: 'fixed', currency: 'JPY', amount: 1_000 },
  },
  spend: { effect: 'write', scope: USE, cost: usd('dynamic', 2_000) },
  strict: { effect: 'write', scope: USE, cost: usd('dynamic', 500), freezesOnOverrun: true },
  guess: { effect: 'write', scope: USE, cost: usd('estimated', 10_000) },
  tailor: {
    effect: 'write',
    scope: USE,
    cost: usd('estimated', 10_000),
    priceOfUnit: 350,
    inputs: { size: 'integer' },
  },
  quote: { effect: 'read', scope: USE, inputs: { price: 'integer' } },
  book: {
    effect: 'irreversible',
    scope: USE,
    cost: usd('estimated', 10_000),
    inputs: { quote: 'string' },
    quoteMaxAge: 15 * MINUTE_MS,
  },
  secret: { effect: 'write', scope: ['w.use', 'w.secret'] },
  human_only: { effect: 'write', scope: USE, humansOnly: true },
  root_only: { effect: 'write', scope: USE, rootOnly: true },
  shallow: { effect: 'write', scope: USE, depthMax: 1 },
  bounded: { effect: 'write', scope: USE, cost: usd('fixed', 300), control: 'cost_ceiling' },
  bound: { effect: 'write', scope: USE, control: 'stronger_delegation_required' },
  sign: { effect: 'irreversible', scope: USE, cost: usd('fixed', 200), isApproved: true },
} as const satisfies Record<string, Facts>;

export type CapabilityName = keyof typeof TABLE;

export const CAPABILITIES: Readonly<Record<CapabilityName, Facts>> = TABLE;

export const NAMES = Object.keys(TABLE) as CapabilityName[];

/** Inputs that every capability has, all of them optional. */
export const COMMON_INPUTS = {
  note: 'string',
  /** In minor units: the cost that the handler reports. */
  cost: 'integer',
  /** How the handler ends. */
  how: 'string',
  /** Looked up by code of the author. */
  item: 'string',
} as const;

/** In milliseconds: how long a request waits for its approver, and how long a grant can be used. */
export const REQUEST_MS = 30 * MINUTE_MS;
export const GRANT_MS = 10 * MINUTE_MS;

export const PEOPLE = {
  alice: { key: 'alice-key', principal: 'human:alice' },
  bob: { key: 'bob-key', principal: 'human:bob' },
  approver: { key: 'approver-key', principal: 'human:approver' },
  operator: { key: 'operator-key', principal: 'service:operator' },
} as const;

export type PersonName = keyof typeof PEOPLE;

export const SETTINGS = {
  rate_limits: 'off',
  identities: [
    person(PEOPLE.alice.key, PEOPLE.alice.principal, ['w.use', 'w.secret']),
    person(PEOPLE.bob.key, PEOPLE.bob.principal, ['w.use']),
    person(PEOPLE.approver.key, PEOPLE.approver.principal, ['approver:*'], { subjects: [] }),
    person(PEOPLE.operator.key, PEOPLE.operator.principal, ['operator:*'], { subjects: [] }),
  ],
};

/**
 * Holds code of the author. A handler passes the gate that is named like the `client_reference_id` of its call, and
 * the resolver of `item`, which runs between the checks of a call and its admission, the gate named like the item.
 */
export interface Gates {
  /** The next code that passes this gate waits. Resolves when it does. */
  hold(gate: string): Promise<void>;
  open(gate: string): void;
  openAll(): void;
  /** Waits where the gate is held. */
  pass(gate: string | undefined): Promise<void> | undefined;
}

export function createGates(): Gates {
  const held = new Map<string, { readonly reached: Signal; readonly opened: Signal }>();
  const taken = new Map<string, Signal>();
  const open = (name: string) => {
    taken.get(name)?.give();
    taken.delete(name);
    held.delete(name);
  };
  return {
    hold(name) {
      const gate = { reached: createSignal(), opened: createSignal() };
      held.set(name, gate);
      return gate.reached.given;
    },
    open,
    openAll() {
      for (const name of [...held.keys(), ...taken.keys()]) open(name);
    },
    pass(name = '') {
      const gate = held.get(name);
      if (!gate) return undefined;
      held.delete(name);
      taken.set(name, gate.opened);
      gate.reached.give();
      return gate.opened.given;
    },
  };
}

interface Signal {
  readonly given: Promise<void>;
  give(): void;
}

function createSignal(): Signal {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

export function modelService(gates: Gates): ServiceDefinition {
  return createService({
    id: 'modelled',
    resolvers: {
      async items(value) {
        await gates.pass(String(value));
        return { value };
      },
    },
    capabilities: NAMES.map((name) => capabilityOf(name, handlerOf(name, gates))),
  });
}

const LOOKED_UP = { mode: 'backend_resolved', resolver_ref: 'items' } as const;

/** A run holds calls while it does other things, for as long as a busy machine takes. */
const DEADLINE = 'PT1H';

function capabilityOf(name: CapabilityName, handler: Handler) {
  const facts = CAPABILITIES[name];
  const { cost, priceOfUnit: unit, quoteMaxAge, control } = facts;
  const inputs = [
    ...Object.entries(COMMON_INPUTS).map(([input, type]) => ({
      name: input,
      type,
      required: false,
      ...(input === 'item' && { resolution: LOOKED_UP }),
    })),
    ...Object.entries(facts.inputs ?? {}).map(([input, type]) => ({ name: input, type })),
  ];
  return defineCapability({
    name,
    description: `Tests ${name}`,
    side_effect: facts.effect,
    minimum_scope: facts.scope,
    inputs: inputs as never,
    deadline: DEADLINE,
    ...(cost && { cost: declaredCost(cost) }),
    ...(unit && {
      price: (({ size }: { size: number }) =>
        wireMoney({ currency: 'USD', amount: size * unit })) as never,
    }),
    ...(quoteMaxAge && {
      requires_binding: [
        { type: 'quote', field: 'quote', max_age: `PT${quoteMaxAge / MINUTE_MS}M` },
      ] as never,
    }),
    ...(facts.rootOnly && { delegable: false }),
    ...(facts.humansOnly && { principal_classes: ['human' as const] }),
    ...(facts.depthMax !== undefined && { max_delegation_depth: facts.depthMax }),
    ...(control && { control_requirements: [{ type: control }] }),
    ...(facts.freezesOnOverrun && { on_overrun: 'freeze' as const }),
    ...(facts.isApproved && {
      approval: {
        when: 'always' as const,
        grant_policy: { ...ONE_TIME, expires_in_seconds: GRANT_MS / 1_000 },
        request_lifetime: `PT${REQUEST_MS / MINUTE_MS}M`,
      },
    }),
    handler: handler as never,
  });
}

function declaredCost({ certainty, ...money }: NonNullable<Facts['cost']>) {
  const { currency, amount } = wireMoney(money);
  switch (certainty) {
    case 'fixed':
      return { certainty, financial: { currency, amount } };
    case 'dynamic':
      return { certainty, financial: { currency, upper_bound: amount } };
    case 'estimated':
      return { certainty, financial: { currency, range_min: 1, range_max: 100 } };
  }
}

function handlerOf(name: CapabilityName, gates: Gates): Handler {
  return async ({ note = null, cost, how, price }, context): Promise<JsonObject> => {
    await gates.pass(context.client_reference_id);
    const currency = CAPABILITIES[name].cost?.currency;
    if (typeof cost === 'number' && currency) context.cost(wireMoney({ currency, amount: cost }));
    endBadly(how);
    if (name !== 'quote') return { did: name, note };
    const amount = wireMoney({ currency: 'USD', amount: Number(price) });
    const quote = context.issueBinding({ type: 'quote', capability: 'book', price: amount });
    return { did: name, note, quote };
  };
}

function endBadly(how: unknown): void {
  if (how === 'no_effect') throw new NoEffect('Cannot do it: closed', 'not_found');
  if (how === 'fails')
    throw new HandlerFailure('Cannot do it: it failed midway', 'clarification_required');
  if (how === 'unknown')
    throw new HandlerFailure('Cannot tell whether it happened', 'outcome_unknown');
  if (how === 'breaks') throw new Error('the handler of the test broke');
}
