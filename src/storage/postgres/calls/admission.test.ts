import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { test } from 'vitest';
import { money } from '../../../../test/store/observe.ts';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  entry,
  happened,
  insert,
  rootToken,
  settlement,
  usd,
} from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../../test/support/postgres.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../port/store.ts';
import { openPostgres } from '../store.ts';

/** Where the connection breaks: before the server hears the question, or before we hear its answer. */
type Cut = 'question' | 'answer';

interface Proxy {
  readonly url: string;
  /** Breaks the connection on which these words travel next. */
  cut(words: string, where: Cut): void;
  /** Breaks every connection, and accepts none, until it is turned off. */
  block(isBlocked: boolean): void;
  close(): Promise<void>;
}

const server = await freshDatabase();
const proxy = closedAtEnd(await startProxy(server.url));
const store = closedAtEnd(await openPostgres(proxy.url, { poolSize: 4, resolveTimeoutMs: 3_000 }));
const admin = await connectedTo(server.url);
/** In no transaction, within which the server would always show the same activity. */
const observer = await connectedTo(server.url);

test('admit() answers as admitted when the step committed and its answer was lost', async () => {
  const token = await insert(store, rootToken({ budget: cents(100) }));
  const request = admission(token, { charge: usd(30n) });
  proxy.cut(request.intent.operation_id, 'answer');

  const result = await store.admit(request);

  const { token_id } = token;
  const budget = { token_id, currency: 'USD', max: 100n, reserved: 30n, consumed: 0n };
  assert.deepEqual(result, { admitted: true, budgets: [budget] });
  assert.deepEqual(await money(store, [token]), [[30n, 0n]]);
  assert.equal(await store.settle(settlement(request)), 'settled');
});

test('admit() is unavailable, and nothing was taken, when the request was lost', async () => {
  const token = await insert(store, rootToken({ budget: cents(100) }));
  const request = admission(token, { charge: usd(30n) });
  proxy.cut(request.intent.operation_id, 'question');

  await assert.rejects(store.admit(request), StoreUnavailable);

  assert.deepEqual(await money(store, [token]), [[0n, 0n]]);
});

test('admit() that waits for a lock when its connection breaks never counts later', async () => {
  const token = await insert(store, rootToken({ budget: cents(100) }));
  const request = admission(token, { charge: usd(30n) });
  await admin.query('BEGIN');
  await admin.query('SELECT FROM budgets WHERE token_id = $1 FOR UPDATE', [token.token_id]);
  const refused = assert.rejects(store.admit(request), StoreUnavailable);
  await untilWaiting();

  proxy.block(true);
  proxy.block(false);
  await refused;
  // Only now does the lost original go on, and meets the tombstone.
  await admin.query('ROLLBACK');
  await untilNobodyWaits();

  assert.deepEqual(await money(store, [token]), [[0n, 0n]]);
});

