/**
 * Handlers that hand over what fights back: each such call, over a real socket, leaves one entry that says
 * that it ran, and holds neither money, nor key, nor turn, now or after a restart.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { emptyStore, type Place } from '../support/empty-store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { HOSTILE_VALUES, type HostileValue } from '../support/hostile-values.ts';
import { group } from '../support/missing.ts';
import type { Script } from '../support/scripts.ts';
import { startRig } from './rig.ts';

type Money = { currency: string; amount: number };

const spoken = (error: Error, name: string, value: unknown) =>
  Object.defineProperty(error, name, { get: () => value });

/** Each way a value leaves a handler. */
const WAYS: readonly { name: string; script(value: unknown): Script }[] = [
  {
    name: 'throws',
    script: (value) => () => {
      throw value;
    },
  },
  { name: 'rejects with', script: (value) => () => Promise.reject(value) },
  { name: 'returns', script: (value) => () => value as JsonObject },
  { name: 'returns an object with', script: (value) => () => ({ inside: value }) },
  { name: 'returns a list with', script: (value) => () => [value] as unknown as JsonObject },
  { name: 'promises an object with', script: (value) => async () => ({ inside: { value } }) },
  {
    name: 'words a NoEffect with',
    script: (value) => () => {
      throw spoken(new NoEffect('x'), 'message', value);
    },
  },
  {
    name: 'names a NoEffect by',
    script: (value) => () => {
      throw spoken(new NoEffect('x'), 'type', value);
    },
  },
  {
    name: 'words a HandlerFailure with',
    script: (value) => () => {
      throw spoken(new HandlerFailure('x', 'not_found'), 'message', value);
    },
  },
  {
    name: 'names a HandlerFailure by',
    script: (value) => () => {
      throw spoken(new HandlerFailure('x', 'not_found'), 'type', value);
    },
  },
  {
    name: 'advises a NoEffect with',
    script: (value) => () => {
      throw spoken(new NoEffect('x', 'not_found'), 'advice', value);
    },
  },
  {
    name: 'advises a HandlerFailure with fields of',
    script: (value) => () => {
      const advice = { requires: [value], grantable_by: value, estimated_availability: value };
      throw spoken(new HandlerFailure('x', 'not_found'), 'advice', advice);
    },
  },
  {
    name: 'throws an error that was caused by',
    script: (value) => () => {
      throw new Error('x', { cause: value });
    },
  },
  {
    name: 'throws errors that came together, one of them',
    script: (value) => () => {
      throw Object.assign(new AggregateError([]), { errors: [value] });
    },
  },
  {
    name: 'issues a binding of type',
    script: (value) => (_, context) => ({
      quote: context.issueBinding({ type: value as string, capability: 'book' }),
    }),
  },
  {
    name: 'issues a binding for',
    script: (value) => (_, context) => ({
      quote: context.issueBinding({ type: 'quote', capability: value as string }),
    }),
  },
  {
    name: 'issues a binding with',
    script: (value) => (_, context) => ({
      quote: context.issueBinding({
        type: 'quote',
        capability: 'book',
        price: value as Money,
        data: value as JsonObject,
      }),
    }),
  },
  {
    name: 'issues as a binding',
    script: (value) => (_, context) => ({ quote: context.issueBinding(value as never) }),
  },
  {
    name: 'reports as its cost',
    script: (value) => (_, context) => {
      context.cost(value as Money);
      return {};
    },
  },
  {
    name: 'reports a cost of',
    script: (value) => (_, context) => {
      context.cost({ currency: 'USD', amount: value as number });
      return {};
    },
  },
  {
    name: 'tells of progress with',
    script: (value) => async (_, context) => {
      void context.progress(value as JsonObject);
      await context.progress({ inside: value });
      return {};
    },
  },
  {
    name: 'logs',
    script: (value) => (_, context) => {
      context.log.info(value as object, value as string);
      context.log.warn({ inside: value, err: value }, 'x');
      return {};
    },
  },
];

const PLACES: readonly { name: string; open(folder: string): Promise<Place> }[] = [
  {
    name: 'SQLite',
    open: async (folder) => ({
      url: `sqlite:${join(folder, 'writ.db')}`,
      drop: async () => undefined,
    }),
  },
  { name: 'PostgreSQL', open: () => emptyStore() },
];

for (const { name: store, open } of PLACES) {
  group(`hostile handlers (${store})`, async () => {
    const folder = temporaryFolder();
    // The calls of one principal here are more than its share of ten seconds.
    const settings = { keys: join(folder, 'keys'), rate_limits: 'off' };
    const invoked: string[] = [];
    const place = await open(folder);
    let rig = await startRig({ store: place.url, settings });
    await rig.app.listen({ port: 0, host: '127.0.0.1' });
    const url = `http://127.0.0.1:${(rig.app.server.address() as AddressInfo).port}`;

    async function pay(token: string, key: string) {
      const response = await fetch(`${url}/svc/invoke/pay`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: '{"parameters":{}}',
      });
      return JSON.parse(await response.text());
    }

    const limited = () =>
      rig.token({
        budget: { currency: 'USD', max_amount: 10_000 },
        concurrent_branches: 'exclusive',
      });

    async function isClosed(token: IssueAnswer, script: Script, { name }: HostileValue) {
      const key = `key-${invoked.length}`;
      const before = await rig.budgetOf(token);
      rig.world.script('pay', script);
      const body = await pay(token.token, key);
      rig.world.script('pay');

      const entries = await rig.entries(body.invocation_id);
      assert.equal(entries.length, 1, name);
      assert.match(String(entries[0]?.state), /^(?:completed|failed|indeterminate)$/, name);
      assert.equal(entries[0]?.entry_id, body.audit.entry_id, name);
      assert.ok(JSON.stringify(body).length < 20_000, name);
      const { reserved, consumed } = await rig.budgetOf(token);
      assert.equal(reserved, 0n, name);
      const charged = entries[0]?.cost_actual;
      const spent = consumed - before.consumed;
      assert.equal(spent, charged ? BigInt(charged.amount) * 100n : 0n, name);
      assert.deepEqual(await pay(token.token, key), body, name);
      assert.equal((await pay(token.token, `${key}-next`)).success, true, name);
      invoked.push(body.invocation_id);
    }

    for (const way of WAYS) {
      test(`a handler that ${way.name} any value leaves one entry and holds nothing`, async () => {
        const token = await limited();
        for (const hostile of HOSTILE_VALUES) {
          await isClosed(token, way.script(hostile.make()), hostile);
        }
        assert.equal((await fetch(`${url}/healthz`)).status, 200);
      });
    }

    test('a restart finds nothing to close, and no second entry follows', async () => {
      const size = await rig.entryCount();
      await rig.close();

      rig = await startRig({
        store: place.url,
        settings,
        recovery: { intervalMs: 10, silentMs: 0 },
      });

      const later = new Date(Date.now() + 60_000);
      assert.deepEqual(await rig.store.abandonedIntents(later, 10), []);
      assert.equal(await rig.entryCount(), size);
      assert.equal(invoked.length, WAYS.length * HOSTILE_VALUES.length);
      const counts = new Map<string, number>();
      for (let from = 0; from < size; from += 1_000) {
        for (const stored of await rig.store.scanEntries(from, 1_000)) {
          const { invocation_id } = entryView(stored);
          if (invocation_id) counts.set(invocation_id, (counts.get(invocation_id) ?? 0) + 1);
        }
      }
      for (const invocation of invoked) assert.equal(counts.get(invocation), 1);
    });
  });
}
