/**
 * Kills in a row: real service processes under load, killed at any moment, and what they left checked after each kill.
 *
 * Every lap has a new store, a number of processes and a kind of call. On PostgreSQL the way to the server also loses
 * connections and the server itself is restarted; on both stores a process is now and then stopped for longer than
 * its lease and its heartbeat. Needs no test runner.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/storage/open.ts';
import { type LossyWay, openLossyWay } from '../faults/lossy.ts';
import { type FaultyServer, startFaultyServer } from '../faults/server.ts';
import {
  buildProgram,
  newSealedPlace,
  type Place,
  type Running,
  start,
} from '../invoke/processes.ts';
import { atEnd, withEnds } from '../support/ends.ts';
import { makeDatabase } from '../support/postgres.ts';
import { allClosed, assertHonest, checkNow } from './honest.ts';
import { type Heard, heardMore, spendUnder } from './load.ts';

export type KillsStore = 'sqlite' | 'postgresql';

export interface KillsOptions {
  readonly kills: number;
  readonly store: KillsStore;
  /** Hears of the progress. */
  readonly say: (line: string) => void;
}

/** What was done and found. A run that finds a fault rejects. */
export interface KillsReport {
  kills: number;
  'server restarts': number;
  'connections cut': number;
  'processes paused': number;
  acknowledged: number;
  'of unknown outcome': number;
  effects: number;
  entries: number;
  checkpoints: number;
  'revocations checked': number;
}

interface Lap {
  readonly processes: number;
  readonly capability: 'pay' | 'trip';
}

const LAPS: Record<KillsStore, readonly Lap[]> = {
  sqlite: [
    { processes: 1, capability: 'pay' },
    { processes: 3, capability: 'pay' },
    { processes: 1, capability: 'trip' },
    { processes: 2, capability: 'trip' },
  ],
  postgresql: [
    { processes: 3, capability: 'pay' },
    { processes: 2, capability: 'trip' },
  ],
};

/** Kills on one store: the log that is checked after each of them stays short. */
const KILLS_PER_LAP = 10;

/** Answers that must have been heard before each kill, so that every life of a process did some work. */
const HEARD_PER_LIFE = 8;

/** In milliseconds: a process that is killed has worked for any time up to this one. */
const MOMENT_MS = 300;

/** In milliseconds: longer than a lease and than the silence after which a process counts as dead. */
const STOPPED_MS = 2_500;

/** In milliseconds. Only to end a run in which no answer comes. */
const ANSWER_MS_MAX = 90_000;

/** One of so many kills comes with a further fault of this kind. */
const SHARES = { pause: 6, restart: 8, cut: 1 };

/** A start may meet a connection that is cut or a server that recovers, and then ends; a later one succeeds. */
const START_TRIES = 30;
const START_REST_MS = 500;

export async function runKills({ kills, store, say }: KillsOptions): Promise<KillsReport> {
  const report: KillsReport = {
    kills: 0,
    'server restarts': 0,
    'connections cut': 0,
    'processes paused': 0,
    acknowledged: 0,
    'of unknown outcome': 0,
    effects: 0,
    entries: 0,
    checkpoints: 0,
    'revocations checked': 0,
  };
  await buildProgram();
  const server = store === 'postgresql' ? await startFaultyServer() : undefined;
  if (server) atEnd(() => server.stop());
  for (let lap = 0; report.kills < kills; lap++) {
    const form = LAPS[store][lap % LAPS[store].length] as Lap;
    const upTo = Math.min(kills, report.kills + KILLS_PER_LAP);
    await withEnds(() => runLap({ form, server, report, upTo }));
    say(
      `${report.kills} of ${kills} kills, ${form.processes} × ${form.capability}: all is well (${report.acknowledged} acknowledged)`,
    );
  }
  return report;
}

interface LapOptions {
  readonly form: Lap;
  readonly server: FaultyServer | undefined;
  readonly report: KillsReport;
  /** The kills of the run when this lap is over. */
  readonly upTo: number;
}

/** Where processes run, and how they reach the store. */
interface Scene {
  readonly place: Place;
  /** The store, without a way that loses connections. */
  readonly direct: Place;
  readonly way: LossyWay | undefined;
  readonly processes: (Running | undefined)[];
}

