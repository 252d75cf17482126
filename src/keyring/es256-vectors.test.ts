import assert from 'node:assert/strict';
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { vectors } from '../../test/support/vectors.ts';
import { isSignature } from './es256.ts';

// Project Wycheproof: signatures at the edges of arithmetic, of encoding and of the range of r and
// s.
interface Vectors {
  testGroups: {
    publicKeyPem: string;
    publicKeyJwk?: JsonWebKey;
    tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[];
  }[];
}

const COUNT = 262;
const folder = vectors('wycheproof');

if (folder === undefined) {
  test.skip('isSignature() meets no public vector: ../shared/vectors/wycheproof is absent');
} else {
  const file = join(folder, 'ecdsa_secp256r1_sha256_p1363_test.json');
  const { testGroups }: Vectors = JSON.parse(readFileSync(file, 'utf8'));

  test('isSignature() meets all public vectors, good ones and bad ones', () => {
    const results = testGroups.flatMap(({ tests }) => tests.map(({ result }) => result));

    assert.equal(results.length, COUNT);
    assert.deepEqual([...new Set(results)].sort(), ['invalid', 'valid']);
  });

  for (const { publicKeyPem, tests } of testGroups) {
    const key = createPublicKey(publicKeyPem);
    for (const { tcId, comment, msg, sig, result } of tests) {
      const verb = result === 'valid' ? 'accepts' : 'refuses';
      test(`isSignature() ${verb} the vector ${tcId}: ${comment}`, () => {
        const accepted = isSignature(key, Buffer.from(msg, 'hex'), Buffer.from(sig, 'hex'));

        assert.equal(accepted, result === 'valid');
      });
    }
  }
}
