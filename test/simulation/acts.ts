/**
 * Acts: what clients, operators and the weather do in a run, as data that one seed decides.
 *
 * Each act is drawn from a stream of its own and names earlier acts by their place. So a run can leave out any of
 * them: an act that names a missing one is skipped, and all others stay the same.
 *
 * @module
 */

import type { Chance } from './chance.ts';
import type { Faults } from './faults.ts';

interface ActFacts {
  readonly place: number;
  /** Acts of one hand follow each other. */
  readonly hand: number;
  /** In milliseconds, before it begins. */
  readonly waitMs: number;
  /** The replica that is asked, if it is there. */
  readonly replica: number;
}

/** The place of an earlier act. */
type Ref = number;

export interface TokenTerms {
  readonly subject: string;
  /** In major units. */
  readonly budget?: number | undefined;
  readonly isExclusive: boolean;
  readonly ttlHours?: number | undefined;
  readonly session?: string | undefined;
}

type Issue = { readonly kind: 'issue'; readonly root: Root } & TokenTerms;
type Delegate = { readonly kind: 'delegate'; readonly parent: Ref } & TokenTerms;
export interface Invoke {
  readonly kind: 'invoke';
  readonly token: Ref;
  readonly capability: string;
  readonly item: string;
  readonly key?: string | undefined;
  /** The invocation whose binding it uses. */
  readonly quote?: Ref | undefined;
  /** How often it is sent at the same time. */
  readonly times: number;
}
/** The call that asked for approval, again: with the grant, or with the wish to continue. */
export interface Use {
  readonly kind: 'use';
  readonly approval: Ref;
  readonly by: 'grant' | 'continue';
  /** Another token than the one that asked. */
  readonly token?: Ref | undefined;
  readonly key?: string | undefined;
  readonly times: number;
}
interface Retry {
  readonly kind: 'retry';
  readonly of: Ref;
}
interface Approve {
  readonly kind: 'approve';
  readonly asked: Ref;
  readonly who: Approver;
  readonly uses: number;
  readonly seconds: number;
}
interface Deny {
  readonly kind: 'deny';
  readonly asked: Ref;
  readonly who: Approver;
}
interface Revoke {
  readonly kind: 'revoke';
  readonly token: Ref;
}
export interface Freeze {
  readonly kind: 'freeze' | 'unfreeze';
  readonly what: 'capability' | 'root_principal';
  readonly root: Root;
  readonly capability: string;
  readonly isNarrow: boolean;
  /** In milliseconds: how long it lasts; without end where it is 0. */
  readonly lastsMs: number;
}
interface Reconcile {
  readonly kind: 'reconcile';
  readonly nth: number;
  readonly outcome: 'executed' | 'not_executed';
}
interface Look {
  readonly kind: 'audit' | 'permissions';
  readonly token: Ref;
}
interface Seal {
  readonly kind: 'seal';
}
interface Weather {
  readonly kind: 'crash' | 'pause' | 'clock' | 'store-clock' | 'disk-full';
  readonly ms: number;
}

export type Act = ActFacts &
  (
    | Issue
    | Delegate
    | Invoke
    | Use
    | Retry
    | Approve
    | Deny
    | Revoke
    | Freeze
    | Reconcile
    | Look
    | Seal
    | Weather
  );
type ActKind = Act['kind'];
export type Root = 'alice' | 'ann';
export type Approver = 'bob' | 'carol';

const ROOTS: readonly Root[] = ['alice', 'ann'];
const APPROVERS: readonly Approver[] = ['bob', 'carol'];

/** Few names, so that different lineages have the same one. */
const SUBJECTS = ['agent:x', 'agent:x', 'agent:y'];
const SESSION = 'session-1';

/** Each with how often it is called. */
const CAPABILITIES: readonly [name: string, weight: number][] = [
  ['look', 1],
  ['quote', 2],
  ['read_paid', 1],
  ['act', 2],
  ['pay', 5],
  ['spend', 3],
  ['book', 3],
  ['sign', 5],
  ['pair', 3],
  ['hold', 1],
  ['trip', 4],
  ['plan', 2],
];
const NEED_APPROVAL: ReadonlySet<string> = new Set(['sign', 'pair']);

const KINDS: readonly [kind: ActKind, weight: number][] = [
  ['issue', 2],
  ['delegate', 6],
  ['invoke', 40],
  ['use', 14],
  ['retry', 8],
  ['approve', 16],
  ['deny', 2],
  ['revoke', 3],
  ['freeze', 2],
  ['unfreeze', 2],
  ['reconcile', 5],
  ['audit', 2],
  ['permissions', 1],
  ['seal', 3],
];

