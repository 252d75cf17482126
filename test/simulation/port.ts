/**
 * The store as a replica reaches it: each call waits before it is executed and before its answer, and may fail at
 * either place.
 *
 * A call that left its replica may be executed after the replica died. A failure says `StoreUnavailable` where
 * nothing happened, and `OutcomeUnknown` where the change may have happened, as the port of the store promises.
 *
 * @module
 */

import type { EntryRecord } from '../../src/domain/log/entry.ts';
import type { DeliveryRecord } from '../../src/storage/port/records.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import type { Chance } from './chance.ts';
import type { StoreEvent } from './events.ts';
import { CHANGES, type Faults } from './faults.ts';
import type { Owner, World } from './world.ts';

/** One life of a replica: from its start to its crash. */
export interface Life {
  readonly replica: number;
  /** Names the replica and the number of its life. */
  readonly label: string;
  readonly owner: Owner;
  /** Its event loop: turns, and timers that are due, in their order. */
  readonly loop: (run: () => void) => void;
}

export interface PortParts {
  readonly world: World;
  readonly faults: Faults;
  readonly life: Life;
  /** Work of no replica: what the network and the database do. */
  readonly outside: Owner;
  readonly clock: () => Date;
  /** The disk of the database is full. */
  isFull(): boolean;
  /** Ends the life of the replica now. */
  crash(): void;
  pause(ms: number): void;
  emit(event: StoreEvent): void;
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** In milliseconds: when a driver gives up a call that gets no answer. */
const GIVEN_UP_MS = 20_000;

/** In milliseconds: how slow a slow answer is at most. */
const SLOW_MS = 8_000;

/** In milliseconds: a pause is longer than a lease, and at most two and a half times the silence of recovery. */
const PAUSE_MIN_MS = 3_000;
const PAUSE_SPREAD_MS = 17_000;

/** A store in another process, over a network. */
export function remoteStore(inner: Store, parts: PortParts): Store {
  return portOver(inner, parts, (method, name, args) => {
    const { world, life, outside } = parts;
    const plan = planOf(parts, name, args);
    const done = world.await(life.owner);
    return new Promise((resolve, reject) => {
      const settle = ({ error, result, waitMs }: Reply) => {
        const end = () => {
          done();
          if (error === undefined) resolve(result);
          else reject(error);
        };
        if (waitMs === 0) world.park(life.owner, end);
        else world.after(waitMs, life.loop, end);
      };
      world.park(outside, () => {
        if (life.owner.isAlive || plan.hasLeft) {
          void replyTo(parts, plan, { method, name, args }).then(settle);
        }
      });
    });
  });
}

/** What a replica gets, and how long after the store executed the call. */
interface Reply {
  readonly result?: unknown;
  readonly error?: unknown;
  readonly waitMs: number;
}

async function replyTo(parts: PortParts, plan: Plan, call: Execution): Promise<Reply> {
  const { name } = call;
  const { slowMs: waitMs } = plan;
  const silence = () => {
    parts.faults.hit('store-never');
    return { error: lost(name, 'no answer came'), waitMs: GIVEN_UP_MS };
  };
  if (waitMs > 0) parts.faults.hit('store-slow');
  const unmet = refusalOf(parts, plan, name);
  if (unmet) return { error: unmet, waitMs };
  if (plan.isNever && !plan.happens) return silence();
  try {
    const result = await executed(parts, call);
    strike(parts, plan);
    if (plan.isNever) return silence();
    if (!plan.failsAfter) return { result, waitMs };
    parts.faults.hit('store-after');
    return { error: lost(name, 'the connection broke'), waitMs };
  } catch (error) {
    return { error, waitMs };
  }
}

/** Why the store does not execute a call. */
function refusalOf(parts: PortParts, plan: Plan, name: keyof Store): Error | undefined {
  const { faults } = parts;
  if (plan.losesLease) {
    faults.hit('lease');
    return refused('it is out of reach');
  }
  if (plan.failsBefore) {
    faults.hit('store-before');
    return refused('it is out of reach');
  }
  if (!CHANGES.has(name) || !parts.isFull()) return undefined;
  faults.hit('disk-full');
  return refused('it is full');
}

/** What happens to the replica when the store has executed its call. */
function strike({ faults, life, crash, pause }: PortParts, { crashes, pauseMs }: Plan): void {
  if (!life.owner.isAlive) return;
  if (crashes) {
    faults.hit('store-crash');
    crash();
  } else if (pauseMs > 0) {
    faults.hit('store-pause');
    pause(pauseMs);
  }
}

interface EmbeddedParts extends PortParts {
  /** Counts the transactions of the connection. */
  batch(): number;
}

/**
 * A store in the process of the replica. It waits by itself for the next turn, and its connection fails where it
 * does. Here a replica may die with a change that is committed and was not confirmed: a living process always
 * knows what its own commit did.
 */
export function embeddedStore(inner: Store, parts: EmbeddedParts): Store {
  return portOver(inner, parts, async (method, name, args) => {
    const plan = planOf(parts, name, args);
    const { failsAfter, slowMs, losesLease } = plan;
    if (losesLease) {
      parts.faults.hit('lease');
      throw refused('the file is locked');
    }
    const result = await executed(parts, { method, name, args, batch: parts.batch });
    // A replica dies within a transaction where its connection says so.
    strike(parts, { ...plan, crashes: false });
    // Other processes write to the file before this one goes on.
    await turnOf(parts, slowMs);
    if (!failsAfter || !CHANGES.has(name) || !parts.life.owner.isAlive) return result;
    parts.faults.hit('store-after');
    parts.crash();
    return NEVER;
  });
}

function turnOf({ world, life, faults }: PortParts, slowMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (slowMs === 0) {
      world.park(life.owner, resolve);
      return;
    }
    faults.hit('store-slow');
    const done = world.await(life.owner);
    world.after(slowMs, life.loop, () => {
      done();
      resolve();
    });
  });
}

