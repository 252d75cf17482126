#!/usr/bin/env node
/**
 * The `writ` program: the command line with the real world around it.
 *
 * @module
 */

import { readAll } from './io.ts';
import { main } from './main.ts';

/** A token, or a few; what is longer was piped in by mistake. */
const INPUT_BYTES_MAX = 128 * 1024;

// The status is set and not forced: what was written has to reach a slow pipe first.
process.exitCode = await main(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  isTerminal: { out: process.stdout.isTTY === true, err: process.stderr.isTTY === true },
  untilStopped: () =>
    new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    }),
  pipes: { input: process.stdin, output: process.stdout },
  input: () => readAll(process.stdin, INPUT_BYTES_MAX),
});
