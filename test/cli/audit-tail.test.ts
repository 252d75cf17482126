/**
 * `writ audit tail` at a running service: entries that come while it runs, once each and in order.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test, vi } from 'vitest';
import { main } from '../../src/cli/main.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import { calmDesk } from '../log/support.ts';
import { atEnd } from '../support/ends.ts';
import { entry } from '../support/fixtures.ts';
import { ALICE, BOB, OPERATOR, STORES, testService } from '../support/world.ts';

interface Tail {
  out(): string;
  err(): string;
  /** The entries of `--json`, in the order in which they were printed. */
  entries(): AuditEntry[];
  until(check: () => boolean): Promise<void>;
  /** Asks it to stop, and resolves with the exit status. */
  stop(): Promise<number>;
  readonly ended: Promise<number>;
}

function tail(url: string, args: readonly string[], credential: string): Tail {
  const [out, err]: [string[], string[]] = [[], []];
  let stopped = () => {};
  const untilStopped = new Promise<void>((resolve) => {
    stopped = resolve;
  });
  const ended = main(['audit', 'tail', '--service', url, '--interval', '1', ...args], {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: { WRIT_CLIENT_CREDENTIAL: credential },
    untilStopped: () => untilStopped,
  });
  const stop = () => {
    stopped();
    return ended;
  };
  atEnd(stop);
  const lines = () => out.join('').split('\n').filter(Boolean);
  return {
    out: () => out.join(''),
    err: () => err.join(''),
    entries: () => lines().map((line) => JSON.parse(line)),
    until: (check) =>
      vi.waitFor(() => assert.ok(check(), out.join('') + err.join('')), {
        timeout: 30_000,
        interval: 50,
      }),
    stop,
    ended,
  };
}

for (const { name, open } of STORES) {
  describe(name, { timeout: 60_000 }, async () => {
    const database = await open();
    const service = await testService({ store: database.url, definition: calmDesk });
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const alices = { root_principal: 'human:alice@example.com' };
    const bobs = { root_principal: 'human:bob@example.com' };
    const append = (count: number, fields: object) =>
      service.store.append(Array.from({ length: count }, () => entry(fields)));

    test('prints the newest entries, and each that comes while it runs, once and in order', async () => {
      await append(15, { ...alices, capability: 'before' });
      const running = tail(url, ['--json', '--limit', '3'], ALICE);
      await running.until(() => running.entries().length === 3);
      // More than a page at once, with entries of others between them.
      for (const _ of [1, 2, 3]) {
        await append(150, { ...alices, capability: 'during' });
        await append(20, { ...bobs, capability: 'during' });
      }
      await running.until(() => running.entries().length >= 453);
      await append(2, { ...alices, capability: 'late' });
      await running.until(() => running.entries().length >= 455);

      assert.equal(await running.stop(), 0);
      const entries = running.entries();
      const expected = [...Array(3).fill('before'), ...Array(450).fill('during'), 'late', 'late'];
      assert.deepEqual(
        entries.map(({ capability }) => capability),
        expected,
      );
      const places = entries.map(({ sequence }) => sequence);
      assert.deepEqual(
        places,
        [...new Set(places)].sort((one, other) => one - other),
      );
      assert.equal(running.err(), '');
    });

    test('shows an operator the whole log, by the filters of a query, as a table', async () => {
      await append(2, { ...alices, capability: 'wanted' });
      const running = tail(url, ['--capability', 'wanted', '--limit', '1'], OPERATOR);
      await running.until(() => running.out().split('\n').length === 3);
      await append(2, { ...bobs, capability: 'other' });
      await append(1, { ...bobs, capability: 'wanted', entry_type: 'replay' });
      await append(1, { ...bobs, capability: 'wanted' });
      await append(1, { ...alices, capability: 'wanted' });
      await running.until(() => running.out().split('\n').length >= 5);

      assert.equal(await running.stop(), 0);
      const [heading = '', ...rows] = running.out().trimEnd().split('\n');
      assert.match(heading, /^time +type +capability/);
      assert.deepEqual(
        rows.map((row) => row.split(/ {2,}/).slice(1, 3)),
        Array(3).fill(['invocation', 'wanted']),
      );
    });

    test('prints nothing of others without operator:audit', async () => {
      const running = tail(url, ['--json', '--type', 'all', '--limit', '1'], BOB);
      await running.until(() => running.entries().length === 1);
      await append(1, { ...alices, capability: 'hidden' });
      await append(1, { ...bobs, capability: 'own' });
      await running.until(() => running.entries().length === 2);

      assert.equal(await running.stop(), 0);
      assert.equal(running.entries().at(-1)?.capability, 'own');
      assert.equal(running.out().includes('hidden'), false);
    });
  });
}

const service = await testService({ definition: calmDesk });
const url = await service.app.listen({ host: '127.0.0.1', port: 0 });

test.each([
  ['a credential of nobody', ALICE.slice(1), [], 4],
  ['a time that is none', ALICE, ['--since', 'noon'], 1],
  ['more than it holds', ALICE, ['--limit', '1001'], 2],
])('ends at once for %s', async (_, credential, args, status) => {
  const running = tail(url, args, credential);
  assert.equal(await running.ended, status);
  assert.match(running.err(), /^Cannot .*\n$/);
});

/** A service before the real one that answers as a test decides. */
async function before(answer: (real: AuditEntry[]) => { status: number; entries?: AuditEntry[] }) {
  const server: Server = createServer(async (request, response) => {
    const real = await fetch(`${url}${request.url}`, {
      method: request.method ?? 'GET',
      headers: { authorization: request.headers.authorization ?? '' },
    });
    const body = (await real.json()) as { entries?: AuditEntry[] };
    const { status, entries } = body.entries
      ? answer(body.entries)
      : { status: real.status, entries: undefined };
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' });
    const failure = { type: 'service_unavailable', detail: 'Cannot answer: busy', retry: true };
    const resolution = { action: 'retry_now', recovery_class: 'wait_then_retry' };
    const refused = { success: false, failure: { ...failure, resolution } };
    response.end(
      JSON.stringify(status === 200 ? { ...body, entries: entries ?? body.entries } : refused),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('waits for a service that is busy, says so once, and then prints what came', {
  timeout: 60_000,
}, async () => {
  let isBusy = false;
  let refused = 0;
  const at = await before(() => {
    if (isBusy) refused += 1;
    return { status: isBusy ? 503 : 200 };
  });
  await service.store.append([entry({ capability: 'first' })]);
  const running = tail(at, ['--json', '--capability', 'first'], OPERATOR);
  await running.until(() => running.entries().length === 1);
  isBusy = true;
  await service.store.append([entry({ capability: 'first' })]);
  await running.until(() => refused >= 2);
  isBusy = false;
  await running.until(() => running.entries().length === 2);

  assert.equal(await running.stop(), 0);
  assert.match(running.err(), /^Waiting: .*busy\n$/);
});

test('ends with 1 when the log no longer has an entry that it printed', {
  timeout: 60_000,
}, async () => {
  let isReplaced = false;
  const at = await before((entries) => ({
    status: 200,
    entries: isReplaced ? entries.map((each) => ({ ...each, leaf_hash: 'a'.repeat(64) })) : entries,
  }));
  await service.store.append([entry({ capability: 'kept' })]);
  const running = tail(at, ['--json', '--capability', 'kept'], OPERATOR);
  await running.until(() => running.entries().length === 1);
  isReplaced = true;

  assert.equal(await running.ended, 1);
  assert.match(running.err(), /^Cannot read the log: entry \d+ is not in the log any more/);
});
