import assert from 'node:assert/strict';
import { test } from 'vitest';
import { seededPlatform } from '../test/support/seeded.ts';
import { createLog } from './log.ts';

const COUNT_EVERY_MS = 10_000;

function watchedLog() {
  const lines: { level: string; msg: string; repeated?: number; err?: { message: string } }[] = [];
  const platform = seededPlatform('log', 0);
  const log = createLog(
    'info',
    { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
    platform,
  );
  return { lines, platform, log };
}

/** As a store throws it for each call; the text is the caller's. */
function diskFull(text: string): Error {
  return Object.assign(new Error(text), { code: 'ENOSPC' });
}

test('createLog() writes an error that repeats five times whole, and then its count in each interval', () => {
  const { lines, platform, log } = watchedLog();
  const fail = (times: number) => {
    for (let call = 0; call < times; call++) {
      log.error({ err: diskFull(`call ${call}`) }, 'store unavailable');
    }
  };

  fail(1_000);
  assert.equal(lines.length, 5);
  platform.advance(COUNT_EVERY_MS);
  fail(300);
  platform.advance(COUNT_EVERY_MS);

  assert.deepEqual(
    lines.slice(5).map(({ level, msg, repeated }) => ({ level, msg, repeated })),
    [995, 300].map((repeated) => ({ level: 'error', msg: 'store unavailable', repeated })),
  );
  platform.advance(COUNT_EVERY_MS);
  fail(1);
  assert.equal(lines.at(-1)?.err?.message, 'call 0', 'whole again after a quiet interval');
});

test('createLog() counts errors of different places, codes and messages apart', () => {
  const { lines, log } = watchedLog();

  for (let call = 0; call < 100; call++) {
    log.error({ err: diskFull('full') }, 'store unavailable');
    log.warn({ err: diskFull('full') }, 'retrying the store');
    log.error({ err: new Error('another') }, 'store unavailable');
  }

  assert.equal(lines.length, 15);
});

test('createLog() holds a bounded number of kinds, and leaves out no line that is fatal or has no error', () => {
  const { lines, platform, log } = watchedLog();

  for (let call = 0; call < 1_000; call++) {
    log.error({ err: Object.assign(new Error('x'), { code: `E${call}` }) }, 'defect');
  }
  platform.advance(COUNT_EVERY_MS);
  assert.equal(lines.length, 64 + 5 + 1);
  assert.equal(lines.at(-1)?.msg, 'errors of other kinds');
  assert.equal(lines.at(-1)?.repeated, 1_000 - 64 - 5);

  for (let call = 0; call < 10; call++) {
    log.fatal({ err: diskFull('full') }, 'defect');
    log.error({ alarm: 'row_altered' }, 'altered');
  }
  assert.equal(lines.length, 70 + 20);
});
