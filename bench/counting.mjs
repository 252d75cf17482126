/**
 * Counts what a program does, and says so when it is asked by a message. Preloaded by `--import`.
 *
 * `BENCH_COUNT` is `work` or `heap`: to count work slows it, and makes objects of its own.
 *
 * @module
 */

import { createHook } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { PerformanceObserver } from 'node:perf_hooks';
import { executed } from './driver.mjs';

const counts = { promises: 0, timers: 0, hashes: 0, parsed: 0, stringified: 0 };
let collections = 0;

if (process.env.BENCH_COUNT === 'work') countWork();
else countCollections();

process.on('message', () => {
  const { heapUsed } = process.memoryUsage();
  process.send({ ...counts, ...executed, heapUsed, collections });
});
// The parent's channel alone does not keep the program alive.
process.channel?.unref();

function countWork() {
  createHook({
    init(_, type) {
      if (type === 'PROMISE') counts.promises += 1;
      else if (type === 'Timeout') counts.timers += 1;
    },
  }).enable();
  for (const name of ['createHash', 'createHmac', 'hash']) counted(crypto, name, 'hashes');
  syncBuiltinESMExports();
  counted(JSON, 'parse', 'parsed');
  counted(JSON, 'stringify', 'stringified');
}

function counted(object, name, count) {
  const original = object[name];
  if (original === undefined) return;
  object[name] = (...given) => {
    counts[count] += 1;
    return original.apply(object, given);
  };
}

/** What was collected between two looks is missing in their difference. */
function countCollections() {
  new PerformanceObserver((list) => {
    collections += list.getEntries().length;
  }).observe({ entryTypes: ['gc'] });
}
