/**
 * A witness for tests, written from the specification and with nothing of ours but the tree's proofs.
 *
 * @module
 */

import { createPublicKey, generateKeyPairSync, hash, sign, verify } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isConsistent } from '../../src/domain/log/merkle-proof.ts';

export interface FakeWitness {
  readonly url: string;
  readonly vkey: string;
  /** The sizes it has cosigned. */
  readonly cosigned: number[];
  /** What it answers instead, when set. */
  answer?: { status: number; body: string; headers?: Record<string, string> } | undefined;
  /** Requests so far. */
  asked: number;
  close(): Promise<void>;
}

/** Trusts the log whose vkey `trusted` gives when asked. */
export async function fakeWitness(trusted: () => string): Promise<FakeWitness> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(`${publicKey.export({ format: 'jwk' }).x}`, 'base64url');
  const name = 'witness.example/w1';
  const typed = Buffer.concat([Buffer.of(0x04), raw]);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'buffer').subarray(
    0,
    4,
  );
  let last = { size: 0, root: hash('sha256', '', 'buffer') };

  const add = (
    body: string,
  ): { status: number; body: string; headers?: Record<string, string> } => {
    const [head = '', text, lines = ''] = body.split('\n\n');
    const [first = '', ...proof] = head.split('\n');
    const old = Number(/^old (\d+)$/.exec(first)?.[1]);
    const [, digits, encoded = ''] = `${text}`.split('\n');
    const [size, root] = [Number(digits), Buffer.from(encoded, 'base64')];
    if (!isTrusted(trusted(), `${text}\n`, lines)) return { status: 403, body: '' };
    if (old > size) return { status: 400, body: '' };
    if (old !== last.size) {
      const headers = { 'content-type': 'text/x.tlog.size' };
      return { status: 409, body: `${last.size}\n`, headers };
    }
    const hashes = proof.map((line) => new Uint8Array(Buffer.from(line, 'base64')));
    const claim = { from: old, to: size, fromRoot: new Uint8Array(last.root) };
    if (!isConsistent({ ...claim, toRoot: new Uint8Array(root), proof: hashes })) {
      return { status: 422, body: '' };
    }
    last = { size, root };
    witness.cosigned.push(size);
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(1_900_000_000n);
    const signed = sign(
      null,
      Buffer.from(`cosignature/v1\ntime 1900000000\n${text}\n`),
      privateKey,
    );
    const line = Buffer.concat([id, time, signed]).toString('base64');
    return { status: 200, body: `\u2014 ${name} ${line}\n` };
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    witness.asked += 1;
    const path = request.url === '/w/add-checkpoint' && request.method === 'POST';
    const answer =
      witness.answer ?? (path ? add(`${Buffer.concat(chunks)}`) : { status: 404, body: '' });
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const witness: FakeWitness = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/w`,
    vkey: `${name}+${id.toString('hex')}+${typed.toString('base64')}`,
    cosigned: [],
    asked: 0,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return witness;
}

/** One of the lines is an Ed25519 signature of the trusted key. */
function isTrusted(vkey: string, text: string, lines: string): boolean {
  const [name, , ...key] = vkey.split('+');
  const typed = Buffer.from(key.join('+'), 'base64');
  const x = typed.subarray(1).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return lines.split('\n').some((line) => {
    const [, signer, encoded = ''] = line.split(' ');
    const signature = Buffer.from(encoded, 'base64').subarray(4);
    if (signer !== name || signature.length !== 64) return false;
    return verify(null, Buffer.from(text), publicKey, signature);
  });
}
