/**
 * A witness that serves as the mark: it remembers elsewhere what was signed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, test } from 'vitest';
import { type NoteKey, readVkey, vkeyText } from '../../src/domain/log/note-key.ts';
import { system } from '../../src/platform.ts';
import { acceptLoss as accept } from '../../src/service/log/recover-log.ts';
import { witnessGuard } from '../../src/service/log/witness.ts';
import { callOutBy } from '../../src/service/outbound/outbound.ts';
import { openStore } from '../../src/storage/open.ts';
import { openWitnessKey } from '../../src/witness/key.ts';
import { serveWitness, type WitnessServer } from '../../src/witness/server.ts';
import { calmDesk, seal, sealed } from '../log/support.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { ALICE, eventually, type TestService, testService } from '../support/world.ts';

const NAME = 'witness.example/w1';
let home: string;
let witness: WitnessServer;
const logKeys: NoteKey[] = [];

beforeEach(async () => {
  home = temporaryFolder();
  logKeys.length = 0;
  witness = await start();
  atEnd(() => witness.close());
});

function start(): Promise<WitnessServer> {
  const folder = join(home, 'witness');
  const key = openWitnessKey(folder, NAME);
  const options = { host: '127.0.0.1', port: 0, now: () => new Date(), onError: () => undefined };
  return serveWitness({ folder, key, logKeys }, options);
}

/** One life of the service. Its witness is told the log's key, as its operator would. */
async function life(run: (service: TestService) => Promise<void>): Promise<void> {
  const { noteKey } = openWitnessKey(join(home, 'witness'), NAME);
  const service = await testService({
    store: `sqlite:${join(home, 'writ.db')}`,
    definition: calmDesk,
    keys: join(home, 'keys'),
    settings: { mark: 'witness', witnesses: [{ url: witness.url, vkey: vkeyText(noteKey) }] },
  });
  try {
    const line = service.log.find((text) => text.includes('"log keys"')) ?? '{}';
    const [vkey = ''] = JSON.parse(line).keys ?? [];
    const key = readVkey(vkey) as NoteKey;
    if (!logKeys.some(({ name }) => name === key.name)) logKeys.push(key);
    await run(service);
  } finally {
    await service.close();
  }
}

const grow = (service: TestService) => service.issue(ALICE, { scope: ['travel.search'] });

test('a witness that serves as the mark sees every checkpoint first, and refuses a restored log', async () => {
  const [file, copy] = [join(home, 'writ.db'), join(home, 'copy.db')];
  await life(async (service) => {
    await grow(service);
    const { tree_head } = await sealed(service);
    assert.match(tree_head, new RegExp(`^— ${NAME} `, 'm'));
  });
  copyFileSync(file, copy);
  await life(async (service) => {
    for (let i = 0; i < 4; i++) await grow(service);
    await sealed(service);
  });

  copyFileSync(copy, file);
  await life(async (service) => {
    const kept = (await service.store.listCheckpoints(10)).length;
    const ready = await service.ask('GET', '/readyz');
    assert.equal(ready.status, 503);
    assert.match(ready.body.reasons.join(), /a witness has seen 7 entries, the log has 2;/);
    assert.equal((await seal(service)).status, 503);
    await assert.rejects(grow(service), /service_unavailable/);
    assert.equal((await service.store.listCheckpoints(10)).length, kept);
  });
});

/** Accepts the loss on the store as it lies there, and says which log begins. */
async function acceptLoss(): Promise<string> {
  const store = await openStore(`sqlite:${join(home, 'writ.db')}`, { create: false });
  const parts = { store, platform: system, callOut: callOutBy(system) };
  const { noteKey } = openWitnessKey(join(home, 'witness'), NAME);
  const guard = witnessGuard(parts, { url: witness.url, vkey: vkeyText(noteKey) });
  try {
    const { logId } = await accept({ ...parts, unchecked: store, guard, operator: 'service:op' });
    return logId;
  } finally {
    await store.close();
  }
}

test('a second copy of an ended log gets no second successor from the witness', async () => {
  const [file, copy] = [join(home, 'writ.db'), join(home, 'copy.db')];
  await life(async (service) => {
    await grow(service);
    await sealed(service);
  });
  copyFileSync(file, copy);
  await life(async (service) => {
    for (let i = 0; i < 4; i++) await grow(service);
    await sealed(service);
  });
  copyFileSync(copy, file);
  const first = await acceptLoss();
  await life(async (service) => {
    await eventually(async () => (await service.ask('GET', '/readyz')).status === 200);
    await grow(service);
    await sealed(service);
  });

  copyFileSync(copy, file);
  const second = await acceptLoss();

  assert.equal(second, first);
  await life(async (service) => {
    assert.equal(logKeys.length, 2, 'the witness knows this log');
    await pause(1_100);
    const ready = await service.ask('GET', '/readyz');
    assert.equal(ready.status, 503);
    assert.match(ready.body.reasons.join(), /a witness has seen \d+ entries, the log has 1;/);
    await assert.rejects(grow(service), /service_unavailable/);
    const { first: place } = await service.store.treeHead();
    const last = await service.store.lastCheckpoint();
    assert.ok((last?.sequence ?? 0) < place, 'nothing was sealed of it');
  });
});

test('an unavailable witness stops only sealing', async () => {
  await life(async (service) => {
    await grow(service);
    await sealed(service);
    await witness.close();

    assert.equal((await seal(service)).status, 503);
    await grow(service);
    assert.equal((await service.ask('GET', '/readyz')).status, 200);
  });
});
