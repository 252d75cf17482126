/**
 * A replica of a simulation: a real runtime on simulated ports, which crashes, pauses and starts again.
 *
 * @module
 */

import type { Config } from '../../src/config/config.ts';
import type { Keyring } from '../../src/keyring/keyring.ts';
import type { Logger } from '../../src/log.ts';
import type { Platform } from '../../src/platform.ts';
import { createRuntime, type Runtime } from '../../src/service/runtime.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { type HandlerHost, hostedService } from './catalog.ts';
import type { Chance } from './chance.ts';
import type { SimEvent } from './events.ts';
import type { Faults } from './faults.ts';
import type { Peers } from './peers.ts';
import type { Life } from './port.ts';
import type { Owner, World, WorldTimer } from './world.ts';

/** In milliseconds: heartbeats, and how long a process may be silent. */
export const RECOVERY = { intervalMs: 2_500, silentMs: 8_000 };

/** In milliseconds: shorter than a pause, longer than most calls. */
const LEASE_MS = 3_000;

const UPKEEP = { lookMs: 10_000, timeoutMs: 5_000, expiryMs: 15_000, accountsMs: 600_000 };

/** In milliseconds: a replica whose start failed tries again. */
const RESTART_MS = 1_000;

/** What every replica of a run shares. */
export interface Scene {
  readonly world: World;
  readonly faults: Faults;
  readonly outside: Owner;
  readonly peers: Peers;
  readonly chance: Chance;
  readonly config: Config;
  readonly keyring: Keyring;
  readonly runs: HandlerHost['runs'];
  openStore(life: Life, platform: Platform, control: Control): Store;
  untilCalm(run: () => void): void;
  emit(event: SimEvent): void;
  /** Receives lines of the log of a replica. */
  log(replica: number, level: string, facts: unknown, message: string): void;
}

/** What a fault does to one life of a replica. */
interface Control {
  crash(): void;
  pause(ms: number): void;
}

export interface Replica {
  readonly id: number;
  /** Absent while it is down or starts. */
  runtime(): Runtime | undefined;
  owner(): Owner;
  /** Runs when the current life ends. */
  atDeath(run: () => void): () => void;
  start(): void;
  crash(downMs: number): void;
  pause(ms: number): void;
  /** Moves the clock of its machine. */
  stepClock(ms: number): void;
}

export function createReplica(scene: Scene, id: number): Replica {
  const { world, emit } = scene;
  const outsideQueue = world.queue(scene.outside);
  const deaths = new Set<() => void>();
  let life: Life = deadLife(id);
  let runtime: Runtime | undefined;
  let lives = 0;
  let stepMs = 0;

  const end = () => {
    life.owner.isAlive = false;
    runtime = undefined;
    for (const run of [...deaths]) run();
    deaths.clear();
  };
  const startAfter = (ms: number) => void world.after(ms, outsideQueue, start);

  function start(): void {
    lives += 1;
    const label = `r${id}.${lives}`;
    const owner: Owner = { name: label, isAlive: true, isPaused: false };
    const own: Life = { replica: id, label, owner, loop: world.queue(owner) };
    life = own;
    emit({ kind: 'replica', replica: id, what: 'start' });
    const platform = platformOf(scene, own, () => stepMs);
    const control = { crash: () => crash(RESTART_MS), pause };
    startRuntime(scene, own, platform, control).then(
      (started) => {
        if (owner.isAlive) runtime = started;
      },
      () => {
        if (!owner.isAlive) return;
        end();
        startAfter(RESTART_MS);
      },
    );
  }

  function crash(downMs: number): void {
    if (!life.owner.isAlive) return;
    emit({ kind: 'replica', replica: id, what: 'crash' });
    end();
    startAfter(downMs);
  }

  function pause(ms: number): void {
    const { owner } = life;
    if (!owner.isAlive || owner.isPaused) return;
    owner.isPaused = true;
    emit({ kind: 'replica', replica: id, what: 'pause', ms });
    world.after(ms, outsideQueue, () => {
      if (!owner.isAlive) return;
      emit({ kind: 'replica', replica: id, what: 'resume' });
      world.resume(owner);
    });
  }

  return {
    id,
    runtime: () => (life.owner.isPaused ? undefined : runtime),
    owner: () => life.owner,
    atDeath(run) {
      deaths.add(run);
      return () => void deaths.delete(run);
    },
    start,
    crash,
    pause,
    stepClock(ms) {
      stepMs += ms;
      emit({ kind: 'replica', replica: id, what: 'clock', ms });
    },
  };
}

function deadLife(replica: number): Life {
  const owner = { name: `r${replica}.0`, isAlive: false, isPaused: false };
  return { replica, label: owner.name, owner, loop: () => undefined };
}

function startRuntime(
  scene: Scene,
  life: Life,
  platform: Platform,
  control: Control,
): Promise<Runtime> {
  const { config, keyring, peers, world, faults, runs, untilCalm, emit } = scene;
  const host = { world, faults, runs, life, untilCalm, emit, crash: control.crash };
  return createRuntime({
    definition: hostedService(host),
    config,
    keyring,
    platform,
    log: loggerOf(scene, life.replica),
    store: scene.openStore(life, platform, control),
    mark: peers.mark(life),
    callOut: peers.callOut(life),
    baseUrl: () => 'http://127.0.0.1',
    leaseMs: LEASE_MS,
    recovery: RECOVERY,
    upkeep: UPKEEP,
  });
}

function platformOf({ world, chance }: Scene, life: Life, stepMs: () => number): Platform {
  const { owner, loop } = life;
  const random = chance.fork(`random ${life.label}`);
  const begun = world.now();
  const timer = (waiting: () => WorldTimer) => {
    let current = waiting();
    return {
      unref: () => undefined,
      again: () => {
        current = waiting();
      },
      cancel: () => current.cancel(),
    };
  };
  return {
    now: () => world.now() + stepMs(),
    monotonic: () => world.now() - begun,
    after: (ms, run) => timer(() => world.after(ms, loop, run)),
    every(ms, run) {
      const cycle = timer(() =>
        world.after(ms, loop, () => {
          cycle.again();
          run();
        }),
      );
      return cycle;
    },
    cancel: (given) => (given as ReturnType<typeof timer> | undefined)?.cancel(),
    turn: loop,
    tick: (run) => process.nextTick(() => owner.isAlive && run()),
    random: (size) => random.bytes(size),
  };
}

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug'] as const;

export function loggerOf({ log }: Scene, replica: number): Logger {
  const lines = LEVELS.map((level) => [
    level,
    (facts: unknown, message: string) => log(replica, level, facts, message),
  ]);
  const logger = { ...Object.fromEntries(lines), level: 'debug', child: () => logger };
  return logger as unknown as Logger;
}
