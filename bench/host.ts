/**
 * The host of a virtual machine: what share of the cores it took away while something was measured.
 *
 * Time that a core was ready to work and was not run is steal, where the host says so. Where it does not, the
 * core has a gap: time passes that it spent neither working nor idle.
 *
 * @module
 */

import { readFileSync } from 'node:fs';

/** A sample is marked when the host took more than this part of all cores away. The clock's steps are a part in a hundred. */
export const TAKEN_MAX = 0.05;

/** The cores at one moment. */
export interface Cores {
  readonly count: number;
  /** In milliseconds, of a clock that runs on while the machine stands still. */
  readonly at: number;
  /** In milliseconds, of all cores together: working, idle, or waiting for the disk. */
  readonly had: number;
}

/** Linux counts in steps of 10 ms. */
const TICK_MS = 10;

/** `user nice system idle iowait irq softirq`; steal comes after them, and guests are within user. */
const COUNTED = 7;

/** Undefined where the system does not tell. */
export function cores(): Cores | undefined {
  try {
    return coresOf(readFileSync('/proc/stat', 'utf8'), performance.now());
  } catch {
    return undefined;
  }
}

/** Of the text of `/proc/stat`. */
export function coresOf(stat: string, at: number): Cores {
  const all = /^cpu +(.*)$/m.exec(stat)?.[1];
  const count = stat.match(/^cpu\d+ /gm)?.length;
  if (all === undefined || count === undefined) throw new Error('Cannot read /proc/stat');
  const ticks = all.split(' ').slice(0, COUNTED).map(Number);
  return { count, at, had: TICK_MS * ticks.reduce((sum, each) => sum + each, 0) };
}

/** The part of the cores, from 0 to 1, that nothing of this machine had in between. */
export function takenShare(before: Cores, after: Cores): number {
  const passed = (after.at - before.at) * after.count;
  return Math.max(0, 1 - (after.had - before.had) / passed);
}
