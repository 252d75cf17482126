/**
 * The two clients of the guide to the protocol, run as the guide shows them: programs that share no code with the service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import {
  appendLeaves,
  foldPeaks,
  type Hash,
  hashLeaf,
  type NodeId,
  peaksOf,
} from '../../src/domain/log/merkle.ts';
import { foldAll, inclusionNodes } from '../../src/domain/log/merkle-proof.ts';
import { blocksOf } from './walk.ts';

const PAGE = 'docs/guides/implement-the-protocol.md';

interface Client {
  /** Its name on the page. */
  readonly file: string;
  readonly program: string;
}

export const PYTHON: Client = { file: 'client.py', program: 'python3' };
export const CLIENTS: readonly Client[] = [
  { file: 'client.mjs', program: process.execPath },
  PYTHON,
];

interface Evidence {
  readonly parameters: object;
  /** In base64. */
  readonly leaf: string;
  readonly proof: {
    readonly leaf_index: number;
    readonly tree_size: number;
    readonly hashes: readonly string[];
  };
}

/** What the client computes from each piece of evidence. */
export function checked(
  client: Client,
  evidence: readonly object[],
  folder: string,
): { leaf: string; root: string }[] {
  const files = evidence.map((each, index) => {
    const file = join(folder, `${index}.json`);
    writeFileSync(file, JSON.stringify(each));
    return file;
  });
  const lines = ran(client, ['check', ...files], { folder })
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** The output of the client as the guide shows it. */
export function ran(
  { program, file }: Client,
  args: readonly string[],
  { folder, input = '' }: { readonly folder: string; readonly input?: string },
): string {
  const text = blocksOf(readFileSync(PAGE, 'utf8')).find(({ name }) => name === file)?.text;
  assert.ok(text, `${PAGE} does not show ${file}`);
  const path = join(mkdtempSync(join(folder, 'client-')), file);
  writeFileSync(path, text);
  const { status, stdout, stderr } = spawnSync(program, [path, ...args], {
    input,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** In leaves. */
const TREE_SIZE = 5_000;

/** Pieces of evidence for one run of a client. Their paths must fit into one command line. */
const AT_ONCE = 500;

/**
 * Makes so many random proofs as the service does, and alters one bit of a copy of each. Throws where the client does
 * not find the root from a proof, or finds it from an altered one.
 */
export function tryProofs(
  client: Client,
  {
    count,
    seed,
    folder,
  }: { readonly count: number; readonly seed: number; readonly folder: string },
): void {
  const tree = treeOf(TREE_SIZE);
  const anyPlace = fc.record({
    // A tree of one leaf has no hash that could be altered.
    size: fc.integer({ min: 2, max: TREE_SIZE }),
    leaf: fc.nat(),
    step: fc.nat(),
    bit: fc.nat(255),
  });
  const places = fc.sample(anyPlace, { numRuns: count, seed });
  for (let from = 0; from < places.length; from += AT_ONCE) {
    const some = places.slice(from, from + AT_ONCE);
    const honest = some.map(({ size, leaf }) => tree.prove(leaf % size, size));
    const altered = honest.map((each, index) =>
      flipped(each, some[index] as (typeof some)[number]),
    );

    const found = checked(client, [...honest, ...altered], folder);

    for (const [index, { size }] of some.entries()) {
      const root = `sha256:${hex(tree.root(size))}`;
      assert.equal(found[index]?.root, root, `a proof in a tree of ${size}`);
      assert.notEqual(
        found[some.length + index]?.root,
        root,
        `an altered proof in a tree of ${size}`,
      );
    }
  }
}

function treeOf(size: number) {
  const textOf = (index: number) => `entry ${index}`;
  const leaves = Array.from({ length: size }, (_, index) => hashLeaf(textOf(index)));
  const { nodes } = appendLeaves(0, [], leaves);
  const known = new Map(nodes.map(({ level, index, hash }) => [`${level}/${index}`, hash]));
  const read = ({ level, index }: NodeId) => known.get(`${level}/${index}`) as Hash;
  return {
    root: (of: number) => foldPeaks(peaksOf(of).map(read)),
    prove: (index: number, of: number): Evidence => ({
      parameters: {},
      leaf: Buffer.from(textOf(index)).toString('base64'),
      proof: {
        leaf_index: index,
        tree_size: of,
        hashes: foldAll(inclusionNodes(index, of), read).map(hex),
      },
    }),
  };
}

function flipped(evidence: Evidence, { step, bit }: { step: number; bit: number }): Evidence {
  const at = step % evidence.proof.hashes.length;
  const hashes = evidence.proof.hashes.map((hash, index) => {
    if (index !== at) return hash;
    const bytes = Buffer.from(hash, 'hex');
    const place = Math.floor(bit / 8);
    bytes[place] = (bytes[place] as number) ^ (1 << (bit % 8));
    return hex(bytes);
  });
  return { ...evidence, proof: { ...evidence.proof, hashes } };
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
