/**
 * The machine of a run: its cores, and how long its disk takes for a flush.
 *
 * @module
 */

import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { storeFolder } from './processes.ts';

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memory: string;
  readonly system: string;
  readonly node: string;
  /** In milliseconds. The median of a small write that is flushed to the disk of the stores. */
  readonly fsync: number;
}

export function machine(): Machine {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${process.platform} ${release()}`,
    node: process.version,
    fsync: medianFsync(),
  };
}

const FLUSHES = 101;
/** Bytes. As much as SQLite appends for one page. */
const PAGE = 4_096;

function medianFsync(): number {
  const folder = storeFolder();
  const file = openSync(join(folder, 'pages'), 'w');
  try {
    const times = Array.from({ length: FLUSHES }, () => {
      const began = performance.now();
      writeSync(file, Buffer.alloc(PAGE, 1));
      fdatasyncSync(file);
      return performance.now() - began;
    });
    return times.sort((a, b) => a - b)[Math.floor(FLUSHES / 2)] as number;
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}
