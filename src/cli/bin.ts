#!/usr/bin/env node
/**
 * The `writ` program: the command line with the real world around it.
 *
 * @module
 */

import { text } from 'node:stream/consumers';
import { main } from './main.ts';

// The status is set and not forced: what was written has to reach a slow pipe first.
process.exitCode = await main(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  input: () => text(process.stdin),
});
