/**
 * The figures behind the table of promises in SECURITY.md: what the long runs counted, when, and at which commit.
 *
 * A long script has `--record` and calls `recordFigures` after a run in which everything held. This module cannot
 * know whether a run held, so a script never calls it after a failure. `npm run generate` makes the table.
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** From the root of the repository. */
export const FIGURES_FILE = 'docs/security-figures.json';

/** Each kind of long run. A promise may name only these. */
export const FIGURE_NAMES = [
  'attack',
  'fuzz',
  'hostile',
  'kills-postgresql',
  'kills-sqlite',
  'mutants',
  'narrowing',
  'outgoing',
  'proofs',
  'rolling',
  'rotation',
  'simulation-memory',
  'simulation-sqlite',
  'vectors',
  'versions',
] as const;

export type FigureName = (typeof FIGURE_NAMES)[number];

/** One run. */
interface Recorded {
  /** In UTC, YYYY-MM-DD. */
  readonly date: string;
  /** Twelve digits; `+` after them where files differed from the commit. */
  readonly commit: string;
  /** What was counted, by a label that a reader understands: "seeds", "kills", "accepted". */
  readonly figures: Readonly<Record<string, number>>;
}

export type SecurityFigures = Readonly<Partial<Record<FigureName, Recorded>>>;

/** Where figures are kept, and which commit they belong to. */
interface FiguresPlace {
  readonly file: string;
  readonly commit: () => string;
  readonly now: () => Date;
}

// A run takes half an hour, and someone may commit meanwhile: the figures belong to what was there when it began.
const COMMIT_AT_START = process.argv.includes('--record') ? commitOf(ROOT) : undefined;

const REPOSITORY: FiguresPlace = {
  file: join(ROOT, FIGURES_FILE),
  commit: () => COMMIT_AT_START ?? commitOf(ROOT),
  now: () => new Date(),
};

/**
 * Keeps the figures of one run in which everything held, in place of those of the run before.
 *
 *     recordFigures('kills-sqlite', { kills: 300, acknowledged: 81_204, lost: 0 });
 */
export function recordFigures(
  name: FigureName,
  figures: Readonly<Record<string, number>>,
  { file, commit, now }: FiguresPlace = REPOSITORY,
): void {
  const labels = Object.entries(figures);
  const fault = labels.find(([, value]) => !Number.isFinite(value) || value < 0);
  if (fault) throw new Error(`Cannot record "${name}": "${fault[0]}" is ${fault[1]}`);
  if (labels.length === 0) throw new Error(`Cannot record "${name}": the run counted nothing`);

  const date = now().toISOString().slice(0, 'YYYY-MM-DD'.length);
  const recorded = { ...figuresIn(file), [name]: { date, commit: commit(), figures } };
  // Renamed into place: a script that is stopped here leaves the old figures whole.
  writeFileSync(`${file}.new`, figuresText(recorded));
  renameSync(`${file}.new`, file);
}

/** What was recorded; nothing where the file is missing. */
export function figuresIn(file: string = REPOSITORY.file): SecurityFigures {
  if (!existsSync(file)) return {};
  return JSON.parse(readFileSync(file, 'utf8')) as SecurityFigures;
}

/** The file as it is written: names sorted, so that two runs change only their own lines. Labels keep their order. */
export function figuresText(figures: SecurityFigures): string {
  const sorted = Object.entries(figures).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`;
}

/** The commit of a working tree. What this script itself writes does not count as a change. */
function commitOf(folder: string): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', '.', `:!${FIGURES_FILE}`, ':!SECURITY.md');
  return `${git('rev-parse', '--short=12', 'HEAD')}${changed ? '+' : ''}`;
}
