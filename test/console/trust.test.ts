/**
 * The page Trust without a browser: what the service answers to it verifies in its steps.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entryProof } from '../../src/console/trust/entry-steps.ts';
import { growthProof } from '../../src/console/trust/growth-steps.ts';
import { type PageAnchors, pageAnchors } from '../../src/console/trust/steps.ts';
import { fakeWitness } from '../log/fake-witness.ts';
import { calmDesk, sealed } from '../log/support.ts';
import { closedAtEnd } from '../support/ends.ts';
import { ALICE, eventually, type TestService, testService } from '../support/world.ts';
import { atConsole, type ConsolePerson } from './person.ts';

async function witnessed() {
  let service: TestService | undefined;
  const witness = closedAtEnd(await fakeWitness(() => logKey(service as TestService)));
  const { url, vkey } = witness;
  service = await testService({ definition: calmDesk, settings: { witnesses: [{ url, vkey }] } });
  return { service, witness };
}

function logKey({ log }: TestService): string {
  const line = log.find((text) => text.includes('"log keys"')) ?? '{}';
  return JSON.parse(line).keys?.[0] ?? '';
}

async function groundFor(person: ConsolePerson): Promise<PageAnchors> {
  const { body: jwks } = await person.reply('jwks');
  const anchors = await pageAnchors({ ...(await person.answer('trust')), jwks, noted: [] });
  assert.ok('keys' in anchors);
  return anchors;
}

test('trust() names the service and the keys of its witnesses, and no address', async () => {
  const { service, witness } = await witnessed();

  const answer = await (await atConsole(service, ALICE)).answer('trust');

  assert.deepEqual(answer, { service_id: 'travel-desk', witness_keys: [witness.vkey] });
});

test('entryProof() and growthProof() verify what the service answers to a person', async () => {
  const { service, witness } = await witnessed();
  const alice = await atConsole(service, ALICE);
  await service.issue(ALICE, { subject: 'agent:planner', scope: ['travel.search'] });
  const earlier = await sealed(service);
  await service.issue(ALICE, { subject: 'agent:planner', scope: ['travel.search'] });
  const { checkpoint_id } = await sealed(service);
  await eventually(() => witness.cosigned.length === 2);
  const anchors = await groundFor(alice);

  const asked = { entry_type: 'issuance', include: 'leaf', limit: 1 };
  const [entry] = (await alice.reply('audit.query', asked)).body.entries;
  const place = { checkpoint_id, include_proof: true, leaf_index: entry.sequence };
  const checkpoint = (await alice.reply('checkpoints.get', place)).body;
  const proof = await entryProof({ entry, checkpoint, asked: { checkpoint_id } }, anchors);
  const from = { checkpoint_id, consistency_from: earlier.checkpoint_id };
  const later = (await alice.reply('checkpoints.get', from)).body;
  const growth = await growthProof({ earlier, later }, anchors);

  assert.equal(proof.verdict, 'agrees');
  assert.equal(proof.steps.at(-1)?.note, '1 of 1 signed the same root');
  assert.equal(growth.verdict, 'agrees');
});
