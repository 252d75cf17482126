/**
 * A real process that is paused past its lease: the other one runs, and the late finish is refused.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import { openStore } from '../../src/storage/open.ts';
import { StoreUnavailable } from '../../src/storage/port/store.ts';
import { ALICE } from '../invoke/principals.ts';
import {
  buildProgram,
  issue,
  newPlace,
  type Place,
  post,
  type Running,
  start,
} from '../invoke/processes.ts';
import { closedAtEnd } from '../support/ends.ts';
import { EXCLUSIVE } from '../support/fixtures.ts';
import { freshDatabase } from '../support/postgres.ts';

const LINGER_MS = 1_500;
const TEST_MS_MAX = 120_000;

await buildProgram();

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20);
}

/** The process may be paused while it holds a lock; all others are held up until it is taken away. */
function heldUp(cause: unknown): void {
  if (!(cause instanceof StoreUnavailable)) throw cause;
}

function linesOf({ effects }: Place): string[] {
  return readFileSync(effects, 'utf8').split('\n').filter(Boolean);
}

const invoke = async ({ url }: Running, token: string, capability: string, parameters: object) => {
  const response = await post(`${url}/svc/invoke/${capability}`, token, { parameters });
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  return { status: response.status, body: (await response.json()) as any };
};

// Either the fence alone refuses the late one, or the other process has closed its call before.
for (const [closer, silentMs] of [
  ['nobody', 600_000],
  ['the other process', 1_000],
] as const) {
  test(`a process that is paused past its lease loses it, and ${closer} closes its call as unknown`, {
    timeout: TEST_MS_MAX,
  }, async () => {
    const database = await freshDatabase();
    const place = newPlace(database.url);
    const store = closedAtEnd(await openStore(database.url));
    const paused = await start(place, { silentMs });
    const other = await start(place, { silentMs });
    const { token } = await issue(paused.url, ALICE, EXCLUSIVE);
    const first = invoke(paused, token, 'linger', { ms: LINGER_MS });
    first.catch(() => undefined);
    await until(() => linesOf(place).some((line) => line.startsWith('begun')));
    const busy = await invoke(other, token, 'pay', {});
    paused.signal('SIGSTOP');
    let next = await invoke(other, token, 'pay', {});
    await until(async () => {
      if (next.status === 200) return true;
      if (next.status !== 503) assert.equal(next.body.failure.type, 'concurrent_branch_busy');
      next = await invoke(other, token, 'pay', {});
      return false;
    });
    const invocationId = linesOf(place)[0]?.split(' ')[1] as string;
    const entriesOf = async () => {
      await store.sequence().catch(heldUp);
      const { entries: found } = await store.queryEntries({ invocationId, limit: 10 });
      return found.map(entryView).reverse();
    };
    if (closer !== 'nobody') await until(async () => (await entriesOf()).length > 0);
    paused.signal('SIGCONT');
    const late = await first;

    assert.equal(busy.body.failure.type, 'concurrent_branch_busy');
    assert.equal(next.status, 200);
    assert.equal(late.status, 503);
    assert.equal(late.body.failure.type, 'outcome_unknown');
    await until(async () => (await entriesOf()).length === 2);
    assert.deepEqual(
      (await entriesOf()).map(({ entry_type, state }) => [entry_type, state]),
      [
        ['invocation', 'indeterminate'],
        ['settlement', 'completed'],
      ],
    );
    assert.equal((await invoke(other, token, 'pay', {})).status, 200);
  });
}
