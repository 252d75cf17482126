/**
 * One run of the simulation: one seed decides the replicas, the acts, the faults and the order of everything.
 *
 * The acts happen under faults. Then the faults stop, and everything that waits must end. The checker sees every
 * event and looks at the store at rest.
 *
 * @module
 */

import { generateKeyPairSync } from 'node:crypto';
import { configOf } from '../../src/config/config.ts';
import { type Keyring, openKeyring } from '../../src/keyring/keyring.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { type Act, drawActs } from './acts.ts';
import { broken } from './broken.ts';
import { SERVICE } from './catalog.ts';
import { type Chance, chanceOf } from './chance.ts';
import { type Checker, createChecker } from './checker.ts';
import { type Clients, type Stage, startClients } from './clients.ts';
import type { SimEvent } from './events.ts';
import { drawFaults, type FaultKind } from './faults.ts';
import type { CheckerOptions } from './invariants/shadow.ts';
import { openPlace, type StoreMode } from './modes.ts';
import { createPeers, HOOK_URL, WITNESS_URL, WITNESS_VKEY } from './peers.ts';
import { enrol } from './people.ts';
import { createReplica, loggerOf, RECOVERY, type Replica, type Scene } from './replica.ts';
import { keyOf, ROOTS } from './requests.ts';
import { lineOf } from './trace.ts';
import { createWorld, type Owner } from './world.ts';

export interface RunOptions {
  readonly mode: StoreMode;
  /** The places of the acts that happen; all of them by default. */
  readonly acts?: readonly number[] | undefined;
  readonly without?: readonly FaultKind[] | undefined;
  /** How many replicas there are at most. */
  readonly replicas?: number | undefined;
  /** Keeps a line for each event. */
  readonly trace?: boolean | undefined;
  /** Makes the checker of the run; by default the one that knows every rule. */
  readonly checker?: ((options: CheckerOptions) => Checker) | undefined;
}

export interface RunReport {
  readonly seed: number;
  readonly mode: StoreMode;
  readonly replicas: number;
  /** The places of the acts that happened. */
  readonly acts: readonly number[];
  readonly kinds: readonly FaultKind[];
  /** How often each kind of fault happened. */
  readonly hits: ReadonlyMap<FaultKind, number>;
  readonly steps: number;
  /** How many invocations the store admitted, and how many effects happened. */
  readonly admitted: number;
  readonly effects: number;
  readonly crashes: number;
  readonly trace: readonly string[];
  /** The rule that broke. */
  readonly broken?: { readonly invariant: string; readonly message: string } | undefined;
}

/** 2026-01-01, a time like any other. */
const BEGIN = Date.UTC(2026, 0, 1);

/** In milliseconds of the world: acts that take longer are cut, and rest that takes longer is no rest. */
const START_MS = 20_000;
const ACTS_MS = 300_000;
const REST_MS = 400_000;

/** In milliseconds of the world, between two looks whether everything is at rest. */
const LOOK_MS = 1_000;

const CONFIG = configOf(
  {
    store: 'memory:',
    rate_limits: 'off',
    identities: [
      ...(['alice', 'ann'] as const).map((name) => identity(name, ROOTS[name], ['s.*'])),
      identity('bob', 'human:bob', ['approver:*']),
      identity('operator', 'service:operator', ['operator:*']),
    ],
    webhooks: [
      {
        name: 'desk',
        url: HOOK_URL,
        secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      },
    ],
    witnesses: [{ url: WITNESS_URL, vkey: WITNESS_VKEY }],
  },
  '/',
);

function identity(name: Parameters<typeof keyOf>[0], principal: string, scopes: string[]) {
  const subjects = ['agent:*', 'human:*', 'service:*'];
  return { key: keyOf(name), principal, scopes, subjects, caller_class: 'internal' };
}

let keyring: Keyring | undefined;

/** One for all runs of this process: nothing in a run depends on a key. */
function keysOf(): Keyring {
  const pem = () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  };
  keyring ??= signingAtOnce(
    openKeyring(
      { tokenKeys: pem(), logKeys: pem(), rowKeys: Buffer.alloc(32, 9).toString('base64') },
      { now: () => new Date(BEGIN), onWarning: () => undefined },
    ),
  );
  return keyring;
}

