/**
 * The service of a simulation: capabilities of every kind that has rules of its own, and handlers that act, fail,
 * hang or end late as the faults of the run say.
 *
 * @module
 */

import type { Composition } from '../../src/protocol/composition.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, type ServiceDefinition } from '../../src/service/author/definition.ts';
import {
  type Handler,
  type HandlerContext,
  HandlerFailure,
  NoEffect,
} from '../../src/service/author/handler.ts';
import type { EffectEvent } from './events.ts';
import type { Faults } from './faults.ts';
import type { Life } from './port.ts';
import type { World } from './world.ts';

export const CURRENCY = 'USD';

/** In milliseconds, the deadline of every handler. */
const DEADLINE_MS = 5_000;
const DEADLINE = 'PT5S';

/** In milliseconds: how late a late handler ends at most. */
const LATE_MS = 9_000;

/** In milliseconds: a slow handler ends before its deadline, and a slow resolver now and then after it. */
const SLOW_MS = DEADLINE_MS - 100;
const RESOLVING_MS = DEADLINE_MS + 500;

const ITEM = { name: 'item', type: 'string', required: false } as const;
/** Code of the author looks it up, between the check of the call and its admission. */
const LOOKED_UP = {
  ...ITEM,
  resolution: { mode: 'backend_resolved', resolver_ref: 'items' },
} as const;
const KEY = { name: 'key', type: 'string', required: false } as const;
const RESULT = { type: 'object', fields: ['id'] };
const fixed = (amount: number) =>
  ({ certainty: 'fixed', financial: { currency: CURRENCY, amount } }) as const;
