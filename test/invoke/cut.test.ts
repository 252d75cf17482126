/**
 * Connections that are cut after the commit: one effect, and the same answer for whoever asks again.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { emptyStore } from '../support/empty-store.ts';
import { closedAtEnd } from '../support/ends.ts';
import { startProxy } from './proxy.ts';
import { startRig } from './rig.ts';

/** The answers of the database that one call waits for: what is loaded, admission, settlement. */
const ANSWERS_OF_A_CALL = 3;

/** An answer to somebody else may be the one that is lost, so each place is tried a few times. */
const ROUNDS = 4;

const database = await emptyStore();
const url = new URL(database.url);
const proxy = closedAtEnd(await startProxy({ host: url.hostname, port: Number(url.port) }));
url.port = String(proxy.port);
const rig = await startRig({ store: url.href });

for (let cut = 0; cut < ANSWERS_OF_A_CALL * ROUNDS; cut++) {
  const answers = cut % ANSWERS_OF_A_CALL;
  const round = Math.floor(cut / ANSWERS_OF_A_CALL);
  test(`invoke() acts once when the database connection breaks after ${answers} answers of call ${round}`, async () => {
    const token = await rig.token({ budget: { currency: 'USD', max_amount: 10 } });
    const headers = { 'idempotency-key': `cut-${cut}` };
    const ran = rig.world.ran('pay');
    const lost = proxy.lost().length;
    const call = () => rig.invoke(token.token, 'pay', {}, { headers });

    proxy.cutAfter(answers);
    let reply = await call();
    const first = reply;
    // Bounded: the store is back as soon as it may connect again.
    for (let tries = 0; tries < 50 && reply.status !== 200; tries++) reply = await call();
    proxy.cutAfter(Number.POSITIVE_INFINITY);

    assert.equal(proxy.lost().length, lost + 1);
    assert.equal(reply.status, 200, JSON.stringify(first.body));
    assert.equal((await call()).text, reply.text);
    assert.equal(rig.world.ran('pay'), ran + 1);
    const { reserved, consumed } = await rig.budgetOf(token);
    assert.deepEqual([reserved, consumed], [0n, 1000n]);
    const entries = await rig.entries(reply.body.invocation_id);
    assert.deepEqual(
      entries.map(({ entry_id, state }) => [entry_id, state]),
      [[reply.body.audit.entry_id, 'completed']],
    );
  });
}
