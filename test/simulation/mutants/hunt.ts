/**
 * The hunt: makes a bundle of the sources with each mutant, and counts the seeds until the simulation finds it. No
 * file of the project changes.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { bundled, bundleFolder } from '../bundle.ts';
import type { Edit, Mutant } from './mutant.ts';

const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const SEEDS = join(ROOT, 'test/simulation/mutants/seeds.ts');

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
    const folder = bundleFolder();
    try {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [place, mutant] = next;
        const program = await mutated(mutant, folder);
        const found = { mutant, ...(await runSeeds(program, mutant, options)) };
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

/** A bundle in which the edits are made. An edit whose file is not in it would prove nothing. */
async function mutated({ name, edits }: Mutant, folder: string): Promise<string> {
  const waiting = new Set(edits);
  const files = edits.map(({ file }) => file);
  const edit = (path: string, source: string) => {
    const own = edits.filter(({ file }) => file === path);
    for (const each of own) waiting.delete(each);
    return own.reduce((text, each) => edited(name, each, text), source);
  };
  const program = await bundled(SEEDS, folder, { files, edit });
  for (const { file } of waiting) {
    throw new Error(`Cannot apply "${name}": no run imports ${file}`);
  }
  return program;
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

async function runSeeds(program: string, mutant: Mutant, options: HuntOptions): Promise<Found> {
  const { seeds, known = {} } = options;
  const first = known[mutant.name];
  const ranges = [...(first === undefined ? [] : [`${first}`]), `1-${seeds}`];
  const child = spawn(process.execPath, [program, mutant.mode, ...ranges], {
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
