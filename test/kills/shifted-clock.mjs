// @ts-check
/**
 * Loaded before a program: its wall clock is wrong by the milliseconds that a file says, from each SIGUSR2 on.
 *
 * Only `Date` is changed. The monotonic clock and timers go on as before, as they do when a clock is set.
 *
 * @module
 */

import { readFileSync } from 'node:fs';

const file = process.env.WRIT_TEST_CLOCK ?? '';
const now = Date.now.bind(Date);
let shift = 0;

process.on('SIGUSR2', () => {
  shift = Number(readFileSync(file, 'utf8'));
});

globalThis.Date = new Proxy(Date, {
  construct(target, args, shape) {
    return Reflect.construct(target, args.length === 0 ? [now() + shift] : args, shape);
  },
  get(target, name) {
    return name === 'now' ? () => now() + shift : Reflect.get(target, name);
  },
});
