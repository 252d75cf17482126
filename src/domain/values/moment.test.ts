import assert from 'node:assert/strict';
import { test } from 'vitest';
import { parseMoment } from './moment.ts';

for (const text of [
  '2026-12-01T08:00:00.000Z',
  '2026-12-01T08:00:00Z',
  '2026-12-01T09:00:00+01:00',
]) {
  test(`parseMoment() reads ${text}`, () => {
    assert.equal(parseMoment(text), Date.UTC(2026, 11, 1, 8));
  });
}

for (const text of [
  '',
  '5',
  '45',
  '3600',
  'maybe 2030',
  'immediate',
  '24h',
  'PT5S',
  '2026-12-01',
  '2026-12-01T08:00:00',
  '2026-13-01T08:00:00Z',
  ' 2026-12-01T08:00:00Z',
  '2026-02-30T08:00:00Z',
]) {
  test(`parseMoment() refuses "${text}"`, () => {
    assert.equal(parseMoment(text), undefined);
  });
}
