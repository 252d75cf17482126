/**
 * Prints figures of the repository's structure: sizes, circles of imports, repeated blocks, and the files
 * and functions that one live request runs through.
 *
 * `npm run figures` compares well between two commits: run it in a checkout of each. With `--suite` it also
 * runs the whole suite and prints its time; with `--files` it names the files of each request.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureWalks } from './walks.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = ['src', 'test', 'bench', 'examples', 'scripts'];
const EXTENSIONS = ['.ts', '.mjs'];
/** Lines. A shorter block is repeated by chance. */
const BLOCK = 6;

interface SourceFile {
  readonly path: string;
  readonly lines: readonly string[];
}

const files = FOLDERS.flatMap((folder) => filesUnder(join(ROOT, folder)));
const tests = files.filter(({ path }) => isTest(path));
const product = files.filter(({ path }) => path.startsWith('src/') && !isTest(path));

printSizes();
printCircles();
printRepeated();
await printWalks();
if (process.argv.includes('--suite')) printSuite();

function filesUnder(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && EXTENSIONS.includes(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({
      path: relative(ROOT, file),
      lines: readFileSync(file, 'utf8').trimEnd().split('\n'),
    }));
}

/** Tests and what only tests use. `src/testing` ships, but is support code all the same. */
function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.startsWith('test/') || path.startsWith('src/testing/');
}

function linesOf(list: readonly SourceFile[]): number {
  return list.reduce((sum, { lines }) => sum + lines.length, 0);
}

function printSizes(): void {
  print('folder', 'files', 'lines');
  const folders = new Map<string, SourceFile[]>();
  for (const file of product) {
    const folder = dirname(file.path);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  for (const [folder, list] of folders) print(folder, list.length, linesOf(list));
  const support = tests.filter(({ path }) => !path.endsWith('.test.ts'));
  const cases = tests.filter(({ path }) => path.endsWith('.test.ts'));
  print('product (src without tests)', product.length, linesOf(product));
  print('tests', cases.length, linesOf(cases));
  print('support code of tests', support.length, linesOf(support));
  print('all', files.length, linesOf(files));
  const sizes = product.map(({ lines }) => lines.length).sort((a, b) => a - b);
  print('median file', sizes[Math.floor(sizes.length / 2)] as number);
  print('largest file', sizes.at(-1) as number);
  print('most files in a folder', Math.max(...[...folders.values()].map((list) => list.length)));
}

/** Counts the files that lead back to themselves, imports of types included. */
function printCircles(): void {
  const imports = new Map(product.map((file) => [file.path, importsOf(file)]));
  const leadsBack = (start: string): boolean => {
    const seen = new Set<string>();
    const open = [...(imports.get(start) ?? [])];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (path === start) return true;
      if (seen.has(path)) continue;
      seen.add(path);
      open.push(...(imports.get(path) ?? []));
    }
    return false;
  };
  print('files in circles of imports', [...imports.keys()].filter(leadsBack).length);
}

function importsOf({ path, lines }: SourceFile): string[] {
  const found = lines.join('\n').matchAll(/(?:from|import) '(\.[^']+)'/g);
  return [...found].map(([, target]) => join(dirname(path), target as string));
}

/** Counts the blocks of lines that stand in more than one place. */
function printRepeated(): void {
  const places = new Map<string, number>();
  for (const { lines } of product) {
    const code = lines.map((line) => line.trim()).filter((line) => /\w/.test(line));
    const body = code.filter((line) => !/^(\/\*\*|\*|\/\/|import |\} from )/.test(line));
    for (let at = 0; at + BLOCK <= body.length; at += 1) {
      const block = body.slice(at, at + BLOCK).join('\n');
      places.set(block, (places.get(block) ?? 0) + 1);
    }
  }
  print('repeated blocks', [...places.values()].filter((count) => count > 1).length);
}

async function printWalks(): Promise<void> {
  print('request', 'files', 'functions');
  for (const [name, touched] of Object.entries(await measureWalks())) {
    const counts = Object.values(touched);
    print(
      name,
      counts.length,
      counts.reduce((sum, count) => sum + count, 0),
    );
    if (!process.argv.includes('--files')) continue;
    for (const [path, count] of Object.entries(touched)) print(`  ${path}`, count);
  }
}

function printSuite(): void {
  const begun = Date.now();
  const { status } = spawnSync('npm', ['test'], { cwd: ROOT, stdio: 'ignore' });
  print(`suite (exit ${status}), seconds`, Math.round((Date.now() - begun) / 1_000));
}

function print(label: string, ...values: (string | number)[]): void {
  process.stdout.write(
    `${label.padEnd(40)}${values.map((v) => String(v).padStart(10)).join('')}\n`,
  );
}
