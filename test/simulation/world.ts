/**
 * The world of a simulation: its time, and the order in which waiting work goes on.
 *
 * Everything that waits is parked here: turns and timers of a replica, store calls before they are executed and
 * before their answer, steps of handlers, answers of peers, acts of clients. One step takes one of them by chance
 * and lets every promise job finish. Time stands still while anything can run, except for a few milliseconds now
 * and then, and goes to the next timer when nothing can.
 *
 * @module
 */

import type { Chance } from './chance.ts';

/** Whose work it is. Work of an owner that died is dropped; work of a paused one waits. */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
  isPaused: boolean;
}

export interface WorldTimer {
  cancel(): void;
}

export interface World {
  /** Milliseconds since 1970, as no clock of the simulation shows them wrongly. */
  now(): number;
  /** Runs once, in any order with other work. */
  park(owner: Owner, run: () => void): void;
  /** Work of one queue runs in the order in which it was added. */
  queue(owner: Owner): (run: () => void) => void;
  /** Adds the work to the queue when it is due. */
  after(ms: number, queue: (run: () => void) => void, run: () => void): WorldTimer;
  resume(owner: Owner): void;
  /** Steps until it is over. False when nothing is left that could run, or after too many steps. */
  run(isOver: () => boolean): Promise<boolean>;
  steps(): number;
  /** Whether something could run now, without time passing. */
  isBusy(): boolean;
  /** Counts work that waits for something, until the returned function runs or its owner dies. */
  await(owner: Owner): () => void;
  /** Whether a living owner waits for something. */
  isAwaiting(): boolean;
}

interface Task {
  readonly owner: Owner;
  run(): void;
}

interface Waiting {
  readonly at: number;
  readonly place: number;
  readonly queue: (run: () => void) => void;
  readonly run: () => void;
}

/** More steps than any run takes that comes to rest. */
const STEPS_MAX = 400_000;

export function createWorld(chance: Chance, begin: number): World {
  const ready: Task[] = [];
  const held = new Map<Owner, Task[]>();
  const timers = new Set<Waiting>();
  const awaiting = new Set<{ readonly owner: Owner }>();
  let now = begin;
  let places = 0;
  let steps = 0;

  const add = (task: Task) => void ready.push(task);

  /** Takes one task by chance. Tasks of the dead are dropped, those of paused owners are held. */
  function take(): Task | undefined {
    while (ready.length > 0) {
      const at = chance.below(ready.length);
      const task = ready[at] as Task;
      const last = ready.pop() as Task;
      if (at < ready.length) ready[at] = last;
      if (!task.owner.isAlive) continue;
      if (!task.owner.isPaused) return task;
      const waiting = held.get(task.owner);
      if (waiting) waiting.push(task);
      else held.set(task.owner, [task]);
    }
    return undefined;
  }

  function fire(): void {
    const due = [...timers].filter(({ at }) => at <= now);
    due.sort((one, other) => one.at - other.at || one.place - other.place);
    for (const timer of due) {
      timers.delete(timer);
      timer.queue(timer.run);
    }
  }

  function passTime(): boolean {
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of timers) if (at < next) next = at;
    if (next === Number.POSITIVE_INFINITY) return false;
    now = Math.max(now, next);
    fire();
    return true;
  }

  return {
    now: () => now,
    park: (owner, run) => add({ owner, run }),
    queue(owner) {
      const queue: (() => void)[] = [];
      const lane: Task = {
        owner,
        run() {
          const run = queue.shift();
          if (queue.length > 0) add(lane);
          run?.();
        },
      };
      return (run) => {
        queue.push(run);
        if (queue.length === 1) add(lane);
      };
    },
    after(ms, queue, run) {
      places += 1;
      let isCancelled = false;
      // A cancelled timer that is due and waits in its queue does not run.
      const runDue = () => {
        if (!isCancelled) run();
      };
      const timer: Waiting = { at: now + Math.max(0, ms), place: places, queue, run: runDue };
      timers.add(timer);
      return {
        cancel() {
          isCancelled = true;
          timers.delete(timer);
        },
      };
    },
    resume(owner) {
      owner.isPaused = false;
      for (const task of held.get(owner) ?? []) add(task);
      held.delete(owner);
    },
    async run(isOver) {
      await settled();
      while (!isOver()) {
        if (steps >= STEPS_MAX) return false;
        const task = take();
        if (task) {
          steps += 1;
          task.run();
          await settled();
          if (chance.is(DRIFT)) {
            now += 1 + chance.below(DRIFT_MS);
            fire();
          }
        } else if (!passTime()) return false;
      }
      return true;
    },
    steps: () => steps,
    isBusy: () => ready.some(({ owner }) => owner.isAlive && !owner.isPaused),
    await(owner) {
      const one = { owner };
      awaiting.add(one);
      return () => void awaiting.delete(one);
    },
    isAwaiting: () => [...awaiting].some(({ owner }) => owner.isAlive),
  };
}

/** How often time passes although something could run, and by how much at most. */
const DRIFT = 1 / 16;
const DRIFT_MS = 4;

/** Resolves when no promise job is left: ticks run after all of them. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