test('admit() is unavailable, and nothing was taken, when the server ends the connection', async () => {
  const token = await insert(store, rootToken({ budget: cents(100) }));
  await admin.query('BEGIN');
  await admin.query('SELECT FROM budgets WHERE token_id = $1 FOR UPDATE', [token.token_id]);
  const refused = assert.rejects(
    store.admit(admission(token, { charge: usd(30n) })),
    StoreUnavailable,
  );
  await untilWaiting();

  await observer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${WAITING}`);
  await refused;
  await admin.query('ROLLBACK');

  assert.deepEqual(await money(store, [token]), [[0n, 0n]]);
});

test('admit() is an unknown outcome when the store does not answer in time', async () => {
  const hasty = closedAtEnd(await openPostgres(proxy.url, { poolSize: 1, resolveTimeoutMs: 300 }));
  const token = await insert(store, rootToken());
  await hasty.probe();
  await admin.query('BEGIN');
  await admin.query('LOCK TABLE freezes IN ACCESS EXCLUSIVE MODE');
  const unknown = assert.rejects(hasty.admit(admission(token)), OutcomeUnknown);
  await untilWaiting();

  proxy.block(true);
  await unknown;
  await admin.query('ROLLBACK');
  proxy.block(false);
});

for (const where of ['question', 'answer'] as const) {
  test(`settle() settles once when its ${where} was lost`, async () => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const request = await admitCall(store, token, { charge: usd(30n) });
    const done = settlement(request, { actual: 20n });
    proxy.cut(done.entry.entry_id, where);

    const result = await store.settle(done);

    assert.equal(result, 'settled');
    assert.deepEqual(await money(store, [token]), [[0n, 20n]]);
    const query = { invocationId: request.intent.invocation_id, limit: 10 };
    assert.equal((await store.queryEntries(query)).entries.length, 1);
  });

  test(`append() keeps an entry once when its ${where} was lost`, async () => {
    const { size } = await store.sequence();
    const logged = entry();
    proxy.cut(logged.entry_id, where);

    await store.append([logged]);

    const kept = await store.scanEntries(size, 10);
    assert.deepEqual(
      kept.map(({ entry_id }) => entry_id),
      [logged.entry_id],
    );
  });

  test(`insertRoot() is an unknown outcome when its ${where} was lost`, async () => {
    const token = rootToken();
    const logged = entry();
    proxy.cut(logged.entry_id, where);

    await assert.rejects(store.insertRoot(token, logged), OutcomeUnknown);

    const described = await store.describeToken(token.token_id, 0);
    assert.equal(described !== undefined, where === 'answer');
  });
}

/** What each of several calls that go together learns when their connection breaks. */
const LEARNED = {
  question: { admitted: ['StoreUnavailable'], refused: 'StoreUnavailable', reserved: 0n },
  answer: { admitted: [10n, 20n, 30n, 40n], refused: 'StoreUnavailable', reserved: 40n },
} as const;

for (const where of ['question', 'answer'] as const) {
  test(`admit() answers each of several correctly when their ${where} was lost`, async () => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const calls = Array.from({ length: 4 }, () => admission(token, { charge: usd(10n) }));
    const expected = LEARNED[where];
    proxy.cut(calls[2]?.intent.operation_id ?? '', where);

    const tooMuch = learned(store.admit(admission(token, { charge: usd(101n) })));
    const results = await Promise.all(calls.map((call) => learned(store.admit(call))));

    assert.deepEqual([...new Set(results)].sort(), expected.admitted);
    assert.equal(await tooMuch, expected.refused);
    assert.deepEqual(await money(store, [token]), [[expected.reserved, 0n]]);
    if (where === 'question') return;
    const settled = await Promise.all(calls.map((call) => store.settle(settlement(call))));
    assert.deepEqual(settled, ['settled', 'settled', 'settled', 'settled']);
    assert.deepEqual(await money(store, [token]), [[0n, 40n]]);
  });

  test(`settle() settles each of several once when their ${where} was lost`, async () => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const calls = Array.from({ length: 4 }, () => admission(token, { charge: usd(10n) }));
    await Promise.all(calls.map((call) => store.admit(call)));
    const { size } = await store.sequence();
    const done = calls.map((call) => settlement(call, { actual: 5n }));
    proxy.cut(done[2]?.entry.entry_id ?? '', where);

    const results = await Promise.all(done.map((settled) => store.settle(settled)));

    assert.deepEqual(results, ['settled', 'settled', 'settled', 'settled']);
    assert.deepEqual(await money(store, [token]), [[0n, 20n]]);
    await store.sequence();
    const kept = await store.scanEntries(size, 10);
    const ids = (entries: readonly { entry_id: string }[]) =>
      entries.map(({ entry_id }) => entry_id).sort();
    assert.deepEqual(ids(kept), ids(done.map((settled) => settled.entry)));
  });
}

test('admit() does not keep a call waiting for a lock that only others need', async () => {
  const stuck = await insert(store, rootToken({ budget: cents(100) }));
  const free = await insert(store, rootToken({ budget: cents(100) }));
  await admin.query('BEGIN');
  await admin.query('SELECT FROM budgets WHERE token_id = $1 FOR UPDATE', [stuck.token_id]);

  const later = store.admit(admission(stuck, { charge: usd(30n) }));
  const now = await store.admit(admission(free, { charge: usd(30n) }));
  const meanwhile = await money(store, [stuck, free]);
  await admin.query('ROLLBACK');

  assert.equal(now.admitted, true);
  assert.deepEqual(meanwhile, [
    [0n, 0n],
    [30n, 0n],
  ]);
  assert.equal((await later).admitted, true);
});

for (const step of ['admit', 'settle'] as const) {
  test(`${step}() of a call counts, though together with another it takes longer than it may`, async () => {
    // Too short to wait for a lock: the server ends the whole statement.
    const hasty = await openPostgres(server.url, { statementTimeoutMs: 500 });
    const stuck = await insert(store, rootToken({ budget: cents(100) }));
    const free = await insert(store, rootToken({ budget: cents(100) }));
    const asked = [stuck, free].map((token) => admission(token, { charge: usd(30n) }));
    if (step === 'settle') await Promise.all(asked.map((each) => store.admit(each)));
    await admin.query('BEGIN');
    await admin.query('SELECT FROM budgets WHERE token_id = $1 FOR UPDATE', [stuck.token_id]);

    const [held, passed] = await Promise.allSettled(
      asked.map((each) => (step === 'admit' ? hasty.admit(each) : hasty.settle(settlement(each)))),
    );
    const meanwhile = await money(store, [stuck, free]);
    await admin.query('ROLLBACK');
    await hasty.close();

    assert.equal(passed?.status, 'fulfilled');
    assert.ok(held?.status === 'rejected' && held.reason instanceof StoreUnavailable);
    assert.deepEqual(
      meanwhile,
      step === 'admit'
        ? [
            [0n, 0n],
            [30n, 0n],
          ]
        : [
            [30n, 0n],
            [0n, 30n],
          ],
    );
  });
}

test('revokeToken() is unavailable when the connection breaks before the commit', async () => {
  const token = await insert(store, rootToken());
  const logged = entry();
  proxy.cut(logged.entry_id, 'answer');

  await assert.rejects(
    store.revokeToken(token.token_id, at(1), () => logged),
    StoreUnavailable,
  );

  const described = await store.describeToken(token.token_id, 0);
  assert.equal(described?.lineage[0]?.revoked_at, undefined);
});

test('revokeToken() that waits for admissions is not overtaken by those that come later', async () => {
  const token = await insert(store, rootToken());
  await admin.query('BEGIN');
  await admin.query('SELECT writ_hold_lineage($1, $2)', [token.token_id, at(0)]);
  const revocation = store.revokeToken(token.token_id, at(1), () => entry());
  await untilWaiting();

  let isAnswered = false;
  const later = store.admit(admission(token)).finally(() => {
    isAnswered = true;
  });
  while ((await waiting()) < 2 && !isAnswered) await new Promise((done) => setTimeout(done, 10));
  await admin.query('ROLLBACK');

  assert.equal(happened(await revocation)?.wasAlive, true);
  const { token_id } = token;
  assert.deepEqual(await later, { admitted: false, reason: 'revoked', token_id });
});

/** The last budget's reservation of an admitted call, or what kept it from being admitted. */
function learned(answer: ReturnType<Store['admit']>): Promise<bigint | string | undefined> {
  return answer.then(
    (result) => (result.admitted ? result.budgets.at(-1)?.reserved : result.reason),
    (error: Error) => error.name,
  );
}

const WAITING = `datname = current_database() AND wait_event_type = 'Lock'
  AND pid <> pg_backend_pid()`;

const waiting = async (): Promise<number> => {
  const { rows } = await observer.query(
    `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE ${WAITING}`,
  );
  return rows[0].count;
};

async function untilWaiting(): Promise<void> {
  while ((await waiting()) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function untilNobodyWaits(): Promise<void> {
  while ((await waiting()) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let planned: { words: string; where: Cut } | undefined;
  let isBlocked = false;

  function join(client: Socket): void {
    if (isBlocked) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    let isMuted = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('data', (chunk) => {
      if (planned && chunk.includes(planned.words)) {
        const { where } = planned;
        planned = undefined;
        if (where === 'question') return end();
        isMuted = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isMuted) end();
      else client.write(chunk);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }

  const listener: Server = createServer(join).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const url = new URL(target);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    cut(words, where) {
      planned = { words, where };
    },
    block(blocked) {
      isBlocked = blocked;
      if (blocked) for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
