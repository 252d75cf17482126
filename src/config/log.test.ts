import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { configOf, loadConfig, stateFolder, unsafeMark } from './config.ts';
import { stateFolderIn } from './log.ts';

const FILE = { store: 'sqlite:a.db' };
const KEYS = { token_keys: 'x', log_keys: 'y', row_keys: 'z' };

const OWN = `sqlite:${join(stateFolder(), 'mark.db')}`;

/** Which settings give which mark, in the folder `/data`. */
const PLACES: [settings: object, mark: string | undefined][] = [
  [{}, OWN],
  [{ data: 'd' }, OWN],
  [{ host: '::1', public_url: 'http://localhost:1' }, OWN],
  [{ host: '0.0.0.0' }, undefined],
  [{ public_url: 'https://desk.example.com' }, undefined],
  [{ host: '0.0.0.0', mark: 'm.db' }, 'sqlite:/data/m.db'],
  [{ ...FILE, mark: 'm.db' }, 'sqlite:/data/m.db'],
  [{ ...FILE, mark: 'sqlite:m.db' }, 'sqlite:/data/m.db'],
  [{ ...FILE, mark: '/other/m.db' }, 'sqlite:/other/m.db'],
  [{ ...FILE, mark: 'postgres://db/marks' }, 'postgres://db/marks'],
  [{ ...FILE, mark: 'none' }, undefined],
  [{ store: 'memory:' }, undefined],
  [{ store: 'memory:', mark: 'm.db' }, 'sqlite:/data/m.db'],
  [{ store: 'postgres://db/writ' }, OWN],
  [{ ...KEYS }, OWN],
  [{ ...KEYS, mark: 'm.db' }, 'sqlite:/data/m.db'],
];

for (const [settings, mark] of PLACES) {
  test(`configOf() finds the mark of ${JSON.stringify(settings)}`, () => {
    assert.equal(configOf(settings, '/data').mark, mark);
  });
}

test('stateFolderIn() is the folder of the user, unless another is given', () => {
  const given = resolve('/given');
  assert.equal(stateFolderIn({ XDG_STATE_HOME: given }), join(given, 'writ'));
  assert.notEqual(stateFolderIn({ XDG_STATE_HOME: 'relative' }), join('relative', 'writ'));
  assert.match(stateFolderIn({}), /writ$/);
});

const OPEN = { host: '0.0.0.0' };

/** What keeps a service from starting, in the folder `/data`. */
const UNSAFE: [settings: object, fault: RegExp | undefined][] = [
  [{}, undefined],
  [{ mark: 'none' }, undefined],
  [{ mark: '.writ/m.db' }, undefined],
  [OPEN, /has no mark; set WRIT_MARK/],
  [{ ...OPEN, mark: 'none' }, /has no mark; set WRIT_MARK/],
  [{ public_url: 'https://desk.example.com' }, /has no mark/],
  [{ ...OPEN, store: 'memory:' }, undefined],
  [{ ...OPEN, mark: '.writ/m.db' }, /lies in .* and would be restored with it;/],
  [{ ...OPEN, mark: '.writ/keys/m.db' }, /lies in/],
  [{ ...OPEN, mark: '.writ/..m.db' }, /lies in/],
  [{ ...OPEN, mark: '.writ/..m/m.db' }, /lies in/],
  [{ ...OPEN, mark: '.writ/../m.db' }, undefined],
  [{ ...OPEN, store: 'sqlite:/var/db/a.db', mark: '/var/db/m.db' }, /lies in "\/var\/db"/],
  [{ ...OPEN, store: 'sqlite:/var/db/a.db', mark: '/var/mark/m.db' }, undefined],
  [{ ...OPEN, mark: 'm.db' }, undefined],
  [{ ...OPEN, mark: 'postgres://db/marks' }, undefined],
  [{ ...OPEN, store: 'postgres://db/writ', mark: '.writ/m.db' }, /lies in "\/data\/.writ"/],
  [{ ...OPEN, store: 'postgres://db/writ', mark: 'm.db' }, undefined],
];

for (const [settings, fault] of UNSAFE) {
  test(`unsafeMark() ${fault ? 'refuses' : 'passes'} ${JSON.stringify(settings)}`, () => {
    const found = unsafeMark(configOf(settings, '/data'));
    if (fault) assert.match(found ?? '', fault);
    else assert.equal(found, undefined);
  });
}

test('unsafeMark() follows links', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, '.writ'));
  symlinkSync(join(folder, '.writ'), join(folder, 'elsewhere'));

  const found = unsafeMark(configOf({ ...OPEN, mark: 'elsewhere/m.db' }, folder));

  assert.match(found ?? '', /lies in/);
});

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
  const folder = temporaryFolder();

  const { mark } = await loadConfig(folder, {}, { WRIT_MARK: 'there.db' });

  assert.equal(mark, `sqlite:${join(folder, 'there.db')}`);
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
