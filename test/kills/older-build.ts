/**
 * An older version of the product, built from git into a temporary folder.
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../ends.ts';

/** What a change of the schema changes. */
const MIGRATIONS = [
  'src/storage/postgres/schema/migrations.ts',
  'src/storage/sqlite/schema/migrations.ts',
];

const ROOT = process.cwd();

/** The oldest commit whose schema is that of this one: the last that touched the migrations, or the parent. */
export function oldestOfSchema(): string {
  const last = git('log', '-1', '--format=%H', '--', ...MIGRATIONS);
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
  const changed = git('diff', '--name-only', commit, 'HEAD', '--', ...MIGRATIONS);
  if (changed !== '') {
    throw new Error(`Cannot run ${name} beside this version: it has another schema (${changed})`);
  }
  const folder = temporaryFolder();
  const archive = execFileSync('git', ['archive', commit], { maxBuffer: 2 ** 29 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', 'tsconfig.build.json'];
  execFileSync(process.execPath, tsc, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  // The pages of the console are built by another tool, and no test of versions opens them.
  const pages = join(ROOT, 'dist/src/console-page');
  if (existsSync(pages)) cpSync(pages, join(folder, 'dist/src/console-page'), { recursive: true });
  return { commit: commit.slice(0, 12), desk: join(folder, 'dist/examples/travel/main.js') };
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}
