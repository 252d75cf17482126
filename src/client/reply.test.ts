import assert from 'node:assert/strict';
import { test } from 'vitest';
import { failure } from '../domain/failure.ts';
import { readRefusal } from './reply.ts';

const BUSY = { success: false, failure: failure('service_unavailable', 'Cannot take more') };
const YEAR_MS = 31_536_000_000;
const DATE = 'Sun, 15 Nov 2026 12:00:00 GMT';

const WHEN: [said: string, ms: number | undefined][] = [
  ['0', 0],
  ['7', 7_000],
  ['1000000', 1_000_000_000],
  ['99999999', YEAR_MS],
  ['9'.repeat(400), YEAR_MS],
  ['Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
  ['Sunday, 15-Nov-26 12:00:30 GMT', 30_000],
  ['Sun, 15 Nov 2026 11:00:00 GMT', 0],
  ['Tue, 15 Nov 2095 12:00:00 GMT', YEAR_MS],
  ['-1', undefined],
  ['1.5', undefined],
  ['2026-11-15', undefined],
  ['Sun, no such day GMT', undefined],
  ['soon', undefined],
];
for (const [said, ms] of WHEN) {
  test(`readRefusal() reads the Retry-After "${said.slice(0, 40)}" as ${ms} ms`, () => {
    const headers = new Headers({ 'retry-after': said, date: DATE });

    assert.equal(readRefusal(BUSY, 503, headers).retryAfterMs, ms);
  });
}

test('readRefusal() goes by its own clock where the service tells no time', () => {
  const headers = new Headers({ 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() });

  const { retryAfterMs = 0 } = readRefusal(BUSY, 503, headers);

  assert.ok(retryAfterMs > 0 && retryAfterMs <= 3_600_000);
});
