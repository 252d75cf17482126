/**
 * Queries that are allowed and long: they share the event loop, stop for clients that have left, and
 * their answers are bounded.
 *
 * No test looks at a clock. What a turn of the event loop holds is counted through ports: entries
 * that the store reads, and entries that are written into an answer.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setImmediate } from 'node:timers';
import { test } from 'vitest';
import type { Store } from '../../src/storage/port/store.ts';
import { entry } from '../support/fixtures.ts';
import { countedSlicer, countTurns, type TurnCounter } from '../support/turns.ts';
import { ALICE, OPERATOR, STORES, type TestService, testService } from '../support/world.ts';
import { asking, openPipe } from '../surfaces/pipe.ts';
import { connected, listening, receivedBy, replyIn } from './socket.ts';

const QUERY = '/svc/audit?limit=1000&entry_type=all&include=leaf';

/** The owner of what `ALICE` asks for. */
const OWNER = 'human:alice@example.com';

/** Entries of Alice's, with what `fields` makes of their numbers. */
async function fill(store: Store, count: number, fields: (i: number) => object = () => ({})) {
  for (let from = 0; from < count; from += 100) {
    const batch = Array.from({ length: Math.min(100, count - from) }, (_, i) =>
      entry({ root_principal: OWNER, detail: { text: 'x'.repeat(400) }, ...fields(from + i) }),
    );
    await store.append(batch);
  }
}

/** Counts the entries that the store reads. */
function counting(read: TurnCounter) {
  return (store: Store): Store => ({
    ...store,
    async queryEntries(query) {
      const page = await store.queryEntries(query);
      read.add(page.entries.length);
      return page;
    },
  });
}

