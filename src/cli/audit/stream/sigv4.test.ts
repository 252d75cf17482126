import assert from 'node:assert/strict';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { test } from 'vitest';
import { encodedPath, type SigningKeys, signedHeaders } from './sigv4.ts';

// Amazon S3 API Reference, "Signature Calculations for the Authorization Header": its examples and their signatures.
const keys: SigningKeys = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const now = new Date('2013-05-24T00:00:00Z');
const bucket = 'https://examplebucket.s3.amazonaws.com';

const published = [
  {
    name: 'GET Object',
    method: 'GET',
    path: '/test.txt',
    headers: { range: 'bytes=0-9' },
    body: '',
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    name: 'PUT Object',
    method: 'PUT',
    path: '/test$file.text',
    headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    body: 'Welcome to Amazon S3.',
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
];
for (const { name, path, signature, ...request } of published) {
  test(`signedHeaders() gives the published signature of ${name}`, () => {
    const url = new URL(`${bucket}${encodedPath(path)}`);
    const { authorization } = signedHeaders({ ...request, url, now }, keys);

    assert.ok(authorization?.endsWith(`Signature=${signature}`), authorization);
  });
}

test('signedHeaders() signs as the library of Amazon does, whatever path, body and token', async () => {
  const part = fc
    .string({ minLength: 1, maxLength: 12 })
    .filter((text) => !/^\.{1,2}$|\//.test(text));
  const given = fc.record({
    parts: fc.array(part, { minLength: 1, maxLength: 3 }),
    body: fc.string(),
    token: fc.option(fc.stringMatching(/^[A-Za-z0-9+/=]{1,40}$/), { nil: undefined }),
    at: fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
  });
  await fc.assert(
    fc.asyncProperty(given, async ({ parts, body, token, at }) => {
      const url = new URL(`${bucket}${encodedPath(`/${parts.join('/')}`)}`);
      const ours = signedHeaders(
        { method: 'PUT', url, headers: { 'if-none-match': '*' }, body, now: at },
        { ...keys, sessionToken: token },
      );
      assert.equal(ours.authorization, await theirs({ url, body, token, at }));
    }),
  );
});

interface Signed {
  readonly url: URL;
  readonly body: string;
  readonly token: string | undefined;
  readonly at: Date;
}

async function theirs({ url, body, token, at }: Signed): Promise<string | undefined> {
  const { accessKeyId, secretAccessKey, region } = keys;
  const credentials = { accessKeyId, secretAccessKey, ...(token && { sessionToken: token }) };
  const signer = new SignatureV4({
    credentials,
    region,
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: true,
  });
  const { headers } = await signer.sign(
    {
      method: 'PUT',
      protocol: 'https:',
      hostname: url.hostname,
      path: url.pathname,
      body,
      headers: { host: url.host, 'if-none-match': '*' },
    },
    { signingDate: at },
  );
  return headers.authorization?.replaceAll(', ', ',');
}
