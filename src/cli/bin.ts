#!/usr/bin/env node
/**
 * The `writ` program: runs the command line with the streams and signals of the process.
 *
 * @module
 */

import { createInterface } from 'node:readline';
import { olderNode } from '../package.ts';
import { type Io, readAll } from './shell/command.ts';
import { EXIT_FAILED } from './shell/exit.ts';

/** Bytes of standard input: more than the parameters of a call. Longer input was piped in by mistake. */
const INPUT_BYTES_MAX = 512 * 1024;

let mustEnd = false;

const io: Io = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  isTerminal: {
    out: process.stdout.isTTY === true,
    err: process.stderr.isTTY === true,
    get columns() {
      return process.stdout.columns ?? process.stderr.columns;
    },
  },
  untilStopped: () =>
    new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    }),
  endAfter() {
    mustEnd = true;
  },
  pipes: { input: process.stdin, output: process.stdout },
  input: () => readAll(process.stdin, INPUT_BYTES_MAX),
  ask: process.stdin.isTTY && process.stderr.isTTY ? askPerson : undefined,
};

/** Lines are edited by the terminal itself, so that Ctrl-C still ends the process. */
function askPerson(question: string): Promise<string | undefined> {
  process.stderr.write(question);
  const lines = createInterface({ input: process.stdin, terminal: false });
  return new Promise((resolve) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('close', () => resolve(undefined));
  });
}

// A reader that has enough, such as "head", closes the pipe: nothing is left to do.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

// Sets `exitCode` instead of calling `exit()`, so that a slow pipe gets all output.
process.exitCode = await run();
if (mustEnd) process.stdout.write('', () => process.stderr.write('', () => process.exit()));

/** The commands are loaded only on a Node that can load them. */
async function run(): Promise<number> {
  const fault = olderNode();
  if (fault === undefined) return (await import('./main.ts')).main(process.argv.slice(2), io);
  io.err(`${fault}\n`);
  return EXIT_FAILED;
}