/** A thread beside the event loop would answer at a time that no seed decides. */
function signingAtOnce(made: Keyring): Keyring {
  return {
    ...made,
    signer: (use) => ({
      kid: made.kid(use),
      sign: async (typ, payload) => made.sign(use, typ, payload),
    }),
  };
}

export async function runSeed(seed: number, options: RunOptions): Promise<RunReport> {
  const chance = chanceOf(seed);
  const run = await prepare(chance, options);
  const { world, stage, events } = run;
  for (const replica of stage.replicas) replica.start();
  const isUp = () => stage.replicas.every((replica) => replica.runtime());
  await world.run(() => events.isBroken() || isUp() || world.now() > BEGIN + START_MS);
  await enrol({ ...stage, store: run.place.observe(), log: loggerOf(stage, 0) });
  stage.faults.begin();
  const acts = performedActs(chance, options, stage.replicas.length);
  const clients = startClients(stage, acts);
  try {
    await world.run(() => events.isBroken() || clients.areDone() || world.now() > BEGIN + ACTS_MS);
    run.calm();
    await rest(run, clients);
  } catch (error) {
    events.found(error);
  }
  for (const replica of stage.replicas) replica.owner().isAlive = false;
  run.place.close();
  const { counts, trace, broken } = events.report();
  return {
    seed,
    mode: options.mode,
    replicas: stage.replicas.length,
    ...counts,
    trace,
    broken,
    acts: acts.map(({ place }) => place),
    kinds: stage.faults.kinds,
    hits: stage.faults.hits(),
    steps: world.steps(),
  };
}

type Run = Awaited<ReturnType<typeof prepare>>;

async function prepare(chance: Chance, options: RunOptions) {
  const world = createWorld(chance.fork('order'), BEGIN);
  const faults = drawFaults(chance.fork('faults'), new Set(options.without));
  const outside: Owner = { name: 'outside', isAlive: true, isPaused: false };
  const stuck: (() => void)[] = [];
  let storeStepMs = 0;
  let latest = 0;
  let fullUntil = 0;
  const clock = () => {
    const now = world.now() + storeStepMs;
    latest = Math.max(latest, now);
    return new Date(now);
  };
  const events = createEvents(options, { ms: () => world.now() - BEGIN, latest: () => latest });
  const { emit } = events;
  const place = await openPlace(options.mode, { world, outside, clock });
  const hasWitness = chance.fork('witness').is(0.3);
  const scene: Scene = {
    world,
    faults,
    outside,
    emit,
    chance,
    runs: new Map(),
    keyring: keysOf(),
    config: hasWitness ? CONFIG : { ...CONFIG, witnesses: [] },
    peers: createPeers({ world, faults, outside, emit }),
    openStore: (life, platform, control) =>
      place.open({
        world,
        faults,
        life,
        outside,
        clock,
        emit,
        platform,
        ...control,
        isFull: () => !faults.isOver() && world.now() < fullUntil,
      }),
    untilCalm: (run) => void (faults.isOver() ? run() : stuck.push(run)),
    log: events.log,
  };
  const count = Math.min(
    options.replicas ?? REPLICAS_MAX,
    1 + chance.fork('replicas').below(REPLICAS_MAX),
  );
  const replicas: Replica[] = Array.from({ length: count }, (_, id) => createReplica(scene, id));
  const stage: Stage = {
    ...scene,
    replicas,
    stepStoreClock(ms) {
      storeStepMs += ms;
    },
    fillDisk(ms) {
      fullUntil = world.now() + ms;
    },
  };
  const calm = () => {
    faults.stop();
    emit({ kind: 'faults-stop' });
    for (const run of stuck.splice(0)) run();
  };
  return { world, stage, events, place, calm };
}

const REPLICAS_MAX = 3;

/** Acts of a kind of fault that the run leaves out do not happen; all others are the same. */
function performedActs(
  chance: Chance,
  { acts, without = [] }: RunOptions,
  replicas: number,
): Act[] {
  const natural = drawFaults(chance.fork('faults'), new Set());
  natural.begin();
  const all = drawActs(chance.fork('acts'), natural, replicas);
  const left = new Set<string>(without);
  if (left.has('clock')) left.add('store-clock');
  const kept = acts && new Set(acts);
  return all.filter(({ kind, place }) => !left.has(kind) && (kept?.has(place) ?? true));
}