/** In a run each kind of act is as frequent as usual, frequent, or absent. */
const SWARM = [0, 1, 1, 3];
/** Few capabilities in a run meet each other: calls race for one grant, one key, one budget. */
const MENU = [0, 0, 1, 4];
const ALWAYS: readonly ActKind[] = ['issue', 'invoke'];
/** Also in a run in which calls ask for approval. */
const WITH_APPROVAL: readonly ActKind[] = ['approve', 'use'];

const HANDS = 4;
const ACTS_MIN = 12;
const ACTS_SPREAD = 36;

export function drawActs(chance: Chance, faults: Faults, replicas: number): Act[] {
  const menu = menuOf(chance.fork('menu'));
  const asks = menu.some(([name, weight]) => weight > 0 && NEED_APPROVAL.has(name));
  const always = new Set([...ALWAYS, ...(asks ? WITH_APPROVAL : [])]);
  const weights = weightsOf(chance.fork('swarm'), faults, always);
  const count = ACTS_MIN + chance.fork('count').below(ACTS_SPREAD);
  const acts: Act[] = [];
  for (let place = 0; place < count; place++) {
    const drawn = chance.fork(`act ${place}`);
    const facts: ActFacts = {
      place,
      hand: drawn.below(HANDS),
      waitMs: waitOf(drawn),
      replica: drawn.below(replicas),
    };
    const kind = place < 2 ? 'issue' : weighted(drawn, weights);
    const act = actOf(kind, drawn, acts, menu) ?? actOf('invoke', drawn, acts, menu);
    acts.push({ ...facts, ...act } as Act);
  }
  return acts;
}

type Menu = readonly [name: string, weight: number][];

function menuOf(chance: Chance): Menu {
  const menu = CAPABILITIES.map(([name, weight]): [string, number] => [
    name,
    weight * chance.fork(name).pick(MENU),
  ]);
  const weightOf = (wanted: string) => menu.find(([name]) => name === wanted)?.[1] ?? 0;
  // A booking takes a quote.
  const needsQuote = weightOf('book') > 0 && weightOf('quote') === 0;
  const whole = needsQuote
    ? menu.map(([name, weight]): [string, number] => [name, name === 'quote' ? 2 : weight])
    : menu;
  return whole.some(([, weight]) => weight > 0) ? whole : CAPABILITIES;
}

function weightsOf(
  chance: Chance,
  faults: Faults,
  always: ReadonlySet<ActKind>,
): [ActKind, number][] {
  const usual = KINDS.map(([kind, weight]): [ActKind, number] => {
    const factor = chance.fork(kind).pick(SWARM);
    return [kind, weight * (always.has(kind) ? Math.max(1, factor) : factor)];
  });
  const sum = usual.reduce((total, [, weight]) => total + weight, 0);
  return [
    ...usual,
    ['crash', sum * faults.rate('crash')],
    ['pause', sum * faults.rate('pause')],
    ['clock', sum * faults.rate('clock')],
    ['store-clock', (sum * faults.rate('clock')) / 2],
    ['disk-full', sum * faults.rate('disk-full')],
  ];
}

function waitOf(drawn: Chance): number {
  const [roll, short, long] = [drawn.below(10), drawn.below(800), drawn.below(6_000)];
  return roll < 6 ? 0 : roll < 9 ? short : long;
}

function weighted<Item>(drawn: Chance, items: readonly [Item, number][]): Item {
  const sum = items.reduce((total, [, weight]) => total + weight, 0);
  let left = (drawn.below(1_000_000) / 1_000_000) * sum;
  for (const [item, weight] of items) {
    left -= weight;
    if (left < 0) return item;
  }
  return (items[0] as [Item, number])[0];
}

type Drawn = Act extends infer Each
  ? Each extends Act
    ? Omit<Each, keyof ActFacts>
    : never
  : never;

