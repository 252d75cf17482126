/**
 * Signed receipts: which answers have one, what it costs, and what a hostile or unlucky caller changes.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { travelDesk } from '../../examples/travel/service.ts';
import type { InvokeAnswer } from '../../src/protocol/invocation.ts';
import { readKeys } from '../../src/verify/keys.ts';
import { verifySignedReceipt } from '../../src/verify/receipt.ts';
import { calmDesk } from '../log/support.ts';
import { ALICE, onEachStore, type Reply, type TestService, testService } from '../support/world.ts';

const SIGNED = { prefer: 'receipt=signed' };
const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

async function started(store?: string) {
  const service = await testService({ definition: calmDesk, ...(store && { store }) });
  const scope = ['travel.search', 'travel.extras', 'travel.read'];
  const { token } = await service.issue(ALICE, { scope });
  return { service, token };
}

async function verdictOf(service: TestService, receipt: unknown) {
  const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
  const keys = readKeys({ jwks, pinned: 'all' });
  assert.ok('keys' in keys);
  const ground = { keys, now: new Date(), serviceId: calmDesk.id };
  return (await verifySignedReceipt(receipt, ground)).verdict;
}

function isApplied({ headers }: Reply): boolean {
  return headers['preference-applied'] === 'receipt=signed';
}

onEachStore(
  ({ url }) => started(url),
  (own) => {
    const search = (headers: Record<string, string> = SIGNED) =>
      own().service.invoke(own().token, 'search_flights', SEARCH, { headers });

    test('invoke() signs nothing where the caller does not ask', async () => {
      const reply = await search({});

      assert.deepEqual(Object.keys(reply.body.audit), ['entry_id', 'leaf_hash']);
      assert.equal(reply.headers['preference-applied'], undefined);
    });

    test('invoke() signs a hundred concurrent receipts with fewer signatures, all of which verify', async () => {
      const replies = await Promise.all(Array.from({ length: 100 }, () => search()));
      const receipts = replies.map(({ body }) => body.audit);

      for (const reply of replies) assert.ok(isApplied(reply), JSON.stringify(reply.body));
      for (const receipt of receipts) {
        assert.equal(await verdictOf(own().service, receipt), 'verified');
      }
      const signatures = new Set(receipts.map(({ signed }) => signed.signature));
      assert.ok(signatures.size < 100, `${signatures.size} signatures`);
      assert.equal(new Set(receipts.map(({ leaf_hash }) => leaf_hash)).size, 100);
    });

    test('invoke() promises inclusion within a minute in the log of the checkpoints', async () => {
      const { body } = await search();
      const { signed } = body.audit;
      const [origin] = await own().service.store.origins();
      const last = await own().service.store.lastCheckpoint();

      assert.equal(signed.log_id, origin?.logId);
      assert.equal(signed.last_checkpoint, last?.sequence);
      assert.equal(Date.parse(signed.included_by) - Date.parse(signed.signed_at), 60_000);
    });

    test('invoke() signs the receipt of a refused call, also of a request that cannot be read', async () => {
      const { service, token } = own();
      const path = '/svc/invoke/search_flights';
      const refused = await service.invoke(token, 'book_flight', {}, { headers: SIGNED });
      const body = '{"parameters":{},"stream":"yes"}';
      const unread = await service.ask('POST', path, { bearer: token, body, headers: SIGNED });
      const unknown = await service.ask('POST', path, { bearer: 'nobody', body, headers: SIGNED });

      for (const reply of [refused, unread]) {
        assert.ok(isApplied(reply), JSON.stringify(reply.body));
        assert.equal(await verdictOf(service, reply.body.audit), 'verified');
      }
      assert.equal(unread.body.failure.type, 'invalid_parameters');
      assert.deepEqual(
        [unknown.status, unknown.body.audit, isApplied(unknown)],
        [401, undefined, false],
      );
    });

    test('test() signs the receipt of a dry run', async () => {
      const { service, token } = own();
      const asked = { bearer: token, body: { parameters: SEARCH }, headers: SIGNED };
      const reply = await service.ask('POST', '/svc/test/search_flights', asked);

      assert.ok(isApplied(reply));
      assert.equal(await verdictOf(service, reply.body.audit), 'verified');
    });

    test('invoke() signs a replay anew, and stores no signature with the answer', async () => {
      const { service, token } = own();
      const pass = (headers: object) =>
        service.invoke(
          token,
          'buy_lounge_pass',
          { airport: 'SEA' },
          {
            headers: { 'idempotency-key': 'pass-1', ...headers },
          },
        );

      const first = await pass(SIGNED);
      const plain = await pass({});
      const again = await pass(SIGNED);

      const { signed: _, ...bare } = first.body.audit;
      assert.deepEqual(plain.body, { ...first.body, audit: bare });
      assert.equal(again.headers['idempotent-replayed'], 'true');
      assert.deepEqual({ ...again.body, audit: { ...bare } }, plain.body);
      assert.notEqual(again.body.audit.signed.signature, first.body.audit.signed.signature);
      for (const { body } of [first, again]) {
        assert.equal(await verdictOf(service, body.audit), 'verified');
      }
    });

    test('invoke() signs the receipt in the last event of a stream, also of a replayed one', async () => {
      const { service, token } = own();
      const headers = { 'idempotency-key': 'report-1', ...SIGNED };
      const streamed = async () => {
        const fields = { stream: true };
        const reply = await service.invoke(
          token,
          'export_report',
          { months: 1 },
          { fields, headers },
        );
        const last =
          /^event: (?:completed|failed)\ndata: (.*)$/m.exec(reply.text ?? '')?.[1] ?? '{}';
        return { reply, answer: JSON.parse(last) as InvokeAnswer };
      };

      const first = await streamed();
      const again = await streamed();

      assert.equal(again.reply.headers['idempotent-replayed'], 'true');
      for (const { reply, answer } of [first, again]) {
        assert.match(String(reply.headers['content-type']), /^text\/event-stream/);
        assert.equal(await verdictOf(service, answer.audit), 'verified', reply.text);
      }
      assert.equal(again.answer.audit?.leaf_hash, first.answer.audit?.leaf_hash);
    });

    test('invoke() answers a client that stays, when another that asked has left', async () => {
      const { service, token } = own();
      const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
      const body = JSON.stringify({ parameters: SEARCH });
      const ask = (signal?: AbortSignal) =>
        fetch(`${url}/svc/invoke/search_flights`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            ...SIGNED,
          },
          body,
          signal: signal ?? null,
        });

      const leaving = Array.from({ length: 20 }, async () => {
        const left = new AbortController();
        const asked = ask(left.signal).catch(() => undefined);
        setImmediate(() => left.abort());
        await asked;
      });
      const staying = Array.from({ length: 20 }, async () => (await ask()).json());
      await Promise.all(leaving);

      for (const answer of await Promise.all(staying)) {
        assert.equal(await verdictOf(service, (answer as InvokeAnswer).audit), 'verified');
      }
    });
  },
);

// One service for the rest: the store does not matter.
const { service, token } = await started();
const search = (prefer: string) =>
  service.invoke(token, 'search_flights', SEARCH, { headers: { prefer } });

const ignored = [
  '',
  'receipt',
  'receipt=',
  'receipt=none',
  'receipt=none, receipt=signed',
  'receipt="signed',
  'wait=10; receipt=signed',
  'xreceipt=signed',
  '__proto__=signed',
  ',;=",',
  '"'.repeat(256),
  'receipt=signed;'.padEnd(257, 'x').slice(0, 255).replace('signed', 'SIGNED'),
];
for (const prefer of ignored) {
  test(`invoke() ignores the preference ${JSON.stringify(prefer.slice(0, 40))}`, async () => {
    const reply = await search(prefer);

    assert.equal(reply.status, 200);
    assert.deepEqual([reply.body.audit.signed, isApplied(reply)], [undefined, false]);
  });
}

for (const prefer of [
  'receipt=signed',
  'respond-async, wait=10, receipt="signed"; v=1',
  'return="a, b", Receipt = signed',
  'receipt=signed'.padEnd(256, ' '),
]) {
  test(`invoke() follows the preference ${JSON.stringify(prefer.slice(0, 50))}`, async () => {
    const reply = await search(prefer);

    assert.ok(isApplied(reply));
    assert.equal(await verdictOf(service, reply.body.audit), 'verified');
  });
}

test('invoke() refuses a header that is too long, and takes the preference from no other place', async () => {
  const long = await search(`${'x'.repeat(300)}, receipt=signed`);
  const inBody = await service.invoke(token, 'search_flights', SEARCH, { fields: SIGNED });

  assert.deepEqual([long.status, long.body.failure.type], [400, 'invalid_parameters']);
  assert.equal(isApplied(long), false);
  assert.equal(inBody.status, 200);
  assert.equal(inBody.body.audit.signed, undefined);
});

test('invoke() answers without a signature while none can be made, and warns once', async () => {
  let isAway = false;
  const failing = await testService({
    definition: calmDesk,
    wrap: (store) => ({
      ...store,
      async lastCheckpoint() {
        if (isAway) throw new Error('away');
        return store.lastCheckpoint();
      },
    }),
  });
  const issued = await failing.issue(ALICE, { scope: ['travel.search'] });
  const asked = () => failing.invoke(issued.token, 'search_flights', SEARCH, { headers: SIGNED });
  const warnings = () => failing.log.filter((line) => line.includes('could not sign receipts'));

  isAway = true;
  const without = [await asked(), await asked()];
  const warnedOnce = warnings().length;
  isAway = false;
  const signed = await asked();

  for (const reply of without) {
    assert.equal(reply.status, 200);
    assert.match(reply.body.audit.leaf_hash, /^[0-9a-f]{64}$/);
    assert.deepEqual([reply.body.audit.signed, isApplied(reply)], [undefined, false]);
  }
  assert.equal(warnedOnce, 1);
  assert.ok(isApplied(signed));
});

test('invoke() answers without a signature where the service seals no log', async () => {
  const unsealed = await testService({
    definition: { ...travelDesk, trust: { level: 'signed' } },
  });
  const issued = await unsealed.issue(ALICE, { scope: ['travel.search'] });
  const reply = await unsealed.invoke(issued.token, 'search_flights', SEARCH, { headers: SIGNED });

  assert.deepEqual(
    [reply.status, reply.body.audit.signed, isApplied(reply)],
    [200, undefined, false],
  );
});

test('invoke() signs no replay whose stored answer names a leaf that the log does not have', async () => {
  const edited = await testService({
    definition: calmDesk,
    wrap: (store) => ({
      ...store,
      // As if a row were edited: the stored answer names another leaf.
      async load(asked) {
        const loaded = await store.load(asked);
        const { idempotency } = loaded;
        if (!idempotency?.answer) return loaded;
        const text = new TextDecoder().decode(idempotency.answer);
        const other = text.replace(/"leaf_hash":"\w+"/, `"leaf_hash":"${'ab'.repeat(32)}"`);
        const answer = new TextEncoder().encode(other);
        return { ...loaded, idempotency: { ...idempotency, answer } };
      },
    }),
  });
  const { token } = await edited.issue(ALICE, { scope: ['travel.extras'] });
  const pass = () =>
    edited.invoke(
      token,
      'buy_lounge_pass',
      {},
      {
        headers: { 'idempotency-key': 'pass-2', ...SIGNED },
      },
    );

  const first = await pass();
  const again = await pass();

  assert.ok(isApplied(first));
  assert.equal(again.body.audit.leaf_hash, 'ab'.repeat(32));
  assert.deepEqual([again.body.audit.signed, isApplied(again)], [undefined, false]);
});
