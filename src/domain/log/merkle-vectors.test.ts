import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { vectors } from '../../../test/support/vectors.ts';
import type { Hash } from './merkle.ts';
import { isConsistent, verifyInclusion } from './merkle-proof.ts';

// transparency-dev/merkle, testdata: 98 of each kind, most of them altered in one way.
interface Vector {
  wantErr: boolean;
  proof: string[] | null;
}
interface InclusionVector extends Vector {
  leafIdx: number;
  treeSize: number;
  leafHash: string;
  root: string;
}
interface ConsistencyVector extends Vector {
  size1: number;
  size2: number;
  root1: string;
  root2: string;
}

const folder = vectors('merkle');
const COUNT_PER_KIND = 98;

// Its roots are twelve bytes of text, not a digest: the only vector that we answer differently.
const NOT_HASHES = 'additional/sizes-are-equal-one-and-proof-is-empty.json';

if (folder === undefined) {
  test.skip('verifyInclusion() has no public vectors: ../shared/vectors/merkle is absent');
  test.skip('isConsistent() has no public vectors: ../shared/vectors/merkle is absent');
} else {
  runAll<InclusionVector>(join(folder, 'inclusion'), 'verifyInclusion()', (vector) =>
    verifyInclusion({
      index: vector.leafIdx,
      size: vector.treeSize,
      leaf: bytesOf(vector.leafHash),
      proof: (vector.proof ?? []).map(bytesOf),
      root: bytesOf(vector.root),
    }),
  );
  runAll<ConsistencyVector>(join(folder, 'consistency'), 'isConsistent()', (vector) =>
    isConsistent({
      from: vector.size1,
      to: vector.size2,
      fromRoot: bytesOf(vector.root1),
      toRoot: bytesOf(vector.root2),
      proof: (vector.proof ?? []).map(bytesOf),
    }),
  );
}

function runAll<V extends Vector>(kind: string, symbol: string, verify: (vector: V) => boolean) {
  const files = readdirSync(kind, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.replaceAll('\\', '/'));

  test(`${symbol} runs all ${COUNT_PER_KIND} public vectors`, () => {
    assert.equal(files.length, COUNT_PER_KIND);
  });
  for (const file of files) {
    const vector: V = JSON.parse(readFileSync(join(kind, file), 'utf8'));
    const accepted = !vector.wantErr && file !== NOT_HASHES;
    test(`${symbol} ${accepted ? 'accepts' : 'refuses'} the vector ${file}`, () => {
      assert.equal(verify(vector), accepted);
    });
  }
}

function bytesOf(base64: string): Hash {
  return Uint8Array.from(Buffer.from(base64, 'base64'));
}