const ESTIMATED = {
  certainty: 'estimated',
  financial: { currency: CURRENCY, range_min: 1, range_max: 99 },
} as const;
const DYNAMIC = {
  certainty: 'dynamic',
  financial: { currency: CURRENCY, upper_bound: 20 },
} as const;
const POLICY = {
  allowed_grant_types: ['one_time' as const, 'session_bound' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 600,
  max_uses: 3,
};

/** Steps that `release` undoes. */
const HOLDS = ['hold', 'reserve'];

/** Stands in a definition until a life of a replica puts its own handlers there. */
const unhosted: Handler = () => {
  throw new Error('Cannot run a simulated handler: it has no replica');
};

function plain(name: string) {
  return {
    name,
    description: `Simulates ${name}`,
    minimum_scope: ['s.use'],
    inputs: [ITEM, KEY],
    output: RESULT,
    deadline: DEADLINE,
    handler: unhosted as never,
  };
}

function composed(
  name: string,
  steps: readonly string[],
  failure_policy: Composition['failure_policy'],
) {
  const { handler: _, ...rest } = plain(name);
  return defineCapability({
    ...rest,
    kind: 'composed',
    side_effect: 'irreversible',
    cost: fixed(30),
    composition: {
      authority_boundary: 'same_service',
      steps: steps.map((capability) => ({ id: capability, capability })),
      input_mapping: Object.fromEntries(steps.map((step) => [step, { item: '$.input.item' }])),
      output_mapping: { id: `$.steps.${steps.at(-1)}.output.id` },
      failure_policy,
      audit_policy: { record_child_invocations: true, parent_task_lineage: true },
    },
  });
}

export const SERVICE: ServiceDefinition = createService({
  id: 'simulated',
  resolvers: { items: unhosted as never },
  trust: { level: 'anchored', anchoring: { cadence: 'PT4S' } },
  capabilities: [
    defineCapability({ ...plain('look'), side_effect: 'read' }),
    defineCapability({
      ...plain('quote'),
      side_effect: 'read',
      output: { type: 'object', fields: ['id', 'quote'] },
    }),
    defineCapability({ ...plain('read_paid'), side_effect: 'read', cost: fixed(1) }),
    defineCapability({ ...plain('act'), side_effect: 'write' }),
    defineCapability({
      ...plain('pay'),
      side_effect: 'irreversible',
      cost: fixed(10),
      inputs: [LOOKED_UP, KEY],
    }),
    defineCapability({ ...plain('spend'), side_effect: 'write', cost: DYNAMIC }),
    defineCapability({
      ...plain('book'),
      side_effect: 'irreversible',
      cost: ESTIMATED,
      inputs: [ITEM, KEY, { name: 'quote', type: 'string' }],
      requires_binding: [{ type: 'quote', field: 'quote', max_age: 'PT1M' }],
    }),
    defineCapability({
      ...plain('sign'),
      side_effect: 'irreversible',
      inputs: [LOOKED_UP, KEY],
      cost: fixed(5),
      approval: { when: 'always', grant_policy: POLICY, request_lifetime: 'PT1M' },
    }),
    defineCapability({
      ...plain('pair'),
      side_effect: 'irreversible',
      approval: { when: 'always', grant_policy: POLICY, approvals_required: 2 },
    }),
    ...HOLDS.map((name) =>
      defineCapability({
        ...plain(name),
        side_effect: { type: 'transactional', rollback_window: 'PT1H', compensation: 'release' },
        cost: fixed(10),
      }),
    ),
    defineCapability({
      ...plain('release'),
      side_effect: 'write',
      inputs: [{ name: 'id', type: 'string' }],
    }),
    composed('trip', ['hold', 'look', 'reserve', 'act'], 'compensate'),
    composed('plan', ['look', 'pay', 'act'], 'fail_parent'),
  ],
});

/** What only reads: its handlers have no effect. */
const READS: ReadonlySet<string> = new Set(['look', 'quote', 'read_paid']);

export interface HandlerHost {
  readonly world: World;
  readonly faults: Faults;
  readonly life: Life;
  /** How often each handler ran for each item, over all replicas. */
  readonly runs: Map<string, number>;
  /** Ends the life of the replica now. */
  crash(): void;
  emit(event: EffectEvent): void;
  /** Waits until the faults stop. */
  untilCalm(run: () => void): void;
}

/** The service with the handlers of one life of a replica. */
export function hostedService(host: HandlerHost): ServiceDefinition {
  const code = [...SERVICE.code].map(([name, each]) => {
    const handler: Handler = (parameters, context) => {
      const done = host.world.await(host.life.owner);
      return simulated(host, name, parameters, context).finally(done);
    };
    return [name, each.handler ? { ...each, handler } : each] as const;
  });
  const resolvers = new Map([['items', (value: unknown) => lookedUp(host, value)]]);
  return { ...SERVICE, code: new Map(code), resolvers };
}

/** Answers at once, or after a while in which the token or the grant of the call may end. */
async function lookedUp(host: HandlerHost, value: unknown) {
  const { faults, runs, world, life } = host;
  const place = `resolver ${value}`;
  const drawn = faults.at(`${place} ${counted(runs, place)}`);
  if (drawn.is(faults.rate('resolver'))) {
    faults.hit('resolver');
    const done = world.await(life.owner);
    await step(host, 1 + drawn.below(RESOLVING_MS)).finally(done);
  }
  return { value };
}

function counted(runs: HandlerHost['runs'], place: string): number {
  const run = (runs.get(place) ?? 0) + 1;
  runs.set(place, run);
  return run;
}

type Ending = 'returns' | 'no-effect' | 'fails' | 'breaks' | 'unknown';

interface Script {
  readonly ending: Ending;
  /** Whether the effect happens although the handler fails. */
  readonly acts: boolean;
  /** When it ends: at once, so many milliseconds later, or when the faults stop. */
  readonly wait: number | 'calm';
  /** Whether its replica dies, before or after the effect. */
  readonly dies: 'before' | 'after' | undefined;
  /** In major units: what a dynamic cost is; more than its bound now and then. */
  readonly cost: number;
  readonly price: number;
}

function scriptOf({ faults, runs }: HandlerHost, name: string, item: string): Script {
  const place = `handler ${name} ${item}`;
  const drawn = faults.at(`${place} ${counted(runs, place)}`);
  const fails = drawn.is(faults.rate('handler'));
  const ending = drawn.pick(['no-effect', 'fails', 'breaks', 'unknown'] as const);
  const isLate = drawn.is(faults.rate('handler-late'));
  const lateMs = DEADLINE_MS + drawn.below(LATE_MS);
  const isStuck = drawn.is(0.4);
  const acts = drawn.is(0.5);
  const cost = 1 + drawn.below(20);
  const price = 1 + drawn.below(60);
  const overruns = drawn.is(faults.rate('handler') / 4);
  const [isSlow, slowMs] = [drawn.is(faults.rate('handler-slow')), 1 + drawn.below(SLOW_MS)];
  const [dies, diesAt] = [
    drawn.is(faults.rate('handler-crash')),
    drawn.pick(['before', 'after'] as const),
  ];
  if (fails) faults.hit('handler');
  if (isLate) faults.hit('handler-late');
  else if (isSlow) faults.hit('handler-slow');
  return {
    ending: fails ? ending : 'returns',
    acts: fails ? acts && ending !== 'no-effect' : true,
    wait: isLate ? (isStuck ? 'calm' : lateMs) : isSlow ? slowMs : 0,
    dies: dies ? diesAt : undefined,
    cost: overruns ? cost + 20 : cost,
    price,
  };
}

async function simulated(
  host: HandlerHost,
  name: string,
  { item, key, id }: JsonObject,
  context: HandlerContext,
): Promise<JsonObject> {
  const script = scriptOf(host, name, String(item ?? id ?? ''));
  const amount = name === 'spend' ? script.cost : undefined;
  const event = {
    kind: 'effect',
    replica: host.life.replica,
    operation: context.invocation_id,
    capability: name,
    token: context.token.token_id,
    amount: amount === undefined ? undefined : BigInt(amount) * 100n,
    key: typeof key === 'string' ? key : undefined,
  } as const;
  const note = (phase: EffectEvent['phase']) => {
    if (!READS.has(name)) host.emit({ ...event, phase });
  };
  note('begin');
  const isFirst = host.faults.at(`first ${context.invocation_id}`).is(0.5);
  if (isFirst) await step(host, 0);
  else await step(host, script.wait);
  if (script.dies === 'before') return died(host);
  if (script.acts) {
    if (amount !== undefined) context.cost({ currency: CURRENCY, amount });
    note('done');
  } else note('none');
  await step(host, isFirst ? script.wait : 0);
  if (script.dies === 'after') return died(host);
  return endingOf(script, name, context);
}

/** The replica dies; its handler never ends. */
function died({ faults, crash }: HandlerHost): Promise<never> {
  faults.hit('handler-crash');
  crash();
  return new Promise(() => undefined);
}

function endingOf(script: Script, name: string, context: HandlerContext): JsonObject {
  switch (script.ending) {
    case 'no-effect':
      throw new NoEffect('Cannot do it: closed');
    case 'fails':
      throw new HandlerFailure('Cannot do it: it failed midway', 'invalid_parameters');
    case 'unknown':
      throw new HandlerFailure('Cannot tell whether it happened', 'outcome_unknown');
    case 'breaks':
      throw new Error('the simulated handler broke');
    case 'returns':
      return name === 'quote' ? quoted(script, context) : { id: context.invocation_id };
  }
}

function quoted({ price }: Script, context: HandlerContext): JsonObject {
  const quote = context.issueBinding({
    type: 'quote',
    capability: 'book',
    price: { currency: CURRENCY, amount: price },
  });
  return { id: context.invocation_id, quote };
}

function step({ world, life, untilCalm }: HandlerHost, wait: Script['wait']): Promise<void> {
  return new Promise((resolve) => {
    if (wait === 'calm') untilCalm(() => world.park(life.owner, resolve));
    else if (wait > 0) world.after(wait, life.loop, resolve);
    else world.park(life.owner, resolve);
  });
}