function portOver(
  inner: Store,
  { life, clock }: PortParts,
  call: (method: Method, name: keyof Store, args: unknown[]) => Promise<unknown>,
): Store {
  const methods = Object.entries(inner).flatMap(([key, value]) => {
    if (typeof value !== 'function' || OWN.has(key)) return [];
    const method = value as Method;
    const ask = (...args: unknown[]) =>
      life.owner.isAlive ? call(method, key as keyof Store, args) : NEVER;
    return [[key, ask] as const];
  });
  return {
    ...(Object.fromEntries(methods) as unknown as Store),
    logId: inner.logId,
    now: clock,
    backlog: () => inner.backlog(),
    close: () => Promise.resolve(),
  };
}

/** Members that no call of the network is. */
const OWN: ReadonlySet<string> = new Set(['now', 'backlog', 'close']);

/** Nothing that a dead replica asks is ever answered. */
const NEVER = new Promise<never>(() => undefined);

interface Plan {
  readonly failsBefore: boolean;
  readonly failsAfter: boolean;
  readonly isNever: boolean;
  /** Where no answer comes: whether it happened. */
  readonly happens: boolean;
  /** Whether it is executed although its replica died before. */
  readonly hasLeft: boolean;
  readonly slowMs: number;
  /** The replica dies, or pauses for so long, when the call has happened. */
  readonly crashes: boolean;
  readonly pauseMs: number;
  /** The call renews a lease that is never renewed. */
  readonly losesLease: boolean;
}

/** Calls after which a replica holds something that another one waits for: here it pauses more often. */
const HOLDING: ReadonlySet<keyof Store> = new Set(['admit', 'beginStep', 'endStep']);
const HOLDING_FACTOR = 8;

const counts = new WeakMap<Life, Map<string, number>>();

/** Draws everything each time, so that one kind of fault never shifts another. */
function planOf({ faults, life }: PortParts, name: keyof Store, args: readonly unknown[]): Plan {
  let counted = counts.get(life);
  if (!counted) {
    counted = new Map();
    counts.set(life, counted);
  }
  const count = (counted.get(name) ?? 0) + 1;
  counted.set(name, count);
  const drawn: Chance = faults.at(`${life.label} ${name} ${count}`);
  const [failsBefore, failsAfter] = [
    drawn.is(faults.rate('store-before')),
    drawn.is(faults.rate('store-after')),
  ];
  const isNever = drawn.is(faults.rate('store-never'));
  const [happens, hasLeft] = [drawn.is(0.5), drawn.is(0.5)];
  const [isSlow, slowMs] = [drawn.is(faults.rate('store-slow')), 1 + drawn.below(SLOW_MS)];
  return {
    failsBefore,
    failsAfter,
    isNever,
    happens,
    hasLeft,
    slowMs: isSlow ? slowMs : 0,
    crashes: drawn.is(faults.rate('store-crash')),
    pauseMs: pauseOf(faults, drawn, name),
    losesLease: name === 'renewLeases' && faults.at(`lease of ${args[0]}`).is(faults.rate('lease')),
  };
}

function pauseOf(faults: Faults, drawn: Chance, name: keyof Store): number {
  const rate = faults.rate('store-pause') * (HOLDING.has(name) ? HOLDING_FACTOR : 1);
  return drawn.is(rate) ? PAUSE_MIN_MS + drawn.below(PAUSE_SPREAD_MS) : 0;
}

interface Execution {
  readonly method: Method;
  readonly name: keyof Store;
  readonly args: unknown[];
  /** Counts transactions: what a rolled back one made does not count. */
  readonly batch?: () => number;
}

function executed(
  { life, emit }: PortParts,
  { method, name, args, batch = () => 0 }: Execution,
): Promise<unknown> {
  const { replica } = life;
  const made: Made[] = [];
  let madeIn = -1;
  const watched = args.map((arg) => {
    if (typeof arg !== 'function') return arg;
    return (...given: unknown[]) => {
      const result: Made = arg(...given);
      if (madeIn !== batch()) made.length = 0;
      madeIn = batch();
      made.push(result);
      return result;
    };
  });
  const event = { kind: 'store', replica, method: name, args } as const;
  return method(...watched).then(
    (result) => {
      emit({ ...event, ...(made.length > 0 && madeBy(made)), result });
      return result;
    },
    (error: unknown) => {
      // A replica that died in its transaction gets no error.
      if (life.owner.isAlive) emit({ ...event, error });
      throw error;
    },
  );
}

/** What a function among the arguments makes: an entry, or an entry with notices. */
type Made = EntryRecord | { entry: EntryRecord; deliveries: readonly DeliveryRecord[] };

function madeBy(made: readonly Made[]): Pick<StoreEvent, 'entries' | 'deliveries'> {
  return {
    entries: made.map((each) => ('entry' in each ? each.entry : each)),
    deliveries: made.flatMap((each) => ('entry' in each ? each.deliveries : [])),
  };
}

function refused(why: string): StoreUnavailable {
  return new StoreUnavailable(`Cannot use the store: ${why}`);
}

/** A question changes nothing, so its failure leaves nothing unknown. */
function lost(name: keyof Store, why: string): Error {
  if (!CHANGES.has(name)) return refused(why);
  return new OutcomeUnknown(`Cannot tell the outcome: ${why}`);
}
