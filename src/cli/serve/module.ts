/**
 * Imports a module of the user: JavaScript by Node, TypeScript by the package tsx or by a Node that can.
 *
 * The module shares the modules of this package. A second copy would not recognize the errors that its handlers
 * throw, so a file that would load another copy is refused.
 *
 * @module
 */

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { dirname, extname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { unlessStuck } from '../../config/file.ts';
import { packageFolder } from '../../package.ts';
import { FRESH } from './import-hooks.ts';

const TYPESCRIPT = ['.ts', '.mts'];
const JAVASCRIPT = ['.js', '.mjs', '.cjs'];

export type Exports = Readonly<Record<string, unknown>>;

/** Why the file cannot be imported, before any of it runs. */
export function unimportable(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'there is no such file';
  if (found.isDirectory()) return 'it is a folder, expected a file';
  const ending = extname(path);
  if (![...TYPESCRIPT, ...JAVASCRIPT].includes(ending)) {
    return `expected a name that ends with ${[...TYPESCRIPT, ...JAVASCRIPT].join(', ')}`;
  }
  if (ending === '.ts' && packageType(path) !== 'module') {
    return 'it is not an ES module; write "type": "module" into its package.json';
  }
  return otherCopy(path);
}

export async function importUserModule(path: string): Promise<Exports> {
  if (TYPESCRIPT.includes(extname(path))) await enableTypeScript(path);
  return unlessStuck(import(pathToFileURL(path).href));
}

/**
 * Imports a module again and again, each time with the files that it imports by a path. Packages stay as they are.
 * Each import stays in memory, so this is for a developer's machine. Calls `onFile` for each imported file.
 */
export function openFreshImports(
  onFile: (path: string) => void,
): (path: string) => Promise<Exports> {
  let count = 0;
  let isHooked = false;
  return async (path) => {
    if (TYPESCRIPT.includes(extname(path))) await enableTypeScript(path);
    // Registered after tsx, so that it gets what tsx has found.
    if (!isHooked) hookImports(onFile);
    isHooked = true;
    const { cache } = createRequire(path);
    // Node keeps CommonJS modules by their file, whatever the address of an import says.
    for (const file of ownFiles(cache)) delete cache[file];
    count += 1;
    const loading = unlessStuck(import(`${pathToFileURL(path).href}?${FRESH}=${count}`));
    return loading.finally(() => ownFiles(cache).forEach(onFile));
  };
}

function hookImports(onFile: (path: string) => void): void {
  const { port1: own, port2: port } = new MessageChannel();
  own.on('message', (url: string) => onFile(fileURLToPath(url)));
  own.unref();
  // Compiled or not, as this file is.
  const hooks = new URL(`./import-hooks${extname(import.meta.url)}`, import.meta.url);
  register(hooks, { data: { port }, transferList: [port] });
}

function ownFiles(cache: NodeJS.Dict<unknown>): string[] {
  return Object.keys(cache).filter((file) => !file.includes(`${sep}node_modules${sep}`));
}

/** For the rest of the process: a handler may import further files later. */
async function enableTypeScript(path: string): Promise<void> {
  if (isEnabled) return;
  const tsx = resolvedFrom(path, 'tsx/esm') ?? resolvedFrom(import.meta.url, 'tsx/esm');
  // It registers itself.
  if (tsx !== undefined) await import(pathToFileURL(tsx).href);
  else if (!('typescript' in process.features && process.features.typescript)) {
    throw new Error('a .ts file needs the package "tsx", or Node 22.18 or later');
  }
  isEnabled = true;
}

let isEnabled = false;

function otherCopy(path: string): string | undefined {
  const found = resolvedFrom(path, 'writ');
  if (found === undefined || found.startsWith(`${packageFolder()}${sep}`)) return undefined;
  return 'it uses another installation of writ than this command; run "npx writ" in its folder';
}

/** The file that an import of `name` finds there. */
function resolvedFrom(from: string, name: string): string | undefined {
  try {
    return realpathSync(createRequire(from).resolve(name));
  } catch {
    return undefined;
  }
}

/** The type of the nearest package.json, as Node finds it. */
function packageType(path: string): unknown {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest)) return typeIn(manifest);
    if (dirname(folder) === folder) return undefined;
  }
}

function typeIn(manifest: string): unknown {
  try {
    return JSON.parse(readFileSync(manifest, 'utf8')).type;
  } catch (cause) {
    throw new Error(`"${manifest}" is not JSON`, { cause });
  }
}
