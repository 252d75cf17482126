/**
 * `npm run test:fast`: the unit tests that need no PostgreSQL, no browser and no program, in under a minute.
 *
 * Runs the tests beside the sources, without the slow ones, and the rules of the repository. Adds the tests that
 * differ from the branch main and those beside a source that differs. It is a first answer: `npm run ok` is the gate.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The tests of a store run with every store, and one of them is PostgreSQL. The others take half of the time of all. */
export const SLOW = [
  'src/storage/',
  'src/domain/log/merkle-proof.test.ts',
  'src/guard/mcp/stdio.test.ts',
  'src/keyring/first-start.test.ts',
  'src/keyring/wire-fuzz.test.ts',
  'src/verify/export/export.test.ts',
];
const RULES = ['test/tidy.test.ts', 'test/project/changelog.test.ts'];
const UNIT = /(?<!\.(process|alone))\.test\.ts$/;
/** The helpers of tests that open a database of PostgreSQL. */
const WITH_POSTGRES =
  /^(import .*|\}) from '[./]+(test\/)?(postgres|empty-store|store-places|sql-places)\.ts'/m;

interface Choice {
  readonly run: readonly string[];
  /** Changed, and left to the whole suite. */
  readonly left: readonly string[];
}

/** The tests of a fast run, of all files and of those that differ from main. `read` gives the text of a file. */
export function fastTests(
  files: readonly string[],
  changed: readonly string[],
  read: (path: string) => string,
): Choice {
  const tests = files.filter((path) => /\.test\.ts$/.test(path) && /^(src|test)\//.test(path));
  const isQuick = (path: string) => UNIT.test(path) && !WITH_POSTGRES.test(read(path));
  const folders = changed
    .filter((path) => path.startsWith('src/'))
    .map((path) => posix.dirname(path));
  const touched = tests.filter(
    (path) => changed.includes(path) || folders.includes(posix.dirname(path)),
  );
  const always = tests.filter(
    (path) => path.startsWith('src/') && !SLOW.some((slow) => path.startsWith(slow)),
  );
  const wanted = [...new Set([...always, ...RULES, ...touched])].sort();
  return {
    run: wanted.filter(isQuick),
    left: touched.filter((path) => !isQuick(path)),
  };
}

function git(...args: string[]): string[] {
  const { stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return (stdout ?? '').split('\0').filter((path) => path !== '');
}

/** Committed on this branch, or not yet committed. Without a branch main, only the latter. */
function changedFiles(): string[] {
  const { stdout } = spawnSync('git', ['merge-base', 'HEAD', 'main'], { encoding: 'utf8' });
  const base = stdout.trim() || 'HEAD';
  return [
    ...git('diff', '--name-only', '--diff-filter=d', '-z', base),
    ...git('ls-files', '-z', '-o', '--exclude-standard'),
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const files = git('ls-files', '-z', '-co', '--exclude-standard');
  const { run, left } = fastTests(files, changedFiles(), (path) => readFileSync(path, 'utf8'));
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', ...run];
  const env = { ...process.env, NODE_ENV: 'test', WRIT_TEST_FAST: '1' };
  const { status } = spawnSync(process.execPath, [...args, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env,
  });
  if (left.length > 0) {
    process.stderr.write(
      `Not run, because they start PostgreSQL, a browser or a program:\n  npm test -- ${left.join(' ')}\n`,
    );
  }
  process.exitCode = status ?? 1;
}