/** Lets everything end that waits, and lets the checker look at the store. */
async function rest({ world, stage, events, place }: Run, clients: Clients): Promise<void> {
  const observer = place.observe();
  const end = world.now() + REST_MS;
  for (;;) {
    const until = world.now() + LOOK_MS;
    const isOver = () => events.isBroken() || (world.now() >= until && !world.isBusy());
    // Replicas always have a timer, so only work without an end is left.
    if (!(await world.run(isOver))) broken('liveness', `no rest after ${world.steps()} steps`);
    if (events.isBroken()) return;
    const isLast = world.now() >= end;
    if (!isLast && !(await isAtRest(observer, stage, clients))) continue;
    const fault = await events.atRest(observer);
    if (LATE.has(fault?.invariant) && !isLast) continue;
    if (fault) events.found(fault);
    return;
  }
}

/** What may still come: the lease of a crashed process ends, a call waits for its store, an entry is repeated. */
const LATE: ReadonlySet<string | undefined> = new Set(['liveness', 'acknowledged']);

/** The rows that one look reads. A run has fewer. */
const ROWS_MAX = 1_000;

async function isAtRest(store: Store, stage: Stage, clients: Clients): Promise<boolean> {
  const { replicas, world } = stage;
  if (!clients.areDone() || clients.open() > 0 || world.isAwaiting()) return false;
  if (replicas.some((replica) => !replica.runtime())) return false;
  for (const root of Object.values(ROOTS)) {
    if ((await store.openIntents(root, 1)).length > 0) return false;
  }
  const deliveries = await store.listDeliveries(ROWS_MAX);
  if (deliveries.some(({ state }) => state === 'pending')) return false;
  const { size } = await store.sequence();
  return (await store.lastCheckpoint())?.size === size;
}

/** The time of a line, and the latest time that the clock of the store has shown. */
interface Times {
  ms(): number;
  latest(): number;
}

/** A broken rule says which; any other error is a defect. */
type Fault = Error & { readonly invariant?: string };

function createEvents(options: RunOptions, { ms, latest }: Times) {
  const { trace: isTraced = false, checker: create = createChecker } = options;
  const { capabilities } = SERVICE.catalog;
  const checker = create({ capabilities, silentMs: RECOVERY.silentMs, latest });
  const counts = { admitted: 0, effects: 0, crashes: 0 };
  const trace: string[] = [];
  let broken: RunReport['broken'];
  /** An error that is no broken rule is a defect, and breaks the run too. */
  const found = (error: unknown) => {
    const { invariant = 'defect', message } = error as Fault;
    broken ??= { invariant, message };
    if (isTraced) trace.push(`         BROKEN ${invariant}: ${message}`);
  };
  const emit = (event: SimEvent) => {
    if (broken) return;
    if (isTraced) trace.push(lineOf(event, ms()));
    if (event.kind === 'effect' && event.phase === 'done') counts.effects += 1;
    if (event.kind === 'replica' && event.what === 'crash') counts.crashes += 1;
    if (event.kind === 'store' && event.method === 'admit' && isAdmitted(event.result)) {
      counts.admitted += 1;
    }
    try {
      checker.see(event);
    } catch (error) {
      found(error);
    }
  };
  return {
    emit,
    found,
    isBroken: () => broken !== undefined,
    log(replica: number, level: string, facts: unknown, message: string) {
      if (!isTraced || level === 'debug') return;
      const { err } = facts as { err?: Error };
      trace.push(`         r${replica} log ${level}: ${message}${err ? ` (${err.message})` : ''}`);
    },
    atRest: (store: Store): Promise<Fault | undefined> =>
      checker.atRest(store).then(
        () => undefined,
        (error) => error,
      ),
    report: () => ({ counts, trace, broken }),
  };
}

function isAdmitted(result: unknown): boolean {
  return (result as { admitted?: boolean } | undefined)?.admitted === true;
}