async function runLap({ form, server, report, upTo }: LapOptions): Promise<void> {
  const scene = await openScene(form, server);
  const { direct, processes } = scene;
  const urls = () => processes.flatMap((each) => (each ? [each.url] : []));
  const { capability } = form;
  const load = { urls, capability, covered: 2_000, callsPerCaller: 2_000 };
  const known = await spendUnder(load, async (heard) => {
    while (report.kills < upTo) {
      await heardMore(heard, HEARD_PER_LIFE, ANSWER_MS_MAX);
      await sleep(randomInt(MOMENT_MS));
      await harm(scene, server, report);
      report.kills += await killSome(scene, upTo - report.kills);
      await checkNow(direct, heard);
    }
    // The load ends while all processes live, so that every call ends with an answer.
    await heardMore(heard, HEARD_PER_LIFE, ANSWER_MS_MAX);
  });
  await allClosed(direct);
  await note(scene, form, known, report);
}

async function openScene(form: Lap, server: FaultyServer | undefined): Promise<Scene> {
  const database = server && (await makeDatabase(server.url));
  const direct = newSealedPlace(database?.url);
  const way = database && (await openLossyWay(database.url));
  if (way) atEnd(() => way.close());
  const place = way ? { ...direct, store: way.url } : direct;
  const processes: Running[] = [];
  for (let n = 0; n < form.processes; n++) processes.push(await startSome(place));
  return { place, direct, way, processes };
}

async function startSome(place: Place): Promise<Running> {
  for (let tries = 1; ; tries++) {
    try {
      return await start(place);
    } catch (error) {
      if (tries === START_TRIES) throw error;
      await sleep(START_REST_MS);
    }
  }
}

/** Kills one process, or all of them at once, and starts others in their place. Tells how many. */
async function killSome({ place, processes }: Scene, most: number): Promise<number> {
  const all = processes.map((_, n) => n);
  const isWhole = processes.length <= most && randomInt(3) === 0;
  const chosen = isWhole ? all : [randomInt(processes.length)];
  const victims = chosen.map((n) => processes[n]);
  for (const n of chosen) processes[n] = undefined;
  await Promise.all(
    victims.map(async (victim) => {
      assert.ok(victim && !victim.hasEnded(), 'a process ended by itself');
      await victim.kill();
    }),
  );
  for (const n of chosen) processes[n] = await startSome(place);
  return chosen.length;
}

async function harm(
  { way, processes }: Scene,
  server: FaultyServer | undefined,
  report: KillsReport,
): Promise<void> {
  if (processes.length > 1 && randomInt(SHARES.pause) === 0) {
    await stopForLong(processes[0] as Running);
    report['processes paused'] += 1;
  }
  if (!way || !server) return;
  if (randomInt(SHARES.restart) === 0) {
    await restart(server);
    report['server restarts'] += 1;
  }
  for (let n = 0; n < SHARES.cut; n++) {
    if (randomInt(2) === 0) way.loseAnswers();
    else way.cutAfter(randomInt(4_096));
    report['connections cut'] += 1;
  }
}

async function stopForLong(running: Running): Promise<void> {
  running.signal('SIGSTOP');
  try {
    await sleep(STOPPED_MS);
  } finally {
    running.signal('SIGCONT');
  }
}

/** A crash of one of its processes, or an end at once and a new start. */
async function restart(server: FaultyServer): Promise<void> {
  if (randomInt(2) === 0) return server.crash();
  await server.halt();
  await server.startAgain();
}

/** The last check of a lap, and its figures. */
async function note(
  { direct, processes }: Scene,
  { capability }: Lap,
  known: Heard,
  report: KillsReport,
): Promise<void> {
  const store = await openStore(direct.store);
  try {
    if (capability === 'pay') await assertHonest(store, direct, known);
  } finally {
    await store.close();
  }
  const { entries, checkpoints, effects } = await checkNow(direct, known);
  const unknown = known.heard.filter(({ text }) => text.includes('"outcome_unknown"')).length;
  report.acknowledged += known.heard.length - unknown;
  report['of unknown outcome'] += unknown;
  report.entries += entries;
  report.checkpoints += checkpoints;
  report.effects += effects;
  report['revocations checked'] += known.revoked.length;
  await Promise.all(processes.map((each) => each?.stop()));
}
