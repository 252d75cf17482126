/**
 * The public documents, fetched over HTTP and verified the way a stranger would: with the published
 * keys, `jose` and a canonicaliser, and nothing of ours.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from 'jose';
import inject from 'light-my-request';
import { describe, test } from 'vitest';
import { travelDesk } from '../../examples/travel/service.ts';
import { operations } from '../../src/protocol/operations.ts';
import {
  DiscoveryAnswer,
  Graph,
  HandshakeAnswer,
  Jwks,
  Manifest,
} from '../../src/protocol/trust.ts';
import { testService } from '../support/world.ts';

const HALF_DAY_MS = 43_200_000;

const service = await testService();

/** The exact bytes and headers, which `ask` does not keep. */
async function fetched(path: string, headers: Record<string, string> = {}, from = service) {
  const reply = await inject(from.app.listener as never, { method: 'GET', url: path, headers });
  return { status: reply.statusCode, headers: reply.headers, bytes: reply.rawPayload };
}

/** Throws unless the detached signature is one of the published keys over exactly these bytes. */
async function verifyDetached(signature: string, bytes: Uint8Array, jwks: object) {
  const [header, nothing, mark] = signature.split('.');
  assert.equal(nothing, '');
  const text = `${header}.${Buffer.from(bytes).toString('base64url')}.${mark}`;
  return await compactVerify(text, createLocalJWKSet(jwks as never), { algorithms: ['ES256'] });
}

async function jwksOf(from = service): Promise<object> {
  return JSON.parse((await fetched('/.well-known/jwks.json', {}, from)).bytes.toString('utf8'));
}

const DOCUMENTS = [
  { path: '/.well-known/svc', schema: DiscoveryAnswer },
  { path: '/.well-known/jwks.json', schema: Jwks },
  { path: '/svc/manifest', schema: Manifest },
] as const;

describe('every document', () => {
  for (const { path, schema } of DOCUMENTS) {
    test(`${path} answers 200 in the specified shape, cacheable, with a strong tag`, async () => {
      const { status, headers, bytes } = await fetched(path);

      assert.equal(status, 200);
      assert.equal(headers['content-type'], 'application/json; charset=utf-8');
      assert.equal(headers['cache-control'], 'public, max-age=300');
      const hash = createHash('sha256').update(bytes).digest('hex');
      assert.equal(headers.etag, `"sha256-${hash}"`);
      schema.parse(JSON.parse(bytes.toString('utf8')));
    });

    test(`${path} answers 304 to its tag in every form a cache sends it`, async () => {
      const full = await fetched(path);
      const tag = String(full.headers.etag);

      for (const sent of [tag, `W/${tag}`, '*', `"other", ${tag}`, `"a",W/"b" ,W/${tag}`]) {
        const reply = await fetched(path, { 'if-none-match': sent });
        assert.equal(reply.status, 304, sent);
        assert.equal(reply.bytes.length, 0);
        assert.equal(reply.headers.etag, tag);
        assert.equal(reply.headers['cache-control'], full.headers['cache-control']);
        assert.equal(reply.headers['x-svc-signature'], full.headers['x-svc-signature']);
      }
    });

    test(`${path} answers in full to other tags`, async () => {
      const tag = String((await fetched(path)).headers.etag);

      for (const sent of ['"other"', 'W/"other"', tag.slice(1, -1), `${tag}x`, '', 'w/*']) {
        const reply = await fetched(path, { 'if-none-match': sent });
        assert.equal(reply.status, 200, sent);
        assert.ok(reply.bytes.length > 0);
      }
    });
  }
});