/** An act of this kind; undefined when no earlier act is there that it could name. */
function actOf(kind: ActKind, drawn: Chance, acts: readonly Act[], menu: Menu): Drawn | undefined {
  const earlier = (...kinds: ActKind[]): Ref | undefined => {
    const places = acts.flatMap((act) => (kinds.includes(act.kind) ? [act.place] : []));
    return places.length === 0 ? undefined : drawn.pick(places);
  };
  const asking = (): Ref | undefined => {
    const places = acts.flatMap((act) => (isAsking(act) ? [act.place] : []));
    return places.length === 0 ? undefined : drawn.pick(places);
  };
  const token = () => earlier('issue', 'delegate') ?? 0;
  switch (kind) {
    case 'issue':
      return issueOf(drawn);
    case 'delegate':
      // A child has the session of its parent.
      return { kind, parent: token(), ...termsOf(drawn, 0.4), session: undefined };
    case 'invoke':
      return invokeOf(drawn, token(), acts, menu);
    case 'use': {
      const approval = earlier('approve');
      if (approval === undefined) return undefined;
      const [by, isOther, other] = [
        drawn.pick(['grant', 'continue'] as const),
        drawn.is(0.25),
        token(),
      ];
      const key = drawn.is(0.4) ? `k${drawn.below(2)}` : undefined;
      return { kind, approval, by, token: isOther ? other : undefined, key, times: timesOf(drawn) };
    }
    case 'retry': {
      const of = earlier('invoke', 'use');
      return of === undefined ? undefined : { kind, of };
    }
    case 'approve':
    case 'deny': {
      const asked = asking();
      const who = drawn.pick(APPROVERS);
      const [uses, seconds] = [1 + drawn.below(3), drawn.pick([3, 20, 600])];
      if (asked === undefined) return undefined;
      return kind === 'deny' ? { kind, asked, who } : { kind, asked, who, uses, seconds };
    }
    case 'revoke':
      return { kind, token: token() };
    case 'freeze':
    case 'unfreeze':
      return freezeOf(kind, drawn);
    case 'reconcile':
      return { kind, nth: drawn.below(3), outcome: drawn.pick(['executed', 'not_executed']) };
    case 'audit':
    case 'permissions':
      return { kind, token: token() };
    case 'seal':
      return { kind };
    default:
      return weatherOf(kind, drawn);
  }
}

function isAsking(act: Act): boolean {
  return act.kind === 'invoke' && NEED_APPROVAL.has(act.capability);
}

function issueOf(drawn: Chance): Issue {
  return { kind: 'issue', root: drawn.pick(ROOTS), ...termsOf(drawn, 0.75) };
}

function termsOf(drawn: Chance, budgeted: number): TokenTerms {
  const hasBudget = drawn.is(budgeted);
  const budget = 8 + drawn.below(90);
  const isExclusive = drawn.is(0.2);
  const isShort = drawn.is(0.15);
  const seconds = 2 + drawn.below(12);
  return {
    subject: drawn.pick(SUBJECTS),
    budget: hasBudget ? budget : undefined,
    isExclusive,
    ttlHours: isShort ? seconds / 3_600 : undefined,
    session: drawn.is(0.6) ? SESSION : undefined,
  };
}

function timesOf(drawn: Chance): number {
  const [roll, times] = [drawn.below(4), 2 + drawn.below(3)];
  return roll === 0 ? times : 1;
}

function invokeOf(drawn: Chance, token: Ref, acts: readonly Act[], menu: Menu): Invoke {
  const capability = weighted(drawn, menu);
  const quotes = acts.filter((act) => act.kind === 'invoke' && act.capability === 'quote');
  const quote = drawn.below(Math.max(1, quotes.length));
  const isKeyed = drawn.is(0.5);
  const number = drawn.below(3);
  const isOdd = drawn.is(0.1);
  const letter = drawn.pick(['a', 'a', 'b']);
  const item = NEED_APPROVAL.has(capability) ? letter : `i${number}${isOdd ? '-other' : ''}`;
  return {
    kind: 'invoke',
    token,
    capability,
    item,
    key: isKeyed ? `k${number}` : undefined,
    quote: capability === 'book' ? quotes[quote]?.place : undefined,
    times: timesOf(drawn),
  };
}

function freezeOf(kind: Freeze['kind'], drawn: Chance): Freeze {
  return {
    kind,
    what: drawn.pick(['capability', 'capability', 'root_principal']),
    root: drawn.pick(ROOTS),
    capability: drawn.pick(['pay', 'trip', 'sign', 'hold']),
    isNarrow: drawn.is(0.4),
    lastsMs: drawn.pick([0, 2_000, 8_000]),
  };
}

function weatherOf(kind: Weather['kind'], drawn: Chance): Weather {
  const [part, back] = [1 + drawn.below(1_000), drawn.is(0.5)];
  const sign = back ? -1 : 1;
  switch (kind) {
    // How long the replica is down.
    case 'crash':
      return { kind, ms: part * 4 };
    // Up to two and a half times the silence after which its calls are recovered.
    case 'pause':
      return { kind, ms: part * 20 };
    case 'clock':
      return { kind, ms: sign * part * 3_600 };
    // Small: the clock of the database decides expiry, and a run waits for what a step back delays.
    case 'store-clock':
      return { kind, ms: sign * part * 4 };
    case 'disk-full':
      return { kind, ms: part };
  }
}
