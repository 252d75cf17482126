/**
 * A run that takes minutes, alone on a machine: bounded in time, ended by itself, and nothing is left behind.
 *
 * @module
 */

import { withEnds } from '../test/support/ends.ts';

export interface LongRun {
  /** A run that takes longer has failed. */
  readonly minutesMax: number;
  /** Prints a summary and returns it. Rejects when a promise was not kept. */
  readonly work: () => Promise<void>;
}

/** Runs the work, ends what it opened, and ends this process: with 0 only when all was well. */
export async function runLong({ minutesMax, work }: LongRun): Promise<never> {
  let code = 0;
  await withEnds(async () => {
    try {
      await Promise.race([work(), endedBefore(minutesMax)]);
    } catch (error) {
      code = 1;
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    }
  });
  process.exit(code);
}

/** Rejects when the time is over, and when this process is asked to end. */
function endedBefore(minutes: number): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (why: string) => reject(new Error(`Cannot finish the run: ${why}`));
    setTimeout(() => fail(`it took longer than ${minutes} minutes`), minutes * 60_000).unref();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => fail(`it got ${signal}`));
    }
  });
}

/** The figures of a run, one a line. */
export function printFigures(title: string, figures: Readonly<Record<string, number>>): void {
  const width = Math.max(...Object.keys(figures).map(({ length }) => length));
  const lines = Object.entries(figures).map(([name, n]) => `  ${name.padEnd(width)}  ${n}`);
  process.stdout.write(`${title}\n${lines.join('\n')}\n`);
}

export function sayWithTime(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}

/** Reads a whole number from 1 on. */
export function numberOf(name: string, text: string, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number <= most) return number;
  throw new Error(`Cannot use --${name} ${text}: expected a whole number from 1 to ${most}`);
}
