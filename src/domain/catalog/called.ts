/**
 * Rules on the capabilities that a handler calls: `requires` with `called_by: "handler"`.
 *
 * A handler decides while it runs what it calls. So what it may reach is bounded before the service starts: by its
 * own effect, without a person in between, and never back to itself. The chain of calls below one call is therefore
 * finite, and nothing has to count its depth at run time.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import { SIDE_EFFECT_STRENGTH } from '../invocation/observability.ts';
import { type Declarations, type FaultRule, fault } from './fault.ts';

/** Calls below each other: deep enough for layers of a service, few enough for a reader of its log. */
const CALL_DEPTH_MAX = 5;

/** The capabilities that the handler of this one may call. */
export function calledBy({ requires = [] }: Pick<Capability, 'requires'>): string[] {
  return requires.flatMap(({ capability, called_by }) => (called_by ? [capability] : []));
}

/** Whether a handler that runs for this capability, or for a step of it, may call others. */
export function mayCall(capability: Capability, all: Pick<Declarations, 'capabilities'>): boolean {
  const { requires, composition } = capability;
  if (!requires && !composition) return false;
  if (calledBy(capability).length > 0) return true;
  if (!composition) return false;
  const run = runBy(capability, all).map((name) => all.capabilities.get(name));
  return run.some((each) => each !== undefined && mayCall(each, all));
}

export const calledFaults: FaultRule = (capability, all) => {
  const named = (capability.requires ?? []).flatMap(({ capability: name, called_by }, index) => {
    const called = all.capabilities.get(name);
    // An unknown name, and one that names itself, is a fault of its own.
    if (!called_by || !called || called === capability) return [];
    const at = `requires[${index}].called_by`;
    return [
      ...OBSTACLES.flatMap((obstacle) => obstacle(capability, called)),
      ...cycle(capability, called, all),
    ].map(([found, write]) => fault(capability.name, at, found, write));
  });
  // Of a chain that is too long only one capability is at fault: the one whose calls are one level too deep.
  if (runsOf(all).depths.get(capability.name) !== CALL_DEPTH_MAX + 1) return named;
  const deep = `calls are ${CALL_DEPTH_MAX + 1} levels deep below it, and ${CALL_DEPTH_MAX} are the most`;
  return [...named, fault(capability.name, 'requires', deep, `fewer levels, or ${COMPOSITION}`)];
};

const COMPOSITION = 'a composition (kind: "composed")';

type Found = [found: string, write: string];
type Obstacle = (capability: Capability, called: Capability) => Found[];

const OBSTACLES: readonly Obstacle[] = [
  ({ kind, name }) =>
    kind === 'composed' ? [[`"${name}" has no handler: it is composed`, 'it as a step']] : [],
  ({ side_effect: { type } }, { name, side_effect: { type: other } }) =>
    SIDE_EFFECT_STRENGTH[other] > SIDE_EFFECT_STRENGTH[type]
      ? [
          [
            `"${name}" is "${other}", stronger than "${type}"`,
            `side_effect: "${other}", or ${COMPOSITION}`,
          ],
        ]
      : [],
  (_, { name, approval }) =>
    approval
      ? [
          [
            `"${name}" may need approval, and a handler cannot wait for a person`,
            `${COMPOSITION}, which asks before its first step`,
          ],
        ]
      : [],
  (_, { name, response_modes: modes }) =>
    modes.includes('unary')
      ? []
      : [
          [
            `"${name}" only streams, and a handler gets one answer`,
            'a capability with the response mode "unary"',
          ],
        ],
];

function cycle(capability: Capability, called: Capability, all: Declarations): Found[] {
  const way = wayBetween(called.name, capability.name, runsOf(all).next);
  if (!way) return [];
  const names = [capability.name, ...way].join('" → "');
  return [[`its calls lead back to it: "${names}"`, `calls in one direction, or ${COMPOSITION}`]];
}

/** The shortest way of calls and steps from one capability to another, both included. */
function wayBetween(from: string, to: string, next: Runs['next']): string[] | undefined {
  const before = new Map<string, string | undefined>([[from, undefined]]);
  for (const name of before.keys()) {
    if (name === to) break;
    for (const each of next.get(name) ?? []) if (!before.has(each)) before.set(each, name);
  }
  if (!before.has(to)) return undefined;
  const way: string[] = [];
  for (let at: string | undefined = to; at !== undefined; at = before.get(at)) way.unshift(at);
  return way;
}

interface Runs {
  /** Every capability whose handler may run within a call of the other. */
  readonly next: ReadonlyMap<string, readonly string[]>;
  /** The levels of calls below a capability. A step is no level of its own. */
  readonly depths: ReadonlyMap<string, number>;
}

/** Found once for a start. */
const known = new WeakMap<Declarations, Runs>();

function runsOf(all: Declarations): Runs {
  const before = known.get(all);
  if (before) return before;
  const next = new Map([...all.capabilities.values()].map((each) => [each.name, runBy(each, all)]));
  const depths = new Map<string, number>();
  const depthOf = (name: string): number => {
    const depth = depths.get(name);
    if (depth !== undefined) return depth;
    // A cycle is a fault of its own, and counts as no level.
    depths.set(name, 0);
    const called = new Set(calledBy(all.capabilities.get(name) ?? {}));
    const levels = (next.get(name) ?? []).map((each) => depthOf(each) + (called.has(each) ? 1 : 0));
    const most = levels.reduce((one, other) => Math.max(one, other), 0);
    depths.set(name, most);
    return most;
  };
  for (const name of next.keys()) depthOf(name);
  const runs = { next, depths };
  known.set(all, runs);
  return runs;
}

function runBy(
  capability: Capability,
  { capabilities }: Pick<Declarations, 'capabilities'>,
): string[] {
  const steps = (capability.composition?.steps ?? []).map((step) => step.capability);
  const undoing = steps.flatMap((step) => capabilities.get(step)?.side_effect.compensation ?? []);
  return [...calledBy(capability), ...steps, ...undoing];
}
