import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { vectors } from '../../test/support/vectors.ts';
import { fromHex } from '../domain/wire/hash.ts';
import { inclusionCheck } from './entry.ts';
import { isSignatureValid } from './signature.ts';

interface Signatures {
  testGroups: {
    publicKeyDer: string;
    tests: { tcId: number; msg: string; sig: string; result: 'valid' | 'invalid' }[];
  }[];
}

interface Inclusion {
  leafIdx: number;
  treeSize: number;
  leafHash: string;
  root: string;
  proof: string[] | null;
  wantErr: boolean;
}

const SIGNATURE_COUNT = 262;
const INCLUSION_COUNT = 98;

const wycheproof = vectors('wycheproof');
const merkle = vectors('merkle');

if (wycheproof === undefined) {
  test.skip('isSignatureValid() meets no public vector: ../shared/vectors/wycheproof is absent');
} else {
  const file = join(wycheproof, 'ecdsa_secp256r1_sha256_p1363_test.json');
  const { testGroups }: Signatures = JSON.parse(readFileSync(file, 'utf8'));

  test(`isSignatureValid() answers ${SIGNATURE_COUNT} public vectors of ECDSA as they say`, async () => {
    let count = 0;
    for (const { publicKeyDer, tests } of testGroups) {
      for (const { tcId, msg, sig, result } of tests) {
        const claim = { key: bytes(publicKeyDer), message: bytes(msg), signature: bytes(sig) };
        assert.equal(
          await isSignatureValid({ type: 'ecdsa', ...claim }),
          result === 'valid',
          `vector ${tcId}`,
        );
        count += 1;
      }
    }
    assert.equal(count, SIGNATURE_COUNT);
  });
}

if (merkle === undefined) {
  test.skip('inclusionCheck() meets no public vector: ../shared/vectors/merkle is absent');
} else {
  const folder = join(merkle, 'inclusion');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.json'),
  );

  test(`inclusionCheck() answers all ${INCLUSION_COUNT} public vectors as they say`, () => {
    assert.equal(files.length, INCLUSION_COUNT);
    for (const file of files) {
      const vector: Inclusion = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      const proof = {
        leaf_index: vector.leafIdx,
        tree_size: vector.treeSize,
        leaf_hash: hex(vector.leafHash),
        hashes: (vector.proof ?? []).map(hex),
      };
      const head = { first: 0, size: vector.treeSize, root: bytes(hex(vector.root)) };
      const { outcome } = inclusionCheck(proof, { head, hash: bytes(proof.leaf_hash) });
      assert.equal(outcome, vector.wantErr ? 'failed' : 'ok', file);
    }
  });
}

function hex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

function bytes(text: string): Uint8Array {
  return fromHex(text) as Uint8Array;
}
