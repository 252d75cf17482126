/**
 * Five hundred streams at once over real sockets, with clients that leave when they like: nothing is
 * left over, and every call has its summary.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ClientRequest, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'vitest';
import { createService, defineCapability } from '../../src/index.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import { listening } from '../http/socket.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, patientLoad, testService } from '../support/world.ts';

const STREAMS = 500;

/** One round warms everything up; each of the others must leave nothing behind. */
const ROUNDS = 3;

/** In bytes. A stream that is kept holds its socket, buffers and promises: far more than 20 KB each. */
const GROWTH_MAX = 8 * 1_048_576;

const TEST_MS_MAX = 180_000;

const tell = defineCapability({
  name: 'tell',
  description: 'Tells of ten steps',
  side_effect: 'write',
  response_modes: ['streaming'],
  minimum_scope: ['travel.read'],
  async handler(_parameters, context) {
    for (let step = 0; step < 10; step++) {
      await context.progress({ step, filling: 'x'.repeat(1_000) });
      await sleep(10 + Math.random() * 20);
    }
    if (Math.random() < 0.1) throw new Error('broke midway');
    return { told: true };
  },
});
const definition = createService({ id: 'streams', capabilities: [tell] });

const rejections: unknown[] = [];
const noteRejection = (reason: unknown) => void rejections.push(reason);
process.on('unhandledRejection', noteRejection);
const service = await testService({
  settings: { rate_limits: 'off' },
  definition,
  load: patientLoad(),
});
const port = await listening(service);
atEnd(() => process.off('unhandledRejection', noteRejection));

type Manner = 'reads on' | 'leaves' | 'is cut' | 'never reads';
const MANNERS: readonly Manner[] = ['reads on', 'leaves', 'is cut', 'never reads'];

/** One client. Resolves when its connection is over, whoever ended it. */
function listen(token: string, manner: Manner, reference: string): Promise<void> {
  return new Promise((resolve) => {
    const asked: ClientRequest = request(
      {
        host: '127.0.0.1',
        port,
        path: '/svc/invoke/tell',
        method: 'POST',
        agent: false,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
      (response) => {
        response.on('error', () => undefined);
        if (manner === 'never reads') return;
        response.resume();
        const leaving = setTimeout(() => asked.destroy(), Math.random() * 300);
        if (manner === 'reads on') clearTimeout(leaving);
        if (manner === 'is cut') response.once('data', () => asked.socket?.resetAndDestroy());
      },
    );
    asked.on('error', () => undefined);
    asked.on('close', resolve);
    // Who never reads holds no more than the sockets' buffers; it leaves once the call has ended.
    if (manner === 'never reads') setTimeout(() => asked.destroy(), 2_000).unref();
    asked.end(
      JSON.stringify({
        parameters: {},
        stream: true,
        client_reference_id: reference,
        task_id: 'round',
      }),
    );
  });
}

async function entriesOf(token: string, reference: string): Promise<AuditEntry[]> {
  const { body } = await service.ask('POST', `/svc/audit?client_reference_id=${reference}`, {
    bearer: token,
  });
  return body.entries;
}

/** What is reachable, after everything that is not has been collected. */
async function heapBytes(): Promise<number> {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) {
    collect();
    await sleep(50);
  }
  return process.memoryUsage().heapUsed;
}

test('five hundred streams whose clients leave at random release everything', {
  timeout: TEST_MS_MAX,
}, async () => {
  const { token } = await service.issue(ALICE, { scope: ['travel.read'] });
  const heaps: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const clients = Array.from({ length: STREAMS }, (_, index) => ({
      manner: MANNERS[index % MANNERS.length] as Manner,
      reference: `r-${round}-${index}`,
    }));
    await Promise.all(clients.map(({ manner, reference }) => listen(token, manner, reference)));

    let summaries = 0;
    for (const { manner, reference } of clients) {
      let [entry] = await entriesOf(token, reference);
      // A client that leaves does not stop the handler: its call may end after it.
      for (let tries = 0; !entry && tries < 500; tries++) {
        await sleep(20);
        [entry] = await entriesOf(token, reference);
      }
      const summary = entry?.stream_summary;
      assert.ok(summary, `${reference} (${manner}) has no summary`);
      assert.equal(summary.events_emitted >= 11, true);
      assert.equal(summary.events_delivered <= summary.events_emitted, true);
      if (manner === 'reads on') assert.equal(summary.client_disconnected, false);
      assert.match(String(entry?.state), /^(?:completed|failed)$/);
      summaries++;
    }
    assert.equal(summaries, STREAMS);
    heaps.push(await heapBytes());
  }

  assert.deepEqual(rejections, []);
  const connections = await new Promise<number>((resolve, reject) => {
    service.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
  assert.equal(connections, 0);
  const [, second = 0, third = 0] = heaps;
  assert.ok(third - second < GROWTH_MAX, `the heap grew by ${third - second} bytes`);
});
