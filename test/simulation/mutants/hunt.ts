/**
 * The hunt: applies one mutant after the other to copies of the sources, and counts the seeds until the simulation
 * finds it.
 *
 * A copy is used again, because the transformed files of one folder are cached between processes. Nothing of the
 * folder of the project changes.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Edit, Mutant } from './mutant.ts';

const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export interface HuntOptions {
  /** The last seed. The first one is 1. */
  readonly seeds: number;
  /** By the name of a mutant: the seed that found it before, which is tried first. */
  readonly known?: Readonly<Record<string, number>> | undefined;
  /** Processes at the same time. */
  readonly processes: number;
  /** Called when a mutant was found, or survived. */
  readonly onEnd?: ((hunted: Hunted) => void) | undefined;
}

export interface Hunted {
  readonly mutant: Mutant;
  /** The seed that found it; absent when it survived. */
  readonly seed?: number | undefined;
  readonly invariant?: string | undefined;
  readonly message?: string | undefined;
}

/** In the order of the mutants. */
export async function hunt(
  mutants: readonly Mutant[],
  options: HuntOptions,
): Promise<readonly Hunted[]> {
  const waiting = [...mutants.entries()];
  const hunted: Hunted[] = [];
  const work = async () => {
    const folder = mkdtempSync(join(tmpdir(), 'writ-mutants-'));
    try {
      copySources(folder);
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [place, mutant] = next;
        const found = await huntOne(folder, mutant, options);
        hunted[place] = found;
        options.onEnd?.(found);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: options.processes }, work));
  return hunted;
}

/** What a run of the simulation imports. */
const COPIED = ['src', 'test', 'package.json', 'tsconfig.json'];
const LEFT_OUT =
  /\.test\.ts$|^src\/(?:console|cli|mcp|guard)(?:\/|$)|^test\/(?!simulation(?:\/|$))/;

function copySources(folder: string): void {
  for (const name of COPIED) {
    cpSync(join(ROOT, name), join(folder, name), {
      recursive: true,
      filter: (path) => !LEFT_OUT.test(relative(ROOT, path)),
    });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
}

async function huntOne(folder: string, mutant: Mutant, options: HuntOptions): Promise<Hunted> {
  const before = mutate(folder, mutant);
  try {
    return { mutant, ...(await runSeeds(folder, mutant, options)) };
  } finally {
    for (const [file, source] of before) writeFileSync(join(folder, file), source);
  }
}

/** Applies the edits. Returns the files as they were. */
function mutate(folder: string, { name, edits }: Mutant): Map<string, string> {
  const before = new Map<string, string>();
  for (const edit of edits) {
    const source = readFileSync(join(folder, edit.file), 'utf8');
    if (!before.has(edit.file)) before.set(edit.file, source);
    unlinkSync(join(folder, edit.file));
    writeFileSync(join(folder, edit.file), edited(name, edit, source));
  }
  return before;
}

/** The source with the edit. Its text must be there once: a mutant that changes nothing proves nothing. */
export function edited(name: string, { file, replace, by }: Edit, source: string): string {
  const parts = source.split(replace);
  if (parts.length === 2) return parts.join(by);
  throw new Error(`Cannot apply "${name}": ${file} has its text ${parts.length - 1} times`);
}

export function sourceOf({ file }: Edit): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

const KNOWN_SEEDS = join(ROOT, 'test/simulation/mutants/known-seeds.json');

/** By the name of a mutant: the first seed that finds it. */
export function knownSeeds(): Record<string, number> {
  return existsSync(KNOWN_SEEDS) ? JSON.parse(readFileSync(KNOWN_SEEDS, 'utf8')) : {};
}

export function keepSeeds(hunted: readonly Hunted[]): void {
  const found = hunted.flatMap(({ mutant, seed }) =>
    seed === undefined ? [] : [[mutant.name, seed]],
  );
  const all = Object.entries({ ...knownSeeds(), ...Object.fromEntries(found) });
  const sorted = Object.fromEntries(all.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  writeFileSync(KNOWN_SEEDS, `${JSON.stringify(sorted, null, 2)}\n`);
}

/** What the process of `seeds.ts` prints. */
export type Found = Omit<Hunted, 'mutant'>;

async function runSeeds(folder: string, mutant: Mutant, options: HuntOptions): Promise<Found> {
  const { seeds, known = {} } = options;
  const first = known[mutant.name];
  const ranges = [...(first === undefined ? [] : [`${first}`]), `1-${seeds}`];
  const script = 'test/simulation/mutants/seeds.ts';
  const args = ['--conditions=writ-source', '--import', 'tsx', script];
  const child = spawn(process.execPath, [...args, mutant.mode, ...ranges], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code === 0) return JSON.parse(output);
  throw new Error(`Cannot hunt "${mutant.name}": the process ended with ${code}: ${errors}`);
}
