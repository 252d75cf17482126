/**
 * An older version of the product, built from git into a temporary folder, for `npm run rolling`.
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/ends.ts';

/** What a change of the schema changes. */
const SCHEMAS = ['test/store/schema-postgres.txt', 'test/store/schema-sqlite.txt'];

/** Parts of a build that tsc does not make. */
const PAGES = ['dist/src/console-page', 'dist/src/openapi/page.json'];

const ROOT = process.cwd();

/** The oldest commit whose schema is that of this one: the last that changed the record of it, or the parent. */
export function oldestOfSchema(): string {
  const last = git('log', '-1', '--format=%H', '--', ...SCHEMAS);
  return last === git('rev-parse', 'HEAD') ? git('rev-parse', 'HEAD^') : last;
}

export interface OlderBuild {
  /** Twelve digits. */
  readonly commit: string;
  /** The program of the travel desk. */
  readonly desk: string;
}

/** Throws when the commit has another schema: two versions of the schema do not share a store. */
export function buildOlder(name: string): OlderBuild {
  const commit = git('rev-parse', '--verify', `${name}^{commit}`);
  const changed = git('diff', '--name-only', commit, 'HEAD', '--', ...SCHEMAS);
  if (changed !== '') {
    throw new Error(`Cannot run ${name} beside this version: it has another schema (${changed})`);
  }
  const folder = temporaryFolder();
  const archive = execFileSync('git', ['archive', commit], { maxBuffer: 2 ** 29 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', 'tsconfig.build.json'];
  execFileSync(process.execPath, tsc, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  // The pages are built by other tools, and no client of `npm run rolling` opens one: those of this version do.
  for (const pages of PAGES) {
    cpSync(join(ROOT, pages), join(folder, pages), { recursive: true });
  }
  return { commit: commit.slice(0, 12), desk: join(folder, 'dist/examples/travel/main.js') };
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}
