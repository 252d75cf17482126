import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { configOf, loadConfig } from './config.ts';

const FILE = { store: 'sqlite:a.db' };
const KEYS = { token_keys: 'x', log_keys: 'y', row_keys: 'z' };

/** Which settings give which mark, in the folder `/data`. */
const PLACES: [settings: object, mark: string | undefined][] = [
  [{}, 'sqlite:/data/.writ/keys/mark.db'],
  [{ data: 'd' }, 'sqlite:/data/d/keys/mark.db'],
  [{ keys: '/run/keys' }, 'sqlite:/run/keys/mark.db'],
  [{ ...FILE, mark: 'm.db' }, 'sqlite:/data/m.db'],
  [{ ...FILE, mark: 'sqlite:m.db' }, 'sqlite:/data/m.db'],
  [{ ...FILE, mark: '/other/m.db' }, 'sqlite:/other/m.db'],
  [{ ...FILE, mark: 'postgres://db/marks' }, 'postgres://db/marks'],
  [{ ...FILE, mark: 'none' }, undefined],
  [{ store: 'memory:' }, undefined],
  [{ store: 'memory:', mark: 'm.db' }, 'sqlite:/data/m.db'],
  [{ store: 'postgres://db/writ' }, 'sqlite:/data/.writ/keys/mark.db'],
  [{ ...KEYS }, undefined],
  [{ ...KEYS, mark: 'm.db' }, 'sqlite:/data/m.db'],
];

for (const [settings, mark] of PLACES) {
  test(`configOf() finds the mark of ${JSON.stringify(settings)}`, () => {
    assert.equal(configOf(settings, '/data').mark, mark);
  });
}

for (const settings of [
  { store: 'sqlite:a.db', mark: 'a.db' },
  { store: 'postgres://db/writ', mark: 'postgres://db/writ' },
]) {
  test(`configOf() refuses a mark in the store itself: ${settings.store}`, () => {
    assert.throws(() => configOf(settings, '/data'), /Cannot use setting "mark": it names the/);
  });
}

for (const mark of ['witness:https://witness.example', 'https://mark.example', 'sqlite:', '']) {
  test(`configOf() refuses the mark "${mark}"`, () => {
    assert.throws(() => configOf({ mark }, '/data'), /Cannot use setting "mark": expected a file/);
  });
}

test('loadConfig() reads the mark from WRIT_MARK', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-config-'));

  const { mark } = await loadConfig(folder, {}, { WRIT_MARK: 'there.db' });

  assert.equal(mark, `sqlite:${join(folder, 'there.db')}`);
  rmSync(folder, { recursive: true });
});

for (const retention of [
  { low_risk_success: 'PT59M' },
  { personal: 'P1M' },
  { everything: 'P1D' },
  { low_risk_failure: 30 },
]) {
  test(`configOf() refuses a retention of ${JSON.stringify(retention)}`, () => {
    assert.throws(() => configOf({ retention }, '/data'), /Cannot use setting "retention/);
  });
}

test('configOf() keeps everything by default, and each class as long as it is told', () => {
  const retention = { high_risk_success: 'P3650D', personal: 'PT1H' };

  assert.deepEqual(configOf({}, '/data').retention, {});
  assert.deepEqual(configOf({ retention }, '/data').retention, retention);
});
