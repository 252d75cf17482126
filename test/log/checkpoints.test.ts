import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'vitest';
import { readRootText, signedCheckpointPayload } from '../../src/domain/log/checkpoint.ts';
import { isConsistent, verifyInclusion } from '../../src/domain/log/merkle-proof.ts';
import { fromHex, toHex } from '../../src/domain/wire/hash.ts';
import { Checkpoint, CheckpointDetail, CheckpointListAnswer } from '../../src/protocol/audit.ts';
import {
  AGENT,
  ALICE,
  OPERATOR,
  STORES,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';
import { calmDesk, seal, sealed } from './support.ts';

async function start(
  store: (typeof STORES)[number],
  options: TestOptions = {},
): Promise<TestService> {
  const { url } = await store.open();
  return testService({ store: url, definition: calmDesk, ...options });
}

const hashesOf = (hashes: string[]) => hashes.map((hash) => fromHex(hash) as Uint8Array);

function includes(detail: CheckpointDetail): boolean {
  const { inclusion_proof: proof, merkle_root } = detail;
  assert.ok(proof);
  return verifyInclusion({
    index: proof.leaf_index,
    size: detail.tree_size,
    leaf: fromHex(proof.leaf_hash) as Uint8Array,
    proof: hashesOf(proof.hashes),
    root: readRootText(merkle_root) as Uint8Array,
  });
}

/** Verifies a detached JWS with nothing of ours but the published keys. */
async function isSigned(service: TestService, checkpoint: Checkpoint): Promise<boolean> {
  const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
  const [header = '', , signature = ''] = checkpoint.signature.split('.');
  const { kid, alg, typ } = JSON.parse(Buffer.from(header, 'base64url').toString());
  assert.deepEqual({ alg, typ }, { alg: 'ES256', typ: 'svc-checkpoint+jws' });
  const jwk = jwks.keys.find((key: { kid: string }) => key.kid === kid);
  const payload = Buffer.from(signedCheckpointPayload(calmDesk.id, checkpoint)).toString(
    'base64url',
  );
  return verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
}

for (const store of STORES) {
  test(`the service seals one checkpoint at its start on ${store.name}`, async () => {
    const service = await start(store);
    const { status, body, headers } = await service.ask('GET', '/svc/checkpoints');

    assert.equal(status, 200);
    assert.deepEqual(CheckpointListAnswer.parse(body), body);
    assert.equal(body.checkpoints.length, 1);
    assert.equal(body.checkpoints[0].sequence, 1);
    assert.equal(body.checkpoints[0].entry_count, 0);
    assert.equal(headers['cache-control'], 'public, max-age=2');
    assert.ok(await isSigned(service, body.checkpoints[0]));
  });

  test(`POST /svc/operator/checkpoints seals the whole log, including its own entry, on ${store.name}`, async () => {
    const service = await start(store);
    await service.issue(ALICE, { scope: ['travel.search'] });

    const { status, body } = await seal(service);

    assert.equal(status, 200);
    assert.equal(body.checkpoint.sequence, 2);
    assert.equal(body.checkpoint.entry_count, 2);
    assert.deepEqual(Checkpoint.parse(body.checkpoint), body.checkpoint);
    assert.ok(await isSigned(service, body.checkpoint));
    const { body: trail } = await service.ask('POST', '/svc/audit?entry_type=operator', {
      bearer: OPERATOR,
    });
    assert.deepEqual(trail.entries[0].detail, { verb: 'checkpoints' });
    assert.equal(trail.entries[0].state, 'completed');
  });

  test(`POST /svc/operator/checkpoints requires an operator on ${store.name}`, async () => {
    const service = await start(store);
    const path = '/svc/operator/checkpoints';

    assert.equal((await service.ask('POST', path)).status, 401);
    const { status, body } = await service.ask('POST', path, { bearer: ALICE });
    assert.equal(status, 403);
    assert.equal(body.failure.type, 'scope_insufficient');
    assert.equal((await service.ask('GET', '/svc/checkpoints')).body.checkpoints.length, 1);
  });

  test(`GET /svc/checkpoints/{id} proves every leaf by index and by hash on ${store.name}`, async () => {
    const service = await start(store);
    for (let i = 0; i < 5; i++) await service.issue(ALICE, { scope: ['travel.search'] });
    const { checkpoint_id: id, tree_size: size } = await sealed(service);

    for (let index = 0; index < size; index++) {
      const path = `/svc/checkpoints/${id}?include_proof=true`;
      const { body, headers } = await service.ask('GET', `${path}&leaf_index=${index}`);
      assert.deepEqual(CheckpointDetail.parse(body), body);
      assert.equal(body.inclusion_proof.leaf_index, index);
      assert.ok(includes(body));
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');

      const { leaf_hash } = body.inclusion_proof;
      const byHash = await service.ask('GET', `${path}&leaf_hash=${leaf_hash}`);
      assert.deepEqual(byHash.body, body);
    }
  });

  test(`GET /svc/checkpoints/{id} proves an invocation to callers that may see it on ${store.name}`, async () => {
    const service = await start(store);
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const parameters = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
    const { body: answer } = await service.invoke(token, 'search_flights', parameters);
    const { checkpoint_id: id } = await sealed(service);
    const path = `/svc/checkpoints/${id}?include_proof=true&invocation_id=${answer.invocation_id}`;

    for (const bearer of [token, ALICE, OPERATOR]) {
      const { status, body, headers } = await service.ask('GET', path, { bearer });
      assert.equal(status, 200);
      assert.equal(body.inclusion_proof.leaf_hash, answer.audit.leaf_hash);
      assert.ok(includes(body));
      assert.equal(headers['cache-control'], 'no-store');
    }
    assert.equal((await service.ask('GET', path)).status, 401);
    const foreign = await service.ask('GET', path, { bearer: AGENT });
    const absent = await service.ask('GET', path.replace(/inv-.*$/, 'inv-000000000000'), {
      bearer: ALICE,
    });
    assert.equal(foreign.status, 404);
    assert.equal(absent.status, 404);
    assert.deepEqual(Object.keys(foreign.body.failure), Object.keys(absent.body.failure));
  });

  test(`GET /svc/checkpoints/{id} proves that a later checkpoint extends an earlier on ${store.name}`, async () => {
    const service = await start(store);
    const details = [];
    for (let i = 0; i < 4; i++) {
      for (let j = 0; j < i; j++) await service.issue(ALICE, { scope: ['travel.search'] });
      details.push(await sealed(service));
    }

    for (const [place, earlier] of details.entries()) {
      for (const later of details.slice(place)) {
        const { body } = await service.ask(
          'GET',
          `/svc/checkpoints/${later.checkpoint_id}?consistency_from=${earlier.checkpoint_id}`,
        );
        const { from_size: from, to_size: to, hashes } = body.consistency_proof;
        assert.equal(from, earlier.tree_size);
        assert.equal(to, later.tree_size);
        const [fromRoot, toRoot] = [earlier, later].map(
          ({ merkle_root }) => readRootText(merkle_root) as Uint8Array,
        ) as [Uint8Array, Uint8Array];
        const proof = hashesOf(hashes);
        assert.ok(isConsistent({ from, to, fromRoot, toRoot, proof }));
      }
    }
  });

  test(`GET /svc/checkpoints gives pages, newest first, on ${store.name}`, async () => {
    const service = await start(store);
    for (let i = 0; i < 4; i++) await sealed(service);
    const page = async (query: string) => {
      const { body } = await service.ask('GET', `/svc/checkpoints?${query}`);
      const sequences = body.checkpoints.map(({ sequence }: Checkpoint) => sequence);
      return [sequences, body.next_cursor];
    };

    assert.deepEqual(await page(''), [[5, 4, 3, 2, 1], null]);
    assert.deepEqual(await page('limit=2'), [[5, 4], '4']);
    assert.deepEqual(await page('limit=2&cursor=4'), [[3, 2], '2']);
    assert.deepEqual(await page('limit=2&cursor=2'), [[1], null]);
    assert.deepEqual(await page('limit=1000'), [[5, 4, 3, 2, 1], null]);
  });
}

const [memory] = STORES as [(typeof STORES)[number]];

test('GET /svc/checkpoints limits a page to a hundred, with twenty by default', async () => {
  const service = await start(memory);
  for (let i = 0; i < 104; i++) await seal(service);
  const count = async (query: string) => {
    return (await service.ask('GET', `/svc/checkpoints${query}`)).body.checkpoints.length;
  };

  assert.equal(await count(''), 20);
  assert.equal(await count('?limit=101'), 100);
  assert.equal(await count('?limit=100'), 100);
});

for (const query of ['limit=0', 'limit=-1', 'limit=ten', 'limit=1.5', 'limit=', 'cursor=abc']) {
  test(`GET /svc/checkpoints refuses ${query}`, async () => {
    const service = await start(memory);
    const { status, body } = await service.ask('GET', `/svc/checkpoints?${query}`);

    assert.equal(status, 400);
    assert.equal(body.failure.type, 'invalid_parameters');
  });
}

const HASH = '0'.repeat(64);
const REFUSED: [query: string, status: number, type: string][] = [
  ['include_proof=true', 400, 'invalid_parameters'],
  ['leaf_index=0', 400, 'invalid_parameters'],
  ['include_proof=false&leaf_index=0', 400, 'invalid_parameters'],
  [`include_proof=true&leaf_index=0&leaf_hash=${HASH}`, 400, 'invalid_parameters'],
  ['include_proof=yes&leaf_index=0', 400, 'invalid_parameters'],
  ['include_proof=true&leaf_index=-1', 400, 'invalid_parameters'],
  ['include_proof=true&leaf_index=01', 400, 'invalid_parameters'],
  ['include_proof=true&leaf_hash=abc', 400, 'invalid_parameters'],
  ['include_proof=true&invocation_id=7', 400, 'invalid_parameters'],
  ['include_proof=true&leaf_index=1', 404, 'not_found'],
  ['include_proof=true&leaf_index=999999999999999', 404, 'not_found'],
  [`include_proof=true&leaf_hash=${HASH}`, 404, 'not_found'],
  ['consistency_from=ckpt-00', 404, 'not_found'],
  ['include_proof=true&invocation_id=inv-000000000000', 401, 'authentication_required'],
];

test('GET /svc/checkpoints/{id} refuses a proof that it cannot make', async () => {
  const service = await start(memory);
  const { checkpoint_id: id, tree_size } = await sealed(service);
  assert.equal(tree_size, 1);

  for (const [query, status, type] of REFUSED) {
    const reply = await service.ask('GET', `/svc/checkpoints/${id}?${query}`);
    assert.deepEqual([reply.status, reply.body.failure.type], [status, type], query);
    assert.equal(reply.headers['cache-control'], 'no-store');
  }
  const { status, body } = await service.ask('GET', '/svc/checkpoints/ckpt-unknown');
  assert.deepEqual([status, body.failure.type], [404, 'not_found']);
});

test('GET /svc/checkpoints/{id} refuses a proof from a later checkpoint to an earlier', async () => {
  const service = await start(memory);
  const [earlier, later] = [await sealed(service), await sealed(service)];

  const { status, body } = await service.ask(
    'GET',
    `/svc/checkpoints/${earlier.checkpoint_id}?consistency_from=${later.checkpoint_id}`,
  );

  assert.deepEqual([status, body.failure.type], [400, 'invalid_parameters']);
});

test('GET /svc/checkpoints/{id} refuses a leaf that was added after the checkpoint', async () => {
  const service = await start(memory);
  const earlier = await sealed(service);
  const later = await sealed(service);
  const at = (id: string) => `/svc/checkpoints/${id}?include_proof=true&leaf_index=1`;

  assert.equal((await service.ask('GET', at(earlier.checkpoint_id))).status, 404);
  assert.equal((await service.ask('GET', at(later.checkpoint_id))).status, 200);
});

test('discovery advertises checkpoints exactly when the log is anchored', async () => {
  for (const level of ['anchored', 'signed', 'declarative'] as const) {
    const trust = { level, ...(level === 'anchored' && { anchoring: { cadence: 'P1D' } }) };
    const service = await start(memory, { definition: { ...calmDesk, trust } });
    const { body } = await service.ask('GET', '/.well-known/svc');
    const { endpoints } = body.svc_discovery;
    const offered = ['checkpoints', 'checkpoint', 'operator_checkpoints'];
    const isAnchored = level === 'anchored';

    for (const name of offered) assert.equal(name in endpoints, isAnchored, name);
    const { status } = await service.ask('GET', '/svc/checkpoints');
    assert.equal(status, isAnchored ? 200 : 404);
  }
});

test('the tree head of a checkpoint is a note of the same tree, signed by the same key', async () => {
  const service = await start(memory);
  const detail = await sealed(service);
  const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');

  // Read here line by line, by nothing that wrote it.
  const [origin, size, root, empty, line = '', other, end] = detail.tree_head.split('\n');
  assert.equal(origin, `travel-desk/log/${service.store.logId}`);
  assert.equal(size, String(detail.tree_size));
  assert.equal(`sha256:${toHex(Buffer.from(root ?? '', 'base64'))}`, detail.merkle_root);
  assert.deepEqual([empty, end], ['', '']);
  assert.ok(other?.startsWith(`\u2014 ${origin} `), 'and once more, as witnesses read it');
  const [dash, name, encoded = ''] = line.split(' ');
  assert.deepEqual([dash, name], ['\u2014', origin]);
  const [id, signature] = [encoded, encoded].map((text, half) => {
    const bytes = Buffer.from(text, 'base64');
    return half === 0 ? bytes.subarray(0, 4) : bytes.subarray(4);
  }) as [Buffer, Buffer];
  const text = `${origin}\n${size}\n${root}\n`;
  const signers = await Promise.all(
    jwks.keys.map(async (jwk: object) => {
      const key = createPublicKey({ key: jwk as never, format: 'jwk' });
      const spki = key.export({ type: 'spki', format: 'der' });
      const digest = Buffer.from(await crypto.subtle.digest('SHA-256', spki));
      return (
        digest.subarray(0, 4).equals(id) && verify('sha256', Buffer.from(text), key, signature)
      );
    }),
  );
  assert.deepEqual(signers.filter(Boolean), [true]);
});