function requestText(path: string, bearer: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bearer}\r\nContent-Length: 0\r\n\r\n`;
}

test('forty long queries without readers block the event loop no longer than one', async () => {
  const [read, visited] = [countTurns(), countTurns()];
  const { app, store } = await testService({
    wrap: counting(read),
    slicer: countedSlicer(visited),
  });
  await fill(store, 100);
  const port = await listening({ app } as TestService);
  const attackers = await Promise.all([1, 2, 3, 4].map(() => connected(port)));

  for (const socket of attackers) {
    socket.pause();
    socket.write(requestText(QUERY, ALICE).repeat(10));
  }
  const honest = await connected(port);
  const received = receivedBy(honest);
  honest.write(
    requestText('/svc/audit?limit=5', OPERATOR).replace(
      '\r\n\r\n',
      '\r\nConnection: close\r\n\r\n',
    ),
  );

  assert.equal(replyIn(await received).status, 200);
  for (const socket of attackers) socket.resume();
  await Promise.all(attackers.map((socket) => answers(socket, 10)));
  assert.ok(read.all() >= 1_000, `${read.all()} entries were read`);
  // One read is asked for in a turn; the store may answer it together with the one before.
  assert.ok(read.most() <= 64, `${read.most()} entries were read in one turn`);
  assert.ok(visited.most() <= 5, `${visited.most()} entries were written in one turn`);
});

/** Waits for so many answers on a connection. */
async function answers(socket: Awaited<ReturnType<typeof connected>>, count: number) {
  let text = '';
  while (text.split('HTTP/1.1 ').length <= count || !text.endsWith('}')) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    text += chunk.toString('latin1');
  }
  socket.destroy();
}

/** A store that answers two reads and holds the others until it is let go. */
function gatedStore() {
  let reads = 0;
  let [reachGate, openGate] = [() => {}, () => {}];
  const reached = new Promise<void>((resolve) => {
    reachGate = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  const wrap = (store: Store): Store => ({
    ...store,
    async queryEntries(query) {
      reads += 1;
      if (reads === 3) reachGate();
      await (reads >= 3 ? opened : undefined);
      return store.queryEntries(query);
    },
  });
  return { wrap, reached, open: () => openGate(), reads: () => reads };
}

/** Two turns: answers that wait behind another hear one turn later that their client has left. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

test('a query stops when its client has disconnected', async () => {
  const gate = gatedStore();
  const { app, store, ask } = await testService({ wrap: gate.wrap });
  await fill(store, 900);
  const port = await listening({ app } as TestService);
  const [[accepted], socket] = await Promise.all([once(app.server, 'connection'), connected(port)]);
  socket.write(requestText(QUERY, ALICE).repeat(10));
  await gate.reached;

  socket.destroy();
  await once(accepted, 'close');
  await pause();
  const before = gate.reads();
  gate.open();
  const next = await ask('POST', '/svc/audit?limit=1', { bearer: ALICE });

  assert.equal(next.status, 200);
  // Those that waited for the store had their turn; not one of them asked it again.
  assert.equal(gate.reads(), before + 1);
});

test('a query stops when its client has closed its pipe', async () => {
  const gate = gatedStore();
  const { runtime, store, ask } = await testService({ wrap: gate.wrap });
  await fill(store, 900);
  const pipe = openPipe(runtime);
  for (let id = 0; id < 10; id++) {
    pipe.say(asking(id, 'svc.audit.query', { auth: { bearer: ALICE }, limit: 1_000 }));
  }
  await gate.reached;

  pipe.output.destroy();
  await once(pipe.output, 'close');
  await pause();
  const before = gate.reads();
  gate.open();
  await pipe.ended;
  const next = await ask('POST', '/svc/audit?limit=1', { bearer: ALICE });

  assert.equal(next.status, 200);
  assert.equal(gate.reads(), before + 1);
});

test('a query that waited in the queue is refused when its token was revoked meanwhile', async () => {
  const gate = gatedStore();
  const { ask, issue, store } = await testService({ wrap: gate.wrap });
  await fill(store, 200);
  const { token, token_id } = await issue(ALICE, { scope: ['travel.search'] });
  const queries = [1, 2, 3].map(() => ask('POST', QUERY, { bearer: token }));
  await gate.reached;

  const revoked = await ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body: { token_id } });
  gate.open();
  const replies = await Promise.all(queries);

  assert.equal(revoked.status, 200);
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 401],
  );
});

test('queries beyond the queue are refused with a retry time', async () => {
  let openGate = () => {};
  const opened = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  let isHeld = true;
  const wrap = (store: Store): Store => ({
    ...store,
    async queryEntries(query) {
      if (isHeld && query.rootPrincipal === OWNER) await opened;
      return store.queryEntries(query);
    },
  });
  const { ask } = await testService({ wrap });
  const long = Array.from({ length: 80 }, () => ask('POST', QUERY, { bearer: ALICE }));

  const refused = await Promise.race(long);
  const other = await ask('POST', QUERY, { bearer: OPERATOR });
  isHeld = false;
  openGate();
  const replies = await Promise.all(long);

  assert.equal(refused.status, 503);
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal(refused.body.failure.type, 'service_unavailable');
  assert.equal(other.status, 200);
  const served = replies.filter(({ status }) => status === 200).length;
  assert.equal(served, 66);
});

for (const { name, open } of STORES) {
  test(`pages have at most 1 MiB, and continue exactly while there are entries (${name})`, async () => {
    const place = await open();
    const { store, ask } = await testService({ store: place.url });
    const count = 900;
    const isRare = (i: number) => i % 7 === 3;
    await fill(store, count, (i) => ({
      task_id: 'task',
      capability: isRare(i) ? 'rare' : 'common',
      detail: { text: 'é'.repeat(500) },
    }));
    const rare = Array.from({ length: count }, (_, i) => i).filter(isRare);
    const all = Array.from({ length: count }, (_, i) => i);

    const cases: [filter: string, expected: number[]][] = [
      ['', all],
      ['&task_id=task&capability=rare', rare],
      ['&since=2000-01-01T00:00:00Z&capability=rare', rare],
    ];
    for (const [filter, expected] of cases) {
      const found: number[] = [];
      let pages = 0;
      for (let cursor = String(count); cursor !== null; pages++) {
        const path = `${QUERY}${filter}&cursor=${cursor}`;
        const { status, body, text = '' } = await ask('POST', path, { bearer: ALICE });
        assert.equal(status, 200);
        assert.ok(Buffer.byteLength(text) <= 1_048_576, `${Buffer.byteLength(text)} bytes`);
        assert.equal(body.count, body.entries.length);
        found.push(...body.entries.map(({ sequence }: { sequence: number }) => sequence));
        await fill(store, 3, () => ({ task_id: 'task', capability: 'rare' }));
        cursor = body.next_cursor;
      }
      assert.deepEqual(found, expected.toReversed());
      if (filter === '') assert.ok(pages > 1, `${pages} pages`);
    }
  });
}
