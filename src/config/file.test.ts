import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { readConfigFile } from './file.ts';

const SECRET = 'hunter2canary';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function settingsOf(named?: string): Promise<object> {
  const reading = await readConfigFile(named, folder);
  assert.ok('settings' in reading, JSON.stringify(reading));
  return { ...reading.settings };
}

async function faultOf(named?: string): Promise<string> {
  const reading = await readConfigFile(named, folder);
  assert.ok('fault' in reading, JSON.stringify(reading));
  assert.doesNotMatch(reading.fault, new RegExp(SECRET));
  return reading.fault;
}

test('readConfigFile() has no settings when nobody wrote a file', async () => {
  assert.deepEqual(await settingsOf(), {});
});

const languages: [name: string, text: string][] = [
  ['writ.config.mjs', 'export default { port: 1 };'],
  ['writ.config.js', 'export default { port: 1 };'],
  ['writ.config.yaml', 'port: 1 # a comment\n'],
  ['writ.config.ts', 'interface A { port: number }\nexport default { port: 1 } satisfies A;'],
];
for (const [name, text] of languages) {
  test(`readConfigFile() finds and reads ${name}`, async () => {
    write(name, text);

    assert.deepEqual(await settingsOf(), { port: 1 });
  });
}

test('readConfigFile() refuses to choose between two files', async () => {
  write('writ.config.yaml', 'port: 1\n');
  write('writ.config.js', 'export default { port: 2 };');

  const [path, other] = [join(folder, 'writ.config.js'), 'writ.config.yaml'];
  assert.equal(await faultOf(), `Cannot choose between "${path}" and "${other}": keep one of them`);
});

for (const name of ['writ.config.json', 'writ.config.yml', 'writ.config.cjs', 'writ.config.toml']) {
  test(`readConfigFile() refuses ${name} instead of leaving it unread`, async () => {
    const path = write(name, '');

    assert.match(await faultOf(), new RegExp(`^Cannot read "${path}": expected one of writ`));
  });
}

test('readConfigFile() reads the named file instead, from the folder or by its full path', async () => {
  write('writ.config.yaml', 'port: 1\n');
  const path = write('other.yml', 'port: 2\n');

  assert.deepEqual(await settingsOf('other.yml'), { port: 2 });
  assert.deepEqual(await settingsOf(path), { port: 2 });
});

test('readConfigFile() takes an export named config too', async () => {
  write('writ.config.mjs', 'export const config = { port: 1 };');

  assert.deepEqual(await settingsOf(), { port: 1 });
});

test('readConfigFile() says that a named file is not there', async () => {
  assert.equal(
    await faultOf('gone.yaml'),
    `Cannot read "${join(folder, 'gone.yaml')}": there is no such file`,
  );
});

test('readConfigFile() says that a folder is no file', async () => {
  mkdirSync(join(folder, 'writ.config.yaml'));

  assert.match(await faultOf(), /^Cannot read ".*writ\.config\.yaml": it is a folder/);
});

for (const text of ['', '# nothing\n', '- port\n', 'port\n', '1\n']) {
  test(`readConfigFile() refuses ${JSON.stringify(text)}: it is no object of settings`, async () => {
    write('writ.config.yaml', text);

    assert.match(await faultOf(), /^Cannot use ".*": expected an object of settings$/);
  });
}

test('readConfigFile() refuses a module that exports no settings', async () => {
  write('writ.config.mjs', 'export const settings = {};');

  assert.match(await faultOf(), /^Cannot use ".*": expected an object of settings$/);
});

const broken: [name: string, text: string, fault: RegExp][] = [
  ['yaml', `a: 1\nb: "${SECRET}\n`, /": line \d+, column \d+ is not YAML$/],
  ['yaml', `store: a: ${SECRET}\n`, /": line 1, column 8 is not YAML$/],
  ['yaml', `a: ${SECRET}\na: ${SECRET}\n`, /": line 2, column 1 is not YAML$/],
  ['yaml', `key: *${SECRET}\n`, /": a YAML alias in it has no anchor$/],
  ['yaml', `%YAML ${SECRET}\n---\na: 1\n`, /": line 1, column 7 is not YAML$/],
  ['yaml', `a: 1\n---\nb: ${SECRET}\n`, /": line \d+, column \d+ is not YAML$/],
  ['mjs', `export default { store: a ${SECRET} };`, /": it does not parse/],
  ['ts', `export default { store: a ${SECRET} };`, /": it does not parse/],
];
for (const [language, text, fault] of broken) {
  test(`readConfigFile() says where ${JSON.stringify(text)} breaks, in ${language}, and not what stands there`, async () => {
    write(`writ.config.${language}`, text);

    assert.match(await faultOf(), fault);
  });
}

test('readConfigFile() passes on what a file that stops itself says', async () => {
  write('writ.config.mjs', "throw new Error('set DESK_REGION first');");

  assert.match(await faultOf(), /": set DESK_REGION first$/);
});
