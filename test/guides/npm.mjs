/**
 * Stands for npm while a guide is walked. `npm install` links packages of this repository, so a walk asks no registry
 * and takes no package that the repository does not pin. Other commands of npm are run as they are.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const INSTALLS = ['install', 'i', 'add', 'ci'];

process.exitCode = runNpm(process.argv.slice(2));

/** @param {string[]} words */
function runNpm([verb = '', ...rest]) {
  if (!INSTALLS.includes(verb)) return passedOn('npm', [verb, ...rest]);
  const named = rest.filter((word) => !word.startsWith('-'));
  const list = named.length > 0 ? named.map(specOf) : listed();
  for (const { name, version } of list) link(name, version);
  if (named.length > 0) note(list.map(({ name }) => name));
  process.stdout.write(`added ${list.length} package${list.length === 1 ? '' : 's'}\n`);
  return 0;
}

/** @param {string} word */
function specOf(word) {
  const [, name = word, version] = /^(@?[^@]+)(?:@(.*))?$/.exec(word) ?? [];
  return { name, version };
}

function listed() {
  const { dependencies, devDependencies } = manifestIn('.');
  return Object.entries({ ...dependencies, ...devDependencies }).map(([name, version]) => ({
    name,
    version,
  }));
}

/**
 * @param {string} name
 * @param {string | undefined} version
 */
function link(name, version) {
  const source = name === 'writ' ? ROOT : join(ROOT, 'node_modules', name);
  if (!existsSync(source)) throw new Error(`The repository has no package "${name}"`);
  const { version: pinned, bin } = manifestIn(source);
  if (version !== undefined && version !== pinned) {
    throw new Error(`A guide wants ${name}@${version}; the repository has ${pinned}`);
  }
  const place = join('node_modules', name);
  mkdirSync(join('node_modules/.bin'), { recursive: true });
  mkdirSync(dirname(place), { recursive: true });
  if (!existsSync(place)) symlinkSync(source, place);
  const commands = typeof bin === 'string' ? { [name.replace(/^.*\//, '')]: bin } : (bin ?? {});
  for (const [command, path] of Object.entries(commands)) {
    const file = join('node_modules/.bin', command);
    if (existsSync(file)) continue;
    const program = realpathSync(join(source, path));
    writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
      mode: 0o755,
    });
  }
}

/** As npm notes what it installed by name. */
function note(/** @type {string[]} */ names) {
  const manifest = existsSync('package.json') ? manifestIn('.') : {};
  const dependencies = { ...manifest.dependencies };
  for (const name of names) dependencies[name] = manifestIn(join('node_modules', name)).version;
  writeFileSync('package.json', `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
}

/**
 * @param {string} program
 * @param {string[]} rest
 */
function passedOn(program, rest) {
  const PATH = (process.env.PATH ?? '').split(delimiter).slice(1).join(delimiter);
  const bins = join(process.cwd(), 'node_modules/.bin');
  return (
    spawnSync(program, rest, {
      stdio: 'inherit',
      env: { ...process.env, PATH: [bins, PATH].join(delimiter) },
    }).status ?? 1
  );
}

/** @param {string} folder */
function manifestIn(folder) {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) throw new Error(`There is no ${relative(process.cwd(), path)}`);
  return JSON.parse(readFileSync(path, 'utf8'));
}
