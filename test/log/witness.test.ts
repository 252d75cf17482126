import assert from 'node:assert/strict';
import { test } from 'vitest';
import { configOf } from '../../src/config/config.ts';
import { noteClaims, readNote } from '../../src/domain/log/note.ts';
import { type NoteKey, readVkey } from '../../src/domain/log/note-key.ts';
import { isNoteClaim } from '../../src/keyring/note-signing.ts';
import type { CheckpointDetail } from '../../src/protocol/audit.ts';
import { closedAtEnd } from '../support/ends.ts';
import { eventually, STORES, type TestService, testService } from '../support/world.ts';
import { type FakeWitness, fakeWitness } from './fake-witness.ts';
import { calmDesk, sealed } from './support.ts';

async function witnessed(store: string) {
  let service: TestService | undefined;
  const witness = closedAtEnd(await fakeWitness(() => logKey(service as TestService)));
  const { url, vkey } = witness;
  service = await testService({
    store,
    definition: calmDesk,
    settings: { witnesses: [{ url, vkey }] },
  });
  return { service, witness };
}

/** As an operator finds it: in the line that the service writes at its start. */
function logKey({ log }: TestService): string {
  const line = log.find((text) => text.includes('"log keys"')) ?? '{}';
  return JSON.parse(line).keys?.[0] ?? '';
}

function cosigned({ tree_head }: CheckpointDetail, { vkey }: FakeWitness): boolean {
  const note = readNote(tree_head);
  assert.ok(note);
  const [claim] = noteClaims(note, [readVkey(vkey) as NoteKey]) ?? [];
  return claim !== undefined && isNoteClaim(claim);
}

for (const store of STORES) {
  test(`a witness cosigns each checkpoint, and its line is shown, on ${store.name}`, async () => {
    const { service, witness } = await witnessed((await store.open()).url);
    const read = async (id: string) => (await service.ask('GET', `/svc/checkpoints/${id}`)).body;
    for (let i = 0; i < 3; i++) {
      const { checkpoint_id: id } = await sealed(service);
      await eventually(async () => cosigned(await read(id), witness));

      const { body, headers } = await service.ask('GET', `/svc/checkpoints/${id}`);
      assert.ok(cosigned(body, witness));
      assert.match(String(headers['cache-control']), /immutable/);
    }
    assert.deepEqual(witness.cosigned, [1, 2, 3]);
  });
}

test('a witness gets a proof from the tree it saw last', async () => {
  const { service, witness } = await witnessed('memory:');
  await sealed(service);
  await eventually(() => witness.cosigned.length === 1);
  witness.answer = { status: 503, body: '' };
  for (let i = 0; i < 3; i++) await sealed(service);
  await eventually(() => witness.asked >= 3);
  witness.answer = undefined;

  const { tree_size } = await sealed(service);

  await eventually(() => witness.cosigned.includes(tree_size));
  // An attempt for a tree in between may still have been under way.
  assert.equal(witness.cosigned[0], 1);
  assert.equal(witness.cosigned.at(-1), tree_size);
});

const REFUSALS: [name: string, answer: FakeWitness['answer']][] = [
  ['is in trouble', { status: 500, body: '' }],
  ['says nothing that verifies', { status: 200, body: '— witness.example/w1 AAAAAAAAAAAA\n' }],
  ['answers with something else', { status: 200, body: '<html>' }],
  ['answers with too much', { status: 200, body: 'x'.repeat(20_000) }],
  ['reports a conflict without a size', { status: 409, body: 'no\n' }],
];

for (const [name, answer] of REFUSALS) {
  test(`a witness that ${name} only causes a warning`, async () => {
    const { service, witness } = await witnessed('memory:');
    witness.answer = answer;

    const { checkpoint_id: id } = await sealed(service);
    await eventually(() => service.log.some((line) => line.includes('a witness did not cosign')));

    assert.ok(service.log.some((line) => line.includes('a witness did not cosign')));
    assert.deepEqual(await service.store.cosignatures(id), []);
    assert.equal((await sealed(service)).sequence, 3);
    const { headers } = await service.ask('GET', `/svc/checkpoints/${id}`);
    assert.equal(headers['cache-control'], 'public, max-age=2');
  });
}

test('a witness that has seen a larger tree raises an alarm', async () => {
  const { service, witness } = await witnessed('memory:');
  witness.answer = { status: 409, body: '999\n' };

  await sealed(service);
  await eventually(() =>
    service.log.some((line) => line.includes('seen more entries than the log has')),
  );

  assert.ok(service.log.some((line) => line.includes('"seen":999')));
});

const VKEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const UNUSABLE: object[] = [
  { url: 'https://witness.example', vkey: VKEY },
  { url: 'https://witness.example', vkey: 'key' },
  { url: 'http://witness.example', vkey: VKEY },
  { url: 'witness', vkey: VKEY },
];

for (const witness of UNUSABLE) {
  test(`configOf() refuses the witness ${JSON.stringify(witness)}`, () => {
    assert.throws(() => configOf({ witnesses: [witness] }, '/data'), /"witnesses\.0/);
  });
}
