/**
 * An honest service that is sealing while an entry becomes durable is not accused of dropping it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { calmDesk, seal } from '../log/support.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { ALICE, OPERATOR, STORES, testService } from '../support/world.ts';

const env = { WRIT_CLIENT_CREDENTIAL: OPERATOR };

async function writ(args: string[]) {
  const said: string[] = [];
  const io = {
    out: (text: string) => void said.push(text),
    err: (text: string) => void said.push(text),
  };
  return { status: await main(args, { ...io, env }), said: said.join('') };
}

/** Holds each checkpoint, whose tree is read and signed by then, until `release` is called. */
function heldSeals() {
  let hold: Promise<void> | undefined;
  let release = () => {};
  let reached = () => {};
  const wrap = (store: Store): Store => ({
    ...store,
    async insertCheckpoint(checkpoint) {
      reached();
      await hold;
      return store.insertCheckpoint(checkpoint);
    },
  });
  const holdNext = () => {
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    hold = new Promise((resolve) => {
      release = () => resolve();
    });
    return isReached;
  };
  return { wrap, holdNext, release: () => release() };
}

for (const { name, open } of STORES) {
  test(`writ verify receipt proves no drop from a checkpoint that was still being sealed on ${name}`, async () => {
    const folder = temporaryFolder();
    const database = await open();
    const seals = heldSeals();
    const service = await testService({
      store: database.url,
      definition: calmDesk,
      wrap: seals.wrap,
    });
    atEnd(() => seals.release());
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
    writeFileSync(join(folder, 'jwks.json'), JSON.stringify(jwks));

    const isUnderWay = seals.holdNext();
    const sealing = seal(service);
    await isUnderWay;
    const search = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
    const { body: answer } = await service.invoke(token, 'search_flights', search);
    writeFileSync(join(folder, 'answer.json'), JSON.stringify(answer));
    const { body: newest } = await service.ask('GET', '/svc/checkpoints?limit=1');
    writeFileSync(join(folder, 'after.json'), JSON.stringify(newest));
    seals.release();
    await sealing;

    const verified = async (log: string) => {
      await writ(['audit', 'export', '--service', url, '--out', join(folder, log)]);
      const files = ['--log', join(folder, log), '--after', join(folder, 'after.json')];
      const keys = ['--jwks', join(folder, 'jwks.json')];
      return writ(['verify', 'receipt', join(folder, 'answer.json'), ...files, ...keys]);
    };
    const early = await verified('early');
    await seal(service);
    const later = await verified('later');

    assert.equal(early.status, 2, early.said);
    assert.match(early.said, /^not checked +receipt .* does not have its leaf; the log ends/m);
    assert.equal(later.status, 0, later.said);
  });
}