describe('discovery', () => {
  test('GET /.well-known/svc has version, identity, trust and disclosure', async () => {
    const { body } = await service.ask('GET', '/.well-known/svc');
    const { svc_discovery: found } = body;

    assert.deepEqual(Object.keys(body), ['svc_discovery']);
    assert.equal(found.version, '0.24');
    assert.equal(found.protocol, 'svc/0.24');
    assert.equal(found.service_id, 'travel-desk');
    assert.deepEqual(found.trust, { level: 'anchored', anchoring: { cadence: 'PT5S' } });
    assert.equal(found.metadata_disclosure.caller_class, 'default');
    assert.equal(found.metadata_disclosure.failure_detail, 'reduced');
    assert.deepEqual(
      new Map(
        found.metadata_disclosure.classes.map((each: Record<string, string>) => [
          each.caller_class,
          each.failure_detail,
        ]),
      ),
      new Map([
        ['internal', 'full'],
        ['partner', 'reduced'],
        ['automated_agent', 'full'],
        ['default', 'reduced'],
      ]),
    );
  });

  test('GET /.well-known/svc summarises each capability with exactly the four fields', async () => {
    const { body } = await service.ask('GET', '/.well-known/svc');
    const summaries = body.svc_discovery.capabilities;

    assert.deepEqual(
      Object.keys(summaries).toSorted(),
      [...travelDesk.catalog.capabilities.keys()].toSorted(),
    );
    for (const summary of Object.values<object>(summaries)) {
      assert.deepEqual(Object.keys(summary).toSorted(), [
        'description',
        'financial',
        'minimum_scope',
        'side_effect',
      ]);
    }
    assert.equal(summaries.search_flights.financial, false);
    assert.equal(summaries.book_flight.financial, true);
    assert.deepEqual(summaries.book_flight.side_effect, { type: 'irreversible' });
  });

  test('GET /.well-known/svc advertises exactly the operations that are routed', async () => {
    const { body } = await service.ask('GET', '/.well-known/svc');
    const advertised = new Map(Object.entries(body.svc_discovery.endpoints));

    for (const [name, { endpoint, path, method }] of Object.entries(operations)) {
      const filled = path.replaceAll(/\{\w+\}/g, 'x');
      const reply = await service.ask(method, filled, method === 'POST' ? { body: {} } : {});
      // An operation may not find what it is asked for: its own words tell it from no route.
      const isRouted = !/^Cannot find (GET|POST) /.test(reply.body.failure?.detail);
      assert.equal(advertised.get(endpoint), isRouted ? path : undefined, name);
      advertised.delete(endpoint);
    }
    assert.deepEqual([...advertised], []);
  });

  test('GET /.well-known/svc advertises what the specification requires', async () => {
    const { body } = await service.ask('GET', '/.well-known/svc');
    const { endpoints } = body.svc_discovery;

    assert.equal(endpoints.manifest, '/svc/manifest');
    assert.equal(endpoints.tokens, '/svc/tokens');
    assert.equal(endpoints.permissions, '/svc/permissions');
    assert.equal(endpoints.invoke, '/svc/invoke/{capability}');
    assert.equal(endpoints.audit, '/svc/audit');
  });
});

describe('the manifest', () => {
  test('its signature verifies over the exact bytes with the published keys alone', async () => {
    const { bytes, headers } = await fetched('/svc/manifest');
    const signature = String(headers['x-svc-signature']);

    const { protectedHeader } = await verifyDetached(signature, bytes, await jwksOf());

    assert.deepEqual(Object.keys(protectedHeader).toSorted(), ['alg', 'kid', 'typ']);
    assert.equal(protectedHeader.alg, 'ES256');
    assert.equal(protectedHeader.typ, 'svc-manifest+jws');
  });

  test('its signature fails for a changed byte and for other keys', async () => {
    const { bytes, headers } = await fetched('/svc/manifest');
    const signature = String(headers['x-svc-signature']);
    const jwks = await jwksOf();
    const stranger = await testService();
    const changed = Buffer.from(bytes);
    changed[changed.length - 2] = (changed[changed.length - 2] ?? 0) ^ 1;
    const longer = Buffer.concat([bytes, Buffer.from(' ')]);
    await assert.rejects(verifyDetached(signature, changed, jwks));
    await assert.rejects(verifyDetached(signature, longer, jwks));
    await assert.rejects(verifyDetached(signature, bytes, await jwksOf(stranger)));
  });

  test('its sha256 is the digest of the canonical form without that field', async () => {
    const manifest = JSON.parse((await fetched('/svc/manifest')).bytes.toString('utf8'));
    const { sha256, ...metadata } = manifest.manifest_metadata;

    const text = canonicalize({ ...manifest, manifest_metadata: metadata }) ?? '';

    assert.equal(createHash('sha256').update(text, 'utf8').digest('hex'), sha256);
  });

  test('it declares each capability whole, names its keys, and lives one day', async () => {
    const manifest = JSON.parse((await fetched('/svc/manifest')).bytes.toString('utf8'));
    const { issued_at, expires_at, version } = manifest.manifest_metadata;

    assert.equal(version, '0.24');
    assert.equal(Date.parse(expires_at) - Date.parse(issued_at), 2 * HALF_DAY_MS);
    assert.deepEqual(manifest.service_identity, {
      id: 'travel-desk',
      jwks_uri: 'http://127.0.0.1/.well-known/jwks.json',
      issuer_mode: 'self',
    });
    for (const [name, capability] of travelDesk.catalog.capabilities) {
      const { name: _, ...declaration } = capability;
      assert.deepEqual(manifest.capabilities[name], JSON.parse(JSON.stringify(declaration)), name);
    }
  });

  test('its kid is the thumbprint of a published key', async () => {
    const { headers } = await fetched('/svc/manifest');
    const { kid } = decodeProtectedHeader(`${headers['x-svc-signature']}`.replace('..', '.e30.'));

    const { keys } = Jwks.parse(await jwksOf());

    assert.ok(keys.some((key) => key.kid === kid));
  });

  test('two services with the same declarations make the same bytes at the same time', async () => {
    const replica = await testService();
    for (const { path } of DOCUMENTS.filter(({ schema }) => schema !== Jwks)) {
      const [one, other] = [await fetched(path), await fetched(path, {}, replica)];
      assert.deepEqual(one.bytes, other.bytes);
      assert.equal(one.headers.etag, other.headers.etag);
    }
  });

  test('it is signed once, for any number of requests', async () => {
    const first = await fetched('/svc/manifest');

    const others = await Promise.all(Array.from({ length: 20 }, () => fetched('/svc/manifest')));

    // ES256 signatures differ each time one is made.
    const signatures = new Set(others.map(({ headers }) => headers['x-svc-signature']));
    assert.deepEqual([...signatures], [first.headers['x-svc-signature']]);
  });

  test('it is rebuilt and signed again at half-life, and not before', async () => {
    const aging = await testService();
    // To the middle of a half-day, so that the real clock crosses no mark meanwhile.
    aging.advance(1.5 * HALF_DAY_MS - (Date.now() % HALF_DAY_MS));
    const before = await fetched('/svc/manifest', {}, aging);
    aging.advance(0.25 * HALF_DAY_MS);
    const still = await fetched('/svc/manifest', {}, aging);
    aging.advance(0.5 * HALF_DAY_MS);
    const after = await fetched('/svc/manifest', {}, aging);

    assert.equal(still.headers['x-svc-signature'], before.headers['x-svc-signature']);
    assert.notEqual(after.headers.etag, before.headers.etag);
    const issued = (bytes: Buffer) =>
      Date.parse(JSON.parse(bytes.toString('utf8')).manifest_metadata.issued_at);
    assert.equal(issued(after.bytes) - issued(before.bytes), HALF_DAY_MS);
    const signature = String(after.headers['x-svc-signature']);
    await verifyDetached(signature, after.bytes, await jwksOf(aging));
  });
});

