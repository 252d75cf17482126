/**
 * `writ init`: a folder with a service that runs at once, with a test and settings for this machine.
 *
 * The files are those of examples/starter. Writes only into a new or empty folder, and replaces no file.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { printable } from '../../domain/wire/printable.ts';
import { errorCode } from '../../keyring/key-file.ts';
import { packageManifest } from '../../package.ts';
import { type Io, leaf } from '../shell/command.ts';
import { value } from '../shell/options.ts';
import { JSON_OPTION, printJson } from '../shell/output.ts';
import { shellWord } from '../shell/values.ts';
import { STARTER } from './starter.generated.ts';

const KEY_FILE = 'owner.key';

/** In bytes: as hard to guess as the keys that sign. */
const KEY_BYTES = 32;

/** What names the service in the files of the starter. */
const STARTER_NAME = 'starter';
const STARTER_DIGEST = '0'.repeat(64);

/** A name of a package, which is the id of the service as well. */
const NAME = /^[a-z][a-z0-9-]{0,62}[a-z0-9]$/;

/** Names of files in the message about a folder that is not empty. */
const SHOWN_MAX = 5;

export const initCommand = leaf({
  name: 'init',
  summary: 'make a folder with a service that runs at once',
  about: `Writes a small service in TypeScript with a test, settings and scripts into a new or empty folder, and a key for you into ${KEY_FILE} (mode 0600, ignored by git). Replaces no file.`,
  operands: { folder: value('<folder>', 'a new or empty folder (default: this one)') },
  options: {
    name: value('<name>', 'the name of the package and the service (default: that of the folder)'),
    package: value(
      '<spec>',
      'what npm installs as writ, such as a tarball (default: this version)',
    ),
    ...JSON_OPTION,
  },
  examples: [
    ['npx writ init office', 'a service in the new folder office'],
    ['npx writ init --name office-supplies', 'a service with another name, in this folder'],
  ],
  cannot: 'make a service',
  async run(given, io) {
    const folder = resolve(given.folder ?? '.');
    const name = nameOf(given.name, folder);
    await refuseFull(folder);
    const files = filesOf(name, given.package);
    await writeAll(folder, files);
    show({ folder, name, files: [...files.keys()], given }, io);
  },
});

function nameOf(given: string | undefined, folder: string): string {
  const name =
    given ??
    basename(folder)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^[^a-z]+|-+$/g, '');
  // npm does not install a package into one of the same name.
  if (NAME.test(name) && name !== 'writ') return name;
  const expected = 'expected 2 to 64 lower-case letters, digits and dashes, and not "writ"';
  if (given !== undefined) throw new Error(`"${given}" is not a name of a service; ${expected}`);
  throw new Error(`the name of the folder is not a name of a service; give --name (${expected})`);
}

async function refuseFull(folder: string): Promise<void> {
  const found = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    const why = errorCode(error) === 'ENOTDIR' ? 'it is not a folder' : errorCode(error);
    throw new Error(`"${folder}" cannot be used (${why})`, { cause: error });
  });
  const names = found.filter((name) => name !== '.git').sort();
  if (names.length === 0) return;
  const shown = names.slice(0, SHOWN_MAX).join(', ');
  const more = names.length > SHOWN_MAX ? ` and ${names.length - SHOWN_MAX} more` : '';
  throw new Error(`"${folder}" is not empty: it has ${shown}${more}; name a new folder`);
}

interface NewFile {
  readonly text: string;
  readonly mode?: number;
}

function filesOf(name: string, writ: string | undefined): Map<string, NewFile> {
  const key = `wk_${randomBytes(KEY_BYTES).toString('base64url')}`;
  const digest = createHash('sha256').update(key).digest('hex');
  const own = Object.entries(STARTER).map(([path, text]): [string, NewFile] => [
    path,
    {
      text: text
        .replaceAll(STARTER_DIGEST, digest)
        .replaceAll(NAMED, (_, before, after) => `${before}${name}${after}`),
    },
  ]);
  return new Map([
    ['package.json', { text: `${JSON.stringify(manifestOf(name, writ), null, 2)}\n` }],
    ...own,
    [KEY_FILE, { text: `${key}\n`, mode: 0o600 }],
  ]);
}

/** The id of the service, and the title of its page. */
const NAMED = new RegExp(`(id: '|^# )${STARTER_NAME}('|$)`, 'gm');

/** Exact versions, with which this version of the package is tested. */
function manifestOf(name: string, writ: string | undefined): object {
  const { version, engines, devDependencies } = packageManifest();
  const tools = ['@types/node', 'tsx', 'typescript'];
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines,
    scripts: {
      start: 'writ serve src/service.ts',
      dev: 'writ serve src/service.ts --watch',
      test: 'node --import tsx --test test/*.test.ts',
      types: 'tsc',
    },
    dependencies: { writ: writ ?? version },
    devDependencies: Object.fromEntries(tools.map((tool) => [tool, devDependencies[tool]])),
  };
}

/** All of the files or none: what was made is removed when one cannot be written. */
async function writeAll(folder: string, files: ReadonlyMap<string, NewFile>): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  try {
    for (const [path, { text, mode }] of files) {
      const whole = join(folder, path);
      const first = await mkdir(dirname(whole), { recursive: true });
      if (first !== undefined) undo.push(() => removeFolders(dirname(whole), first));
      const file = await open(whole, 'wx', mode);
      undo.push(() => rm(whole, { force: true }));
      await file.writeFile(text).finally(() => file.close());
    }
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw new Error(`"${folder}" cannot be written to (${errorCode(error)})`, { cause: error });
  }
}

/** From the deepest to the first that was made. A folder that another program uses stays. */
async function removeFolders(deepest: string, first: string): Promise<void> {
  for (let folder = deepest; !relative(first, folder).startsWith('..'); folder = dirname(folder)) {
    await rmdir(folder).catch(() => undefined);
  }
}

interface Made {
  readonly folder: string;
  readonly name: string;
  readonly files: readonly string[];
  readonly given: { readonly folder: string | undefined; readonly json: boolean };
}

function show({ folder, name, files, given }: Made, io: Io): void {
  if (given.json) {
    printJson(io, { name, folder, files });
    return;
  }
  const enter = given.folder === undefined ? [] : [`cd ${shellWord(given.folder)}`];
  const lines = [
    `Made the service ${name} in ${folder}:`,
    ...files.map((path) => `  ${path}`),
    '',
    'Next:',
    `  ${[...enter, 'npm install'].join(' && ')}`,
    '  npm test',
    '  npm start',
  ];
  io.out(lines.map((line) => `${printable(line)}\n`).join(''));
}