describe('the graph', () => {
  test('GET /svc/graph shows every capability and every declared relation', async () => {
    const { status, body } = await service.ask('GET', '/svc/graph');
    const graph = Graph.parse(body);

    assert.equal(status, 200);
    const own = graph.nodes.filter((node) => node.service === undefined);
    assert.equal(own.length, travelDesk.catalog.capabilities.size);
    const edges = graph.edges.map(({ type, from, to }) => `${from} ${type} ${to}`);
    for (const edge of [
      'book_flight requires search_flights',
      'book_flight refresh search_flights',
      'book_flight verify get_booking',
      'book_flight cross_service book_room',
      'hold_seat compensation release_seat',
      'plan_trip composition search_flights',
    ]) {
      assert.ok(edges.includes(edge), edge);
    }
  });

  test('GET /svc/graph/{capability} shows one capability and its neighbours only', async () => {
    const { status, body } = await service.ask('GET', '/svc/graph/get_booking');
    const graph = Graph.parse(body);

    assert.equal(status, 200);
    assert.ok(graph.edges.length > 0);
    assert.ok(graph.edges.every(({ from, to }) => [from, to].includes('get_booking')));
    assert.ok(graph.nodes.length < travelDesk.catalog.capabilities.size);
  });

  for (const name of ['nobody', '__proto__', 'constructor', '%F0%9F%9B%AB']) {
    test(`GET /svc/graph/${name} is 404 unknown_capability`, async () => {
      const { status, body } = await service.ask('GET', `/svc/graph/${name}`);

      assert.equal(status, 404);
      assert.equal(body.failure.type, 'unknown_capability');
    });
  }
});

describe('the handshake', () => {
  const rows: { asked: object; compatible: boolean; capabilities?: object }[] = [
    { asked: {}, compatible: true },
    { asked: { protocol_versions: null, capabilities: null }, compatible: true },
    { asked: { protocol_versions: ['0.23', '0.24'] }, compatible: true },
    { asked: { protocol_versions: ['svc/0.24'] }, compatible: true },
    { asked: { protocol_versions: ['0.23'] }, compatible: false },
    { asked: { protocol_versions: [] }, compatible: false },
    {
      asked: { capabilities: { search_flights: '^1.0.0' } },
      compatible: true,
      capabilities: { search_flights: { compatible: true, contract_version: '1.0.0' } },
    },
    {
      asked: { capabilities: { search_flights: '^1.0.0', book_flight: '^2' } },
      compatible: false,
      capabilities: {
        search_flights: { compatible: true, contract_version: '1.0.0' },
        book_flight: { compatible: false, contract_version: '1.0.0' },
      },
    },
    {
      asked: { capabilities: { nobody: '*', constructor: '*' } },
      compatible: false,
      capabilities: {
        nobody: { compatible: false, contract_version: null },
        constructor: { compatible: false, contract_version: null },
      },
    },
  ];
  for (const { asked, compatible, capabilities = {} } of rows) {
    test(`POST /svc/handshake says ${compatible} to ${JSON.stringify(asked)}`, async () => {
      const { status, body } = await service.ask('POST', '/svc/handshake', { body: asked });

      assert.equal(status, 200);
      HandshakeAnswer.parse(body);
      assert.deepEqual(body, { compatible, protocol_version: '0.24', capabilities });
    });
  }

  for (const asked of [
    { protocol_versions: '0.24' },
    { capabilities: { search_flights: 1 } },
    { capabilities: { 'no name': '*' } },
    { capabilities: { search_flights: '1'.repeat(257) } },
  ]) {
    test(`POST /svc/handshake refuses ${JSON.stringify(asked).slice(0, 60)}`, async () => {
      const { status, body } = await service.ask('POST', '/svc/handshake', { body: asked });

      assert.equal(status, 400);
      assert.equal(body.failure.type, 'invalid_parameters');
    });
  }
});
